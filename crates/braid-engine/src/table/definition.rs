//! Conversion of CREATE TABLE's syntax to a table definition.
//!
//! Keys are made by [`super::keys`], foreign keys by [`super::foreign_keys`], and conditions of one row (CHECK) are kept as they are written
//! ([`super::check_constraints`]). Generated columns are bound by [`super::generated_columns`]. Identity columns and `serial` are made plain
//! before (`crate::sequences`).

use std::collections::BTreeMap;

use braid_base::ColumnId;
use braid_catalog::type_references::with_type_numbers;
use braid_sql::functions::SessionFacts;
use braid_sql::syntax::{is_named_only, spelled_out};
use braid_storage::{ColumnDef, KeyKind, NewTable, StoreError, check_column_name};
use sqlparser::ast::{
    BinaryOperator, CheckConstraint, ColumnDef as SqlColumn, ColumnOption, CreateTable, CreateTableOptions, Expr,
    GeneratedAs, Ident, TableConstraint, UnaryOperator,
};

use super::foreign_keys::WrittenForeignKey;
use super::generated_columns::written_generation;
use super::keys::{PlainKeys, WrittenKey};
use crate::names::fold;
use crate::sequences::defaults::with_sequence_ids;
use crate::sql_types::column_type;
use crate::statement_limits::StatementSize;
use crate::storage_parameters::check_new_parameters;
use crate::{EngineError, SqlState};

/// A CHECK as written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenCheck {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its condition.
    pub condition: Expr,
}

/// The constraints of a table or a column as written.
#[derive(Debug, Default)]
pub(crate) struct WrittenConstraints {
    /// The keys.
    pub keys: Vec<WrittenKey>,
    /// The conditions.
    pub checks: Vec<WrittenCheck>,
    /// The foreign keys.
    pub foreign_keys: Vec<WrittenForeignKey>,
}

/// The definition that a CREATE TABLE with columns asks for, and its constraints. Defaults and conditions are not checked yet, and keys
/// have no names. The columns in these places are `copied` instead.
pub(crate) fn new_table(
    name: String,
    (create, copied): (&CreateTable, &BTreeMap<usize, ColumnDef>),
    plain: PlainKeys,
    session: &dyn SessionFacts,
) -> Result<(NewTable, WrittenConstraints), EngineError> {
    check_clauses(create)?;
    if create.columns.iter().any(is_named_only) {
        return Err(EngineError::new(SqlState::SyntaxError, "syntax error: a column has no type"));
    }
    let mut columns = Vec::with_capacity(create.columns.len());
    let mut constraints = WrittenConstraints::default();
    for (at, column) in create.columns.iter().enumerate() {
        columns.push(match copied.get(&at) {
            Some(copied) => copied.clone(),
            None => column_def((&name, column), &mut constraints, plain, session)?,
        });
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => constraints.keys.push(WrittenKey::primary(key, plain)?),
            TableConstraint::Unique(key) => constraints.keys.push(WrittenKey::unique(key, plain)?),
            TableConstraint::Check(check) => constraints.checks.push(written_check(check, check.name.as_ref())?),
            TableConstraint::ForeignKey(key) => constraints.foreign_keys.push(WrittenForeignKey::of(key)?),
            other => return Err(EngineError::unsupported(format!("{other} is not supported in CREATE TABLE"))),
        }
    }
    check_unique_names(&columns)?;
    columns.iter_mut().zip(0..).for_each(|(column, id)| column.id = ColumnId(id));
    let ids = constraints.keys.iter().map(|key| Ok((key.kind, key.column_ids(&columns)?)));
    let ids = ids.collect::<Result<Vec<_>, EngineError>>()?;
    let mut primary = ids.into_iter().filter(|(kind, _)| *kind == KeyKind::Primary).map(|(_, ids)| ids);
    let primary_key = primary.next().unwrap_or_default();
    if primary.next().is_some() {
        return Err(multiple_primary_keys(&name));
    }
    columns.iter_mut().filter(|column| primary_key.contains(&column.id)).for_each(|column| column.nullable = false);
    Ok((NewTable { name, columns, primary_key }, constraints))
}

/// The refusal of a second primary key.
pub(crate) fn multiple_primary_keys(table: &str) -> EngineError {
    let message = format!("multiple primary keys for table \"{table}\" are not allowed");
    EngineError::new(SqlState::InvalidTableDefinition, message)
}

/// Refuses unsupported clauses of CREATE TABLE.
pub(crate) fn check_clauses(create: &CreateTable) -> Result<(), EngineError> {
    let refused = [
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.external, "CREATE EXTERNAL TABLE"),
        (create.global.is_some() && !create.temporary || create.transient || create.volatile, "this kind of table"),
        (create.like.is_some() || create.clone.is_some(), "CREATE TABLE LIKE"),
        (create.inherits.is_some(), "INHERITS"),
        (create.partition_by.is_some() || create.partition_of.is_some(), "partitioning"),
        (
            !matches!(create.table_options, CreateTableOptions::None | CreateTableOptions::With(_)),
            "this clause of a table",
        ),
        (create.order_by.is_some() || create.primary_key.is_some(), "clauses of other SQL dialects"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => match &create.table_options {
            CreateTableOptions::With(parameters) => check_new_parameters(parameters),
            _ => Ok(()),
        },
    }
}

pub(crate) fn column_def(
    (table, column): (&str, &SqlColumn),
    constraints: &mut WrittenConstraints,
    plain: PlainKeys,
    session: &dyn SessionFacts,
) -> Result<ColumnDef, EngineError> {
    let name = fold(&column.name);
    let (mut nullable, mut says_null) = (true, None);
    let (mut default, mut generated) = (None, None);
    for option in &column.options {
        match &option.option {
            ColumnOption::Null | ColumnOption::NotNull => {
                let is_null = matches!(option.option, ColumnOption::Null);
                if says_null.replace(is_null).is_some_and(|said| said != is_null) {
                    return Err(twice("conflicting NULL/NOT NULL declarations", &name, table));
                }
                nullable &= is_null;
            }
            ColumnOption::Default(expr) => {
                if default.replace(default_text(expr, session)?).is_some() {
                    return Err(twice("multiple default values specified", &name, table));
                }
            }
            ColumnOption::Generated { generation_expr: Some(expr), generated_as: GeneratedAs::ExpStored, .. } => {
                if generated.replace(written_generation(expr, session)?).is_some() {
                    return Err(twice("multiple generation clauses specified", &name, table));
                }
            }
            ColumnOption::PrimaryKey(key) => {
                nullable = false;
                let key = WrittenKey::primary(key, plain)?;
                constraints.keys.push(key.of_column(&name, option.name.as_ref()));
            }
            ColumnOption::Unique(key) => {
                let key = WrittenKey::unique(key, plain)?;
                constraints.keys.push(key.of_column(&name, option.name.as_ref()));
            }
            ColumnOption::Check(check) => {
                constraints.checks.push(written_check(check, option.name.as_ref().or(check.name.as_ref()))?);
            }
            ColumnOption::ForeignKey(key) => {
                let key = WrittenForeignKey::of(key)?;
                constraints.foreign_keys.push(key.of_column(&name, option.name.as_ref()));
            }
            ColumnOption::Identity(_) | ColumnOption::Generated { .. } => {
                return Err(EngineError::unsupported(format!(
                    "column \"{name}\": columns that are generated in this way are not supported"
                )));
            }
            other => {
                return Err(EngineError::unsupported(format!("column \"{name}\": {other} is not supported")));
            }
        }
    }
    if default.is_some() && generated.is_some() {
        return Err(twice("both default and generation expression specified", &name, table));
    }
    let named = |message: &str| message.replacen("column has", &format!("column \"{name}\" has"), 1);
    let (column_type, domain) = column_type(&column.data_type, session).map_err(|error| error.reworded(named))?;
    let default = default.filter(|text| domain.is_some() || !is_null_default(text));
    Ok(ColumnDef { nullable, default, generated, domain, ..ColumnDef::new(name, column_type) })
}

/// What a column says twice, or in two ways.
fn twice(what: &str, column: &str, table: &str) -> EngineError {
    EngineError::new(SqlState::SyntaxError, format!("{what} for column \"{column}\" of table \"{table}\""))
}

/// A CHECK with its name.
///
/// # Errors
/// For a word that PostgreSQL 15 does not have.
pub(crate) fn written_check(check: &CheckConstraint, name: Option<&Ident>) -> Result<WrittenCheck, EngineError> {
    if check.enforced.is_some() {
        return Err(EngineError::unsupported("CHECK … [NOT] ENFORCED is not supported"));
    }
    Ok(WrittenCheck { name: name.map(fold), condition: (*check.expr).clone() })
}

/// A default as it is kept.
///
/// # Errors
/// For one that is too large.
pub(crate) fn default_text(expr: &Expr, session: &dyn SessionFacts) -> Result<String, EngineError> {
    StatementSize::of(expr).check_default()?;
    let mut spelled = spelled_out(expr);
    if let Some(names) = session.objects() {
        spelled = with_sequence_ids(spelled, &*names);
        with_type_numbers(&mut spelled, &*names);
    }
    // It is shown as CREATE TABLE reads it again.
    Ok(if needs_parentheses(&spelled) { format!("({spelled})") } else { spelled.to_string() })
}

/// Whether an expression has an operator outside of parentheses that DEFAULT of CREATE TABLE does not take there.
fn needs_parentheses(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => true,
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => true,
        Expr::BinaryOp { left, right, .. } => needs_parentheses(left) || needs_parentheses(right),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            needs_parentheses(left) || needs_parentheses(right)
        }
        Expr::UnaryOp { expr, .. } => needs_parentheses(expr),
        Expr::InList { .. } | Expr::Between { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. } => true,
        Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } | Expr::AtTimeZone { .. } => true,
        Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::IsUnknown(_) | Expr::IsNotUnknown(_) => true,
        Expr::IsTrue(_) | Expr::IsNotTrue(_) | Expr::IsFalse(_) | Expr::IsNotFalse(_) => true,
        Expr::IsNormalized { .. } => true,
        _ => false,
    }
}

/// Whether a default is the same as none. On a column of a domain it takes the place of the domain's default.
pub(crate) fn is_null_default(text: &str) -> bool {
    text == "NULL"
}

/// The text of a condition, or of an expression over rows, as it is kept.
///
/// # Errors
/// For one that is too large.
pub(crate) fn condition_text(expr: &Expr, session: &dyn SessionFacts) -> Result<String, EngineError> {
    StatementSize::of(expr).check_default()?;
    let mut spelled = spelled_out(expr);
    // It is shown in parentheses, and would have more of them each time that it is read again.
    while let Expr::Nested(inner) = spelled {
        spelled = *inner;
    }
    if let Some(names) = session.objects() {
        with_type_numbers(&mut spelled, &*names);
    }
    Ok(spelled.to_string())
}

fn check_unique_names(columns: &[ColumnDef]) -> Result<(), EngineError> {
    for (at, column) in columns.iter().enumerate() {
        check_column_name(&column.name).map_err(StoreError::from)?;
        if columns[..at].iter().any(|earlier| earlier.name == column.name) {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use braid_sql::functions::text_input::ReadingSession;
    use braid_storage::ColumnType;
    use sqlparser::ast::Statement;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn define(sql: &str) -> Result<NewTable, EngineError> {
        define_with(sql, PlainKeys::Enforced).map(|(table, _)| table)
    }

    fn define_with(sql: &str, plain: PlainKeys) -> Result<(NewTable, Vec<WrittenKey>), EngineError> {
        let statement = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().remove(0);
        let Statement::CreateTable(create) = statement else { panic!("{sql}") };
        let defined = new_table("t".to_owned(), (&create, &BTreeMap::new()), plain, &ReadingSession::of_output());
        defined.map(|(table, constraints)| (table, constraints.keys))
    }

    #[test]
    fn a_definition_has_columns_defaults_and_a_key() {
        let table = define(
            "create table public.T (Id bigint primary key, \"Name\" varchar(10) not null default 'x' || 'y', n numeric(5,2))",
        )
        .unwrap();
        assert_eq!((table.name.as_str(), table.primary_key.as_slice()), ("t", &[ColumnId(0)][..]));
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "Name", "n"]);
        assert_eq!(table.columns[1].column_type, ColumnType::Varchar(10));
        assert_eq!(table.columns[1].default.as_deref(), Some("'x' || 'y'"));
        assert_eq!(table.columns.iter().map(|column| column.nullable).collect::<Vec<_>>(), [false, false, true]);
        let composite = define("create table t (a int, b int, primary key (b, a))").unwrap();
        assert_eq!(composite.primary_key, [ColumnId(1), ColumnId(0)]);
        assert!(composite.columns.iter().all(|column| !column.nullable));
    }

    #[test]
    fn keys_are_enforced_unless_the_user_wants_otherwise() {
        for (key, is_primary) in [
            ("a int primary key", true),
            ("a int, primary key (a)", true),
            ("a int, constraint k primary key (a)", true),
            ("a int unique", false),
            ("a int not null, unique (a)", false),
        ] {
            let plain = format!("create table t ({key})");
            for (sql, keys, is_enforced) in [
                (plain.clone(), PlainKeys::Enforced, true),
                (plain.clone(), PlainKeys::NotEnforced, false),
                (format!("create table t ({key} not enforced)"), PlainKeys::Enforced, false),
                (format!("create table t ({key} enforced)"), PlainKeys::NotEnforced, true),
            ] {
                let (table, keys) = define_with(&sql, keys).unwrap();
                assert_eq!(table.primary_key.len(), usize::from(is_primary), "{sql}");
                assert_eq!((keys.len(), keys[0].is_enforced), (1, is_enforced), "{sql}");
            }
            let deferrable = format!("create table t ({key} deferrable)");
            assert_eq!(define(&deferrable).unwrap_err().sqlstate(), "0A000", "{deferrable}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_not_promised() {
        for (sql, sqlstate) in [
            ("create table t (a int, unique (a, a))", "42701"),
            ("create table t (a int references u (b) match partial)", "0A000"),
            ("create table t (a int references u (b) not deferrable initially deferred)", "42601"),
            ("create table t (a serial)", "42704"),
            ("create table t (a int generated always as identity)", "0A000"),
            ("create table t (like u)", "0A000"),
            ("create table t (a int) partition by range (a)", "0A000"),
            ("create table t (a int) with (fillfactor = 7)", "22023"),
            ("create table t (a nosuch)", "42704"),
            ("create table t (a int, A text)", "42701"),
            ("create table t (a int, primary key (b))", "42703"),
            ("create table t (a int, unique (b))", "42703"),
            ("create table t (a int primary key, b int primary key)", "42P16"),
        ] {
            let error = define(sql).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{sql}: {error:?}");
        }
    }
}
