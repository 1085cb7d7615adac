//! Conversion of CREATE TABLE's syntax to a table definition.
//!
//! Braid does not check that keys are unique. So PRIMARY KEY and UNIQUE are refused, unless the statement says NOT ENFORCED
//! or the session accepts constraints that are not enforced; then a primary key's columns become NOT NULL, and UNIQUE is
//! forgotten. Everything else that would promise something about several rows (REFERENCES, generated columns) is
//! refused. Conditions of one row (CHECK) are kept as they are written ([`super::check_constraints`]). Identity columns and `serial`
//! are made plain before (`crate::sequences`).

use braid_base::ColumnId;
use braid_sql::functions::SessionFacts;
use braid_sql::syntax::spelled_out;
use braid_storage::{ColumnDef, NewTable};
use sqlparser::ast::{
    CheckConstraint, ColumnDef as SqlColumn, ColumnOption, ConstraintCharacteristics, CreateTable, CreateTableOptions,
    Expr, Ident, IndexColumn, TableConstraint,
};

use crate::names::fold;
use crate::sequences::defaults::with_sequence_ids;
use crate::settings::SettingValues;
use crate::sql_types::column_type;
use crate::statement_limits::StatementSize;
use crate::{EngineError, SqlState};

/// What happens to a key that does not say NOT ENFORCED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnenforcedKeys {
    /// It is refused.
    Refuse,
    /// It is taken for one that does: `braid.accept_unenforced_constraints`.
    Accept,
}

impl UnenforcedKeys {
    /// What the session wants.
    pub fn of(settings: &SettingValues) -> Self {
        match settings.get("braid.accept_unenforced_constraints") {
            Some("on") => Self::Accept,
            _ => Self::Refuse,
        }
    }
}

/// A CHECK as written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenCheck {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its condition.
    pub condition: Expr,
}

/// What CREATE TABLE says of a column besides its type.
#[derive(Debug, Default)]
pub(crate) struct ColumnConstraints {
    /// The primary keys, each as the names of its columns.
    pub keys: Vec<Vec<String>>,
    /// The conditions.
    pub checks: Vec<WrittenCheck>,
}

/// The definition that a CREATE TABLE with columns asks for, and its conditions. Defaults and conditions are not checked yet.
pub(crate) fn new_table(
    name: String,
    create: &CreateTable,
    unenforced: UnenforcedKeys,
    session: &dyn SessionFacts,
) -> Result<(NewTable, Vec<WrittenCheck>), EngineError> {
    check_clauses(create)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    let mut constraints = ColumnConstraints::default();
    for column in &create.columns {
        columns.push(column_def(column, &mut constraints, unenforced, session)?);
    }
    let ColumnConstraints { mut keys, mut checks } = constraints;
    let mut unique = Vec::new();
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                check_unenforced("PRIMARY KEY", key.characteristics.as_ref(), unenforced)?;
                keys.push(key_columns(&key.columns)?);
            }
            TableConstraint::Unique(key) => {
                check_unenforced("UNIQUE", key.characteristics.as_ref(), unenforced)?;
                unique.push(key_columns(&key.columns)?);
            }
            TableConstraint::Check(check) => checks.push(written_check(check, check.name.as_ref())?),
            TableConstraint::ForeignKey(_) => return Err(no_constraint("FOREIGN KEY")),
            other => return Err(EngineError::unsupported(format!("{other} is not supported in CREATE TABLE"))),
        }
    }
    check_unique_names(&columns)?;
    for key in &unique {
        key_ids(key, &columns)?;
    }
    let primary_key = match keys.as_slice() {
        [] => Vec::new(),
        [key] => resolve_key(key, &mut columns)?,
        _ => {
            let message = format!("multiple primary keys for table \"{name}\" are not allowed");
            return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
        }
    };
    Ok((NewTable { name, columns, primary_key }, checks))
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
        (create.table_options != CreateTableOptions::None, "WITH (…) of a table"),
        (create.order_by.is_some() || create.primary_key.is_some(), "clauses of other SQL dialects"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => Ok(()),
    }
}

pub(crate) fn column_def(
    column: &SqlColumn,
    constraints: &mut ColumnConstraints,
    unenforced: UnenforcedKeys,
    session: &dyn SessionFacts,
) -> Result<ColumnDef, EngineError> {
    let name = fold(&column.name);
    let mut nullable = true;
    let mut default = None;
    for option in &column.options {
        match &option.option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => nullable = false,
            ColumnOption::Default(expr) => default = Some(default_text(expr, session)?),
            ColumnOption::PrimaryKey(key) => {
                check_unenforced("PRIMARY KEY", key.characteristics.as_ref(), unenforced)?;
                nullable = false;
                constraints.keys.push(vec![name.clone()]);
            }
            ColumnOption::Unique(key) => check_unenforced("UNIQUE", key.characteristics.as_ref(), unenforced)?,
            ColumnOption::Check(check) => {
                constraints.checks.push(written_check(check, option.name.as_ref().or(check.name.as_ref()))?);
            }
            ColumnOption::ForeignKey(_) => return Err(no_constraint("REFERENCES")),
            ColumnOption::Identity(_) | ColumnOption::Generated { .. } => {
                return Err(EngineError::unsupported(format!(
                    "column \"{name}\": generated columns are not supported; INSERT or COPY must provide the values"
                )));
            }
            other => {
                return Err(EngineError::unsupported(format!("column \"{name}\": {other} is not supported")));
            }
        }
    }
    Ok(ColumnDef { nullable, default, ..ColumnDef::new(name, column_type(&column.data_type, session)?) })
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
    }
    Ok(spelled.to_string())
}

/// The text of a condition, as it is kept.
pub(crate) fn condition_text(expr: &Expr) -> Result<String, EngineError> {
    StatementSize::of(expr).check_default()?;
    Ok(spelled_out(expr).to_string())
}

/// Refuses a key, unless it is known not to be enforced.
fn check_unenforced(
    what: &str,
    characteristics: Option<&ConstraintCharacteristics>,
    unenforced: UnenforcedKeys,
) -> Result<(), EngineError> {
    if characteristics.is_some_and(|given| given.deferrable == Some(true) || given.initially.is_some()) {
        return Err(EngineError::unsupported(format!("{what} DEFERRABLE is not supported")));
    }
    let enforced = characteristics.and_then(|given| given.enforced);
    if enforced == Some(false) || (enforced.is_none() && unenforced == UnenforcedKeys::Accept) {
        return Ok(());
    }
    Err(EngineError::unsupported(format!("{what} is not supported: Braid does not check yet that keys are unique"))
        .with_hint(format!(
            "To have duplicates accepted, write {what} NOT ENFORCED or SET braid.accept_unenforced_constraints = on."
        )))
}

fn no_constraint(what: &str) -> EngineError {
    EngineError::unsupported(format!(
        "{what} constraints are not supported: Braid does not compare rows with each other"
    ))
}

fn check_unique_names(columns: &[ColumnDef]) -> Result<(), EngineError> {
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|earlier| earlier.name == column.name) {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(())
}

fn key_columns(columns: &[IndexColumn]) -> Result<Vec<String>, EngineError> {
    columns
        .iter()
        .map(|column| match &column.column.expr {
            Expr::Identifier(ident) => Ok(fold(ident)),
            other => Err(EngineError::new(SqlState::SyntaxError, format!("a key is made of columns, not of {other}"))),
        })
        .collect()
}

/// The primary key's columns by id; they become NOT NULL.
fn resolve_key(key: &[String], columns: &mut [ColumnDef]) -> Result<Vec<ColumnId>, EngineError> {
    let ids = key_ids(key, columns)?;
    for id in &ids {
        columns[usize::from(id.0)].nullable = false;
    }
    Ok(ids)
}

fn key_ids(key: &[String], columns: &[ColumnDef]) -> Result<Vec<ColumnId>, EngineError> {
    let mut ids = Vec::with_capacity(key.len());
    for name in key {
        let Some(at) = columns.iter().position(|column| column.name == *name) else {
            let message = format!("column \"{name}\" named in key does not exist");
            return Err(EngineError::new(SqlState::UndefinedColumn, message));
        };
        let id = ColumnId(at as u16);
        if ids.contains(&id) {
            let message = format!("column \"{name}\" appears twice in a key");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
        ids.push(id);
    }
    Ok(ids)
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
        define_with(sql, UnenforcedKeys::Refuse)
    }

    fn define_with(sql: &str, unenforced: UnenforcedKeys) -> Result<NewTable, EngineError> {
        let statement = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().remove(0);
        let Statement::CreateTable(create) = statement else { panic!("{sql}") };
        new_table("t".to_owned(), &create, unenforced, &ReadingSession::of_output()).map(|(table, _)| table)
    }

    #[test]
    fn a_definition_has_columns_defaults_and_a_key() {
        let table = define(
            "create table public.T (Id bigint primary key not enforced, \"Name\" varchar(10) not null default 'x' || 'y', n numeric(5,2))",
        )
        .unwrap();
        assert_eq!((table.name.as_str(), table.primary_key.as_slice()), ("t", &[ColumnId(0)][..]));
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "Name", "n"]);
        assert_eq!(table.columns[1].column_type, ColumnType::Varchar(10));
        assert_eq!(table.columns[1].default.as_deref(), Some("'x' || 'y'"));
        assert_eq!(table.columns.iter().map(|column| column.nullable).collect::<Vec<_>>(), [false, false, true]);
        let composite = define("create table t (a int, b int, primary key (b, a) not enforced)").unwrap();
        assert_eq!(composite.primary_key, [ColumnId(1), ColumnId(0)]);
        assert!(composite.columns.iter().all(|column| !column.nullable));
    }

    #[test]
    fn keys_are_refused_unless_the_user_knows_that_they_are_not_enforced() {
        for (key, is_primary) in [
            ("a int primary key", true),
            ("a int, primary key (a)", true),
            ("a int, constraint k primary key (a)", true),
            ("a int unique", false),
            ("a int not null, unique (a)", false),
        ] {
            let enforced = format!("create table t ({key})");
            let error = define(&enforced).unwrap_err();
            assert_eq!(error.sqlstate(), "0A000", "{enforced}");
            assert!(error.hint().is_some_and(|hint| hint.contains("NOT ENFORCED")), "{enforced}: {error:?}");
            let unenforced = format!("create table t ({key} not enforced)");
            for table in [define(&unenforced).unwrap(), define_with(&enforced, UnenforcedKeys::Accept).unwrap()] {
                assert_eq!(table.primary_key.len(), usize::from(is_primary), "{enforced}");
            }
            let explicit = format!("create table t ({key} enforced)");
            assert_eq!(define_with(&explicit, UnenforcedKeys::Accept).unwrap_err().sqlstate(), "0A000", "{explicit}");
            let deferrable = format!("create table t ({key} deferrable)");
            let error = define_with(&deferrable, UnenforcedKeys::Accept).unwrap_err();
            assert_eq!(error.sqlstate(), "0A000", "{deferrable}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_not_promised() {
        for (sql, sqlstate) in [
            ("create table t (a int unique)", "0A000"),
            ("create table t (a int references u (b))", "0A000"),
            ("create table t (a int, unique (a))", "0A000"),
            ("create table t (a int, foreign key (a) references u (b))", "0A000"),
            ("create table t (a serial)", "42704"),
            ("create table t (a int generated always as identity)", "0A000"),
            ("create table t (like u)", "0A000"),
            ("create table t (a int) partition by range (a)", "0A000"),
            ("create table t (a int) with (fillfactor = 70)", "0A000"),
            ("create table t (a nosuch)", "42704"),
            ("create table t (a int, A text)", "42701"),
            ("create table t (a int, primary key (b) not enforced)", "42703"),
            ("create table t (a int, unique (b) not enforced)", "42703"),
            ("create table t (a int primary key not enforced, b int primary key not enforced)", "42P16"),
        ] {
            let error = define(sql).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{sql}: {error:?}");
        }
    }
}
