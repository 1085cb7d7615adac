//! Conversion of CREATE TABLE's syntax to a table definition.
//!
//! PRIMARY KEY is informational: its columns become NOT NULL, and their uniqueness is not checked. Everything else
//! that would promise something about rows (UNIQUE, CHECK, REFERENCES, identity and generated columns) is refused.

use braid_base::ColumnId;
use braid_storage::{ColumnDef, NewTable};
use datafusion::sql::sqlparser::ast::{
    ColumnDef as SqlColumn, ColumnOption, CreateTable, CreateTableOptions, Expr, Ident, IndexColumn, TableConstraint,
};

use crate::names::{fold, table_name};
use crate::sql_types::column_type;
use crate::{EngineError, SqlState};

/// The definition in a CREATE TABLE with columns. The caller checks the defaults.
pub(crate) fn new_table(create: &CreateTable) -> Result<NewTable, EngineError> {
    check_clauses(create)?;
    let name = table_name(&create.name)?;
    let mut columns = Vec::with_capacity(create.columns.len());
    let mut keys: Vec<Vec<String>> = Vec::new();
    for column in &create.columns {
        columns.push(column_def(column, &mut keys)?);
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => keys.push(key_columns(&key.columns)?),
            TableConstraint::Unique(_) => return Err(no_constraint("UNIQUE")),
            TableConstraint::Check(_) => return Err(no_constraint("CHECK")),
            TableConstraint::ForeignKey(_) => return Err(no_constraint("FOREIGN KEY")),
            other => return Err(EngineError::unsupported(format!("{other} is not supported in CREATE TABLE"))),
        }
    }
    check_unique_names(&columns)?;
    let primary_key = match keys.as_slice() {
        [] => Vec::new(),
        [key] => resolve_key(key, &mut columns)?,
        _ => {
            let message = format!("multiple primary keys for table \"{name}\" are not allowed");
            return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
        }
    };
    Ok(NewTable { name, columns, primary_key })
}

/// Refuses unsupported clauses of CREATE TABLE.
pub(crate) fn check_clauses(create: &CreateTable) -> Result<(), EngineError> {
    let refused = [
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.temporary, "CREATE TEMPORARY TABLE"),
        (create.external, "CREATE EXTERNAL TABLE"),
        (create.global.is_some() || create.transient || create.volatile, "this kind of table"),
        (create.like.is_some() || create.clone.is_some(), "CREATE TABLE LIKE"),
        (create.inherits.is_some(), "INHERITS"),
        (create.partition_by.is_some() || create.partition_of.is_some(), "partitioning"),
        (create.on_commit.is_some(), "ON COMMIT"),
        (create.table_options != CreateTableOptions::None, "WITH (…) of a table"),
        (create.order_by.is_some() || create.primary_key.is_some(), "clauses of other SQL dialects"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => Ok(()),
    }
}

fn column_def(column: &SqlColumn, keys: &mut Vec<Vec<String>>) -> Result<ColumnDef, EngineError> {
    let name = fold(&column.name);
    let mut nullable = true;
    let mut default = None;
    for option in &column.options {
        match &option.option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => nullable = false,
            ColumnOption::Default(expr) => default = Some(expr.to_string()),
            ColumnOption::PrimaryKey(_) => {
                nullable = false;
                keys.push(vec![name.clone()]);
            }
            ColumnOption::Unique(_) => return Err(no_constraint("UNIQUE")),
            ColumnOption::Check(_) => return Err(no_constraint("CHECK")),
            ColumnOption::ForeignKey(_) => return Err(no_constraint("REFERENCES")),
            ColumnOption::Identity(_) | ColumnOption::Generated { .. } => {
                return Err(EngineError::unsupported(format!(
                    "column \"{name}\": identity and generated columns are not supported; INSERT or COPY must provide \
                     the values"
                )));
            }
            other => {
                return Err(EngineError::unsupported(format!("column \"{name}\": {other} is not supported")));
            }
        }
    }
    Ok(ColumnDef { name, column_type: column_type(&column.data_type)?, nullable, default })
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
            other => Err(EngineError::new(
                SqlState::SyntaxError,
                format!("a primary key consists of columns, not of {other}"),
            )),
        })
        .collect()
}

/// The key's columns by id; they become NOT NULL.
fn resolve_key(key: &[String], columns: &mut [ColumnDef]) -> Result<Vec<ColumnId>, EngineError> {
    let mut ids = Vec::with_capacity(key.len());
    for name in key {
        let Some(at) = columns.iter().position(|column| column.name == *name) else {
            let message = format!("column \"{name}\" named in key does not exist");
            return Err(EngineError::new(SqlState::UndefinedColumn, message));
        };
        columns[at].nullable = false;
        let id = ColumnId(at as u16);
        if ids.contains(&id) {
            let message = format!("column \"{name}\" appears twice in primary key constraint");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The columns that a list of names means, in its order.
pub(crate) fn columns_named<'a>(
    table: &str,
    columns: &[ColumnDef],
    names: impl IntoIterator<Item = &'a Ident>,
) -> Result<Vec<usize>, EngineError> {
    let mut found = Vec::new();
    for ident in names {
        let name = fold(ident);
        let Some(at) = columns.iter().position(|column| column.name == name) else {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            return Err(EngineError::new(SqlState::UndefinedColumn, message));
        };
        if found.contains(&at) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
        found.push(at);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use braid_storage::ColumnType;
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn define(sql: &str) -> Result<NewTable, EngineError> {
        let statement = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().remove(0);
        let Statement::CreateTable(create) = statement else { panic!("{sql}") };
        new_table(&create)
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
    fn what_cannot_be_kept_is_not_promised() {
        for (sql, sqlstate) in [
            ("create table t (a int unique)", "0A000"),
            ("create table t (a int check (a > 0))", "0A000"),
            ("create table t (a int references u (b))", "0A000"),
            ("create table t (a int, unique (a))", "0A000"),
            ("create table t (a int, foreign key (a) references u (b))", "0A000"),
            ("create table t (a serial)", "0A000"),
            ("create table t (a int generated always as identity)", "0A000"),
            ("create temporary table t (a int)", "0A000"),
            ("create table t (like u)", "0A000"),
            ("create table t (a int) partition by range (a)", "0A000"),
            ("create table t (a int) with (fillfactor = 70)", "0A000"),
            ("create table t (a nosuch)", "42704"),
            ("create table t (a int, A text)", "42701"),
            ("create table t (a int, primary key (b))", "42703"),
            ("create table t (a int primary key, b int primary key)", "42P16"),
            ("create table nosuch.t (a int)", "3F000"),
        ] {
            let error = define(sql).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{sql}: {error:?}");
        }
    }
}
