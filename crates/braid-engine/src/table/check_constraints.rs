//! CHECK: constraints get names, are kept as texts, and follow the names of their columns.
//!
//! A text has the names of columns without that of the table, so that it means the same after the table is renamed.

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_storage::{Catalog, CheckDef, NewTable, TableDef};

use super::constraint_names::shortened;
use super::definition::{WrittenCheck, condition_text};
use super::foreign_keys::constraint_names;
use crate::column_names::{renamed, without_table};
use crate::dml::row_checks::{bound_check, check_reads_alike, check_syntax};
use crate::front_end::StatementFacts;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// The constraints of a table that is to be created: those that are written, and behind them those that LIKE copies with their names.
///
/// # Errors
/// Those of their conditions, and for a name that comes twice.
pub(crate) fn checks_of_new_table(
    context: &StatementContext,
    (schema, table): (SchemaId, &NewTable),
    (written, copied): (&[WrittenCheck], &[CheckDef]),
) -> Result<Vec<CheckDef>, EngineError> {
    let NewTable { name, mut columns, primary_key } = table.clone();
    columns.iter_mut().zip(0..).for_each(|(column, id)| column.id = ColumnId(id));
    let next_column_id = u16::try_from(columns.len()).unwrap_or(u16::MAX);
    let mut def = TableDef {
        id: TableId(u32::MAX),
        schema,
        name,
        columns,
        primary_key,
        next_column_id,
        checks: Vec::new(),
        keys: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let named = written.iter().filter_map(|check| check.name.as_ref());
    let named: Vec<&String> = named.collect();
    if let Some(twice) = named.iter().enumerate().find(|(at, name)| named[..*at].contains(name)).map(|(_, name)| name) {
        let message = format!("check constraint \"{twice}\" already exists");
        return Err(EngineError::new(SqlState::DuplicateObject, message));
    }
    let snapshot = context.snapshot();
    for check in written {
        let check = new_check(context, &snapshot, &def, check)?;
        def.checks.push(check);
    }
    for like in copied {
        let written = WrittenCheck { name: Some(like.name.clone()), condition: check_syntax(like)? };
        // It is kept already.
        let check = named_check(context, &snapshot, &def, &written)?;
        let check = bound(context, &snapshot, &def, (&written, check))?;
        def.checks.push(CheckDef { comment: like.comment.clone(), ..check });
    }
    Ok(def.checks)
}

/// A constraint to be added to a table, with a name: the one that is written, or PostgreSQL's.
///
/// # Errors
/// Those of its condition, for a name that the table has, and for a literal that is kept with another meaning (0A000).
pub(crate) fn new_check(
    context: &StatementContext,
    catalog: &Catalog,
    def: &TableDef,
    written: &WrittenCheck,
) -> Result<CheckDef, EngineError> {
    let check = named_check(context, catalog, def, written)?;
    check_reads_alike(context, &Arc::new(def.clone()), &check)?;
    bound(context, catalog, def, (written, check))
}

/// The text of a constraint, and the name that is written.
fn named_check(
    context: &StatementContext,
    catalog: &Catalog,
    def: &TableDef,
    written: &WrittenCheck,
) -> Result<CheckDef, EngineError> {
    let mut condition = written.condition.clone();
    let schema = catalog.schema_name(def.schema).unwrap_or_default();
    without_table(&mut condition, schema, &def.name);
    let condition = condition_text(&condition, &StatementFacts::of(context))?;
    let given = written.name.clone().unwrap_or_default();
    if constraint_names(def).any(|name| name == given) {
        let message = format!("constraint \"{given}\" for relation \"{}\" already exists", def.name);
        return Err(EngineError::new(SqlState::DuplicateObject, message));
    }
    Ok(CheckDef { name: given, condition, columns: Vec::new(), validated: true, comment: None })
}

/// A constraint with its columns, and a name.
fn bound(
    context: &StatementContext,
    catalog: &Catalog,
    def: &TableDef,
    (written, mut check): (&WrittenCheck, CheckDef),
) -> Result<CheckDef, EngineError> {
    let bound = bound_check(context, &Arc::new(def.clone()), &check)?;
    check.columns = bound.columns().map(|at| def.columns[at].id).collect();
    if written.name.is_none() {
        let only = match &check.columns[..] {
            [only] => def.column_by_id(*only).map(|column| column.name.as_str()),
            _ => None,
        };
        check.name = chosen_name(catalog, def, only);
    }
    Ok(check)
}

/// `table_column_check`, or `table_check` for a condition of no or of several columns; with a number if the name is taken.
fn chosen_name(catalog: &Catalog, def: &TableDef, column: Option<&str>) -> String {
    let others = catalog.tables().flat_map(|table| &table.def.checks).chain(&def.checks);
    let taken: Vec<&str> = others.map(|check| check.name.as_str()).collect();
    let names = std::iter::once(String::new()).chain((1..).map(|number: u32| number.to_string()));
    let mut names = names.map(|number| shortened(&def.name, column, &format!("check{number}")));
    names.find(|name| !taken.contains(&name.as_str())).unwrap_or_default()
}

/// The condition of a constraint in which a column has another name.
///
/// # Errors
/// When it does not parse.
pub(crate) fn with_renamed_column(check: &CheckDef, from: &str, to: &str) -> Result<CheckDef, EngineError> {
    let condition = renamed(check_syntax(check)?, from, to).to_string();
    Ok(CheckDef { condition, ..check.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition_renamed(condition: &str, to: &str) -> String {
        let (name, condition, columns) = ("c".to_owned(), condition.to_owned(), Vec::new());
        let check = CheckDef { name, condition, columns, validated: true, comment: None };
        with_renamed_column(&check, "a", to).unwrap().condition
    }

    #[test]
    fn a_condition_follows_the_name_of_its_column() {
        assert_eq!(condition_renamed("a > 0 AND b < A", "c"), "c > 0 AND b < c");
        assert_eq!(condition_renamed("\"A\" > a", "My Column"), "\"A\" > \"My Column\"");
        assert_eq!(condition_renamed("a > 0", "x1"), "x1 > 0");
        assert_eq!(condition_renamed("lower(a) = 'a'", "select"), "lower(\"select\") = 'a'");
    }
}
