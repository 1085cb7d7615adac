//! The table that a statement which changes tables means: where it is created, and where it is found, along the session's `search_path`.
//!
//! Only tables of schema `public` can be created, filled and dropped. A system relation is found like any other, and refused.

use std::sync::Arc;

use braid_catalog::left_out::reason;
use braid_catalog::{RelationKind, relation};
use braid_sql::SearchPath;
use braid_sql::search_path::{SYSTEM_SCHEMA, is_schema};
use braid_storage::{Catalog, TableDef, ViewDef};
use sqlparser::ast::ObjectName;

use crate::names::{SCHEMA_NAME, table_parts};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// What the name of a table means.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    /// A table of users.
    Table(Arc<TableDef>),
    /// A view of users, also a materialized one.
    View(Arc<ViewDef>),
    /// A relation of the system of this name.
    System(String, SystemKind),
    /// Nothing: the schema, if the name has one, and the name.
    Nothing(Option<String>, String),
}

/// Whether a system relation is shown as a table or as a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemKind {
    /// It has rows.
    Table,
    /// It is a query over others.
    View,
}

/// The search path of a session.
pub(crate) fn search_path(context: &StatementContext) -> SearchPath {
    context.settings().search_path()
}

/// The name of a table that is to be created.
///
/// # Errors
/// If it would be in a schema in which no tables are created.
pub(crate) fn created_table(context: &StatementContext, name: &ObjectName) -> Result<String, EngineError> {
    let (schema, table) = table_parts(name, context.database_name())?;
    let path = search_path(context);
    let schema = schema.as_deref().or(path.creation_schema());
    let Some(schema) = schema else {
        return Err(EngineError::new(SqlState::InvalidSchemaName, "no schema has been selected to create in"));
    };
    match schema {
        SCHEMA_NAME => Ok(table),
        _ if !is_schema(schema) => Err(no_schema(schema)),
        "information_schema" => Err(EngineError::unsupported("tables in information_schema are not supported")),
        _ => {
            let message = format!("permission denied to create \"{schema}.{table}\"");
            Err(EngineError::new(SqlState::InsufficientPrivilege, message)
                .with_detail("System catalog modifications are currently disallowed."))
        }
    }
}

/// What a name means in a snapshot: the first relation that the session's search path finds.
///
/// # Errors
/// For names with too many parts, or of another database.
pub(crate) fn named_table(
    context: &StatementContext,
    snapshot: &Catalog,
    name: &ObjectName,
) -> Result<Named, EngineError> {
    let (schema, table) = table_parts(name, context.database_name())?;
    let in_schema = |schema: &str| match schema {
        SCHEMA_NAME => snapshot.view(&table).map(|view| Named::View(view.clone())).or_else(|| {
            let version = snapshot.table(&table);
            version.map(|version| Named::Table(version.def.clone()))
        }),
        _ => system_kind(context, schema, &table).map(|kind| Named::System(table.clone(), kind)),
    };
    let found = match &schema {
        Some(schema) => in_schema(schema),
        None => search_path(context).searched().find_map(in_schema),
    };
    Ok(found.unwrap_or_else(|| Named::Nothing(schema, table.clone())))
}

/// The kind of a system relation; `None` if there is none of this name.
fn system_kind(context: &StatementContext, schema: &str, name: &str) -> Option<SystemKind> {
    let is_own_view = || context.database().system_views().iter().any(|view| view.name() == name);
    match relation(schema, name) {
        Some(relation) if relation.kind == RelationKind::Rows => Some(SystemKind::Table),
        Some(_) => Some(SystemKind::View),
        None if schema == SYSTEM_SCHEMA && is_own_view() => Some(SystemKind::View),
        None => reason(schema, name).map(|_| SystemKind::Table),
    }
}

impl Named {
    /// The table that rows are to be stored in.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_filled(self) -> Result<Arc<TableDef>, EngineError> {
        match self {
            Self::Table(def) => Ok(def),
            Self::View(view) => Err(unchangeable(&view)),
            Self::System(name, _) => Err(EngineError::new(
                SqlState::WrongObjectType,
                format!("\"{name}\" is a system catalog and cannot be changed"),
            )),
            Self::Nothing(schema, name) => {
                let written = schema.map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
                Err(EngineError::new(SqlState::UndefinedTable, format!("relation \"{written}\" does not exist")))
            }
        }
    }

    /// [`Self::into_filled`] for COPY, which looks for the schema first.
    pub fn into_copied(self) -> Result<Arc<TableDef>, EngineError> {
        match self {
            Self::Nothing(Some(schema), _) if !is_schema(&schema) => Err(no_schema(&schema)),
            Self::View(view) => {
                let message = format!("cannot copy to {}view \"{}\"", materialized(&view), view.name);
                let error = EngineError::new(SqlState::WrongObjectType, message);
                Err(match view.is_materialized() {
                    true => error,
                    false => error.with_hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."),
                })
            }
            other => other.into_filled(),
        }
    }

    /// Checks that rows of it can be copied to a client without a query.
    ///
    /// # Errors
    /// For views, and what does not exist.
    pub fn check_read(self) -> Result<(), EngineError> {
        match self {
            Self::View(view) => {
                let message = format!("cannot copy from {}view \"{}\"", materialized(&view), view.name);
                Err(EngineError::new(SqlState::WrongObjectType, message)
                    .with_hint("Try the COPY (SELECT ...) TO variant."))
            }
            missing @ Self::Nothing(..) => missing.into_copied().map(drop),
            Self::Table(_) | Self::System(..) => Ok(()),
        }
    }

    /// The name of the table that is to be emptied.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_truncated(self) -> Result<String, EngineError> {
        match self {
            Self::Table(def) => Ok(def.name.clone()),
            Self::System(name, SystemKind::Table) => Err(no_permission(&name)),
            Self::System(name, SystemKind::View) => Err(no_table(&name)),
            Self::View(view) => Err(no_table(&view.name)),
            missing @ Self::Nothing(..) => missing.into_copied().map(|def| def.name.clone()),
        }
    }

    /// The name of the table that is to be dropped.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_dropped(self) -> Result<String, EngineError> {
        match self {
            Self::Table(def) => Ok(def.name.clone()),
            Self::System(name, SystemKind::Table) => Err(no_permission(&name)),
            Self::System(name, SystemKind::View) => Err(no_table(&name).with_hint("Use DROP VIEW to remove a view.")),
            Self::View(view) => Err(no_table(&view.name).with_hint(drop_hint(&view))),
            Self::Nothing(Some(schema), _) if !is_schema(&schema) => Err(no_schema(&schema)),
            Self::Nothing(_, name) => {
                Err(EngineError::new(SqlState::UndefinedTable, format!("table \"{name}\" does not exist")))
            }
        }
    }
}

/// How a view is dropped.
pub(crate) fn drop_hint(view: &ViewDef) -> &'static str {
    match view.is_materialized() {
        true => "Use DROP MATERIALIZED VIEW to remove a materialized view.",
        false => "Use DROP VIEW to remove a view.",
    }
}

fn materialized(view: &ViewDef) -> &'static str {
    if view.is_materialized() { "materialized " } else { "" }
}

/// That rows of a view cannot be changed.
fn unchangeable(view: &ViewDef) -> EngineError {
    match view.is_materialized() {
        true => {
            let message = format!("cannot change materialized view \"{}\"", view.name);
            EngineError::new(SqlState::WrongObjectType, message)
        }
        false => EngineError::unsupported(format!("changing rows through view \"{}\" is not supported", view.name)),
    }
}

pub(crate) fn no_permission(catalog: &str) -> EngineError {
    let message = format!("permission denied: \"{catalog}\" is a system catalog");
    EngineError::new(SqlState::InsufficientPrivilege, message)
}

fn no_table(view: &str) -> EngineError {
    EngineError::new(SqlState::WrongObjectType, format!("\"{view}\" is not a table"))
}

pub(crate) fn no_schema(schema: &str) -> EngineError {
    EngineError::new(SqlState::InvalidSchemaName, format!("schema \"{schema}\" does not exist"))
}
