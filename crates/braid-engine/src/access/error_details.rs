//! What clients are told of errors: the schema of what they are about, and no values that the role may not read.

use braid_base::ColumnId;
use braid_sql::SqlState;
use braid_storage::{Privileges, TableVersion};

use super::AccessCheck;
use crate::EngineError;
use crate::statement_context::StatementContext;

/// The error as the client gets it: with the name of its object's schema, and without values that the current role may not read.
pub(crate) fn told(context: &StatementContext, error: EngineError) -> EngineError {
    let error = without_unreadable(context, error);
    error.with_schema_name(|schema| context.snapshot().schema_name(schema).map(str::to_owned))
}

/// The error without values of columns that the current role may not read, as PostgreSQL shows it then. Of a row that violates a constraint
/// nothing is shown, where PostgreSQL shows the columns that can be read.
fn without_unreadable(context: &StatementContext, error: EngineError) -> EngineError {
    let Some(detail) = error.detail() else { return error };
    let is_of_values = matches!(
        error.state(),
        SqlState::UniqueViolation
            | SqlState::ForeignKeyViolation
            | SqlState::NotNullViolation
            | SqlState::CheckViolation
    );
    let Some(access) = is_of_values.then(|| AccessCheck::now(context)).flatten() else { return error };
    let object = error.object().clone();
    let (Some(table), Some(of)) = (&object.table, detail_of(error.state(), &detail)) else {
        return error.without_detail();
    };
    let snapshot = context.snapshot();
    let constraint = object.constraint.as_deref().unwrap_or_default();
    let mut named = snapshot.tables().filter(|version| {
        version.def.name == *table && error.schema().is_none_or(|schema| version.def.schema == schema)
    });
    let is_readable = |version: &std::sync::Arc<TableVersion>| {
        let (read, columns) = match of {
            Shown::Row => (version.clone(), version.def.columns.iter().map(|column| column.id).collect()),
            Shown::Key => (version.clone(), key_columns(version, constraint)),
            Shown::Referencing => (version.clone(), foreign_key_columns(version, constraint)),
            Shown::Referenced => {
                let key = version.def.foreign_keys.iter().find(|key| key.name == constraint);
                match key.and_then(|key| Some((snapshot.by_id(key.referenced)?.clone(), key.key.clone()))) {
                    Some(referenced) => referenced,
                    None => return false,
                }
            }
        };
        !columns.is_empty() && access.check_columns(&read.def, &columns, Privileges::SELECT).is_ok()
    };
    if named.all(is_readable) {
        return error;
    }
    match of {
        Shown::Referencing | Shown::Referenced => match detail.find(") is ").or_else(|| detail.find(") is")) {
            Some(end) => error.with_detail(format!("Key{}", &detail[end + 1..])),
            None => error.without_detail(),
        },
        Shown::Row | Shown::Key => error.without_detail(),
    }
}

/// Whose values a detail shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Those of a row.
    Row,
    /// Those of a unique key.
    Key,
    /// Those of a foreign key's columns.
    Referencing,
    /// Those of the key that it refers to.
    Referenced,
}

fn detail_of(state: SqlState, detail: &str) -> Option<Shown> {
    match state {
        SqlState::UniqueViolation => Some(Shown::Key),
        SqlState::ForeignKeyViolation if detail.contains(" is not present in table ") => Some(Shown::Referencing),
        SqlState::ForeignKeyViolation if detail.contains(" is still referenced from table ") => Some(Shown::Referenced),
        SqlState::ForeignKeyViolation => None,
        _ => Some(Shown::Row),
    }
}

fn key_columns(version: &TableVersion, name: &str) -> Vec<ColumnId> {
    let key = version.def.key(name);
    // An index of expressions shows values that all columns may be in.
    match key.map(|key| key.columns.clone()).filter(|columns| !columns.is_empty()) {
        Some(columns) if columns.iter().all(|column| version.def.column_by_id(*column).is_some()) => columns,
        _ => version.def.columns.iter().map(|column| column.id).collect(),
    }
}

fn foreign_key_columns(version: &TableVersion, name: &str) -> Vec<ColumnId> {
    let key = version.def.foreign_keys.iter().find(|key| key.name == name);
    key.map(|key| key.columns.clone()).unwrap_or_default()
}
