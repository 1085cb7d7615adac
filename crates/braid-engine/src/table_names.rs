//! The table that a statement which changes tables means: where it is created, and where it is found, along the session's `search_path`.
//!
//! Only tables of users can be created, filled and dropped. A system relation is found like any other, and refused.

use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use braid_catalog::left_out::reason;
use braid_catalog::{RelationKind, relation};
use braid_sql::search_path::{CreationSchema, SYSTEM_SCHEMA, TEMPORARY_SCHEMA, is_built_in};
use braid_storage::{Catalog, CatalogSequence, TableDef, ViewDef};
use sqlparser::ast::ObjectName;

use crate::access::AccessCheck;
use crate::named_views::{drop_hint, not_copied_to, shown_view, unchangeable};
use crate::names::table_parts;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// What the name of a table means.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    /// A table of users.
    Table(Arc<TableDef>),
    /// A sequence.
    Sequence(CatalogSequence),
    /// A view of users, also a materialized one.
    View(Arc<ViewDef>),
    /// An index of this name.
    Index(String),
    /// A relation of the system of this name.
    System(String, SystemKind),
    /// Nothing: the schema, if the name has one, and the name.
    Nothing(Option<String>, String),
    /// Nothing, as there is no schema of this name.
    NoSchema(String, String),
}

/// Whether a system relation is shown as a table or as a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemKind {
    /// It has rows.
    Table,
    /// It is a query over others.
    View,
}

/// What becomes of a table, or what else a statement names, that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is an error.
    Refused,
    /// IF EXISTS: it is passed over.
    Skipped,
}

impl Missing {
    /// From whether the statement says IF EXISTS.
    pub fn of(if_exists: bool) -> Self {
        if if_exists { Self::Skipped } else { Self::Refused }
    }
}

/// The name of what is to be created, and its schema.
#[derive(Clone, Debug)]
pub(crate) struct NewName {
    /// The schema.
    pub schema: SchemaId,
    /// The name in it.
    pub name: String,
}

/// How long a relation is kept that is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// Until it is dropped, if its schema is not temporary.
    Lasting,
    /// Until the session ends.
    Temporary,
}

/// The name of a relation that is to be created. The session's temporary schema is created if it is the first one in it.
///
/// # Errors
/// If it would be in a schema in which none are created, or in which the current role may create none (42501).
pub(crate) async fn new_name(
    context: &StatementContext,
    name: &ObjectName,
    persistence: Persistence,
) -> Result<NewName, EngineError> {
    let (written, name) = table_parts(name, context.database_name())?;
    let created_in = creation_schema(context, written, &name, persistence)?;
    if let Some(access) = AccessCheck::now(context) {
        created_in.map_or_else(|| access.check_temporary(), |schema| access.check_create_in(schema))?;
    }
    let schema = match created_in {
        Some(schema) => schema,
        None => context.make_temporary_schema().await?,
    };
    Ok(NewName { schema, name })
}

/// The schema in which a relation is created; `None` for the session's temporary schema.
fn creation_schema(
    context: &StatementContext,
    written: Option<String>,
    name: &str,
    persistence: Persistence,
) -> Result<Option<SchemaId>, EngineError> {
    let snapshot = context.snapshot();
    let is_temporary = persistence == Persistence::Temporary;
    let named = match (written, context.search_path_in(&snapshot).creation_schema()) {
        (None, _) if is_temporary => return Ok(None),
        (None, CreationSchema::Temporary) => return Ok(None),
        (Some(written), _) if written == TEMPORARY_SCHEMA => return Ok(None),
        (Some(written), _) => written,
        (None, CreationSchema::Named(first)) => first.to_owned(),
        (None, CreationSchema::None) => {
            return Err(EngineError::new(SqlState::InvalidSchemaName, "no schema has been selected to create in"));
        }
    };
    let wrong = |message: &str| Err(EngineError::new(SqlState::InvalidTableDefinition, message));
    match snapshot.schema_named(&named) {
        Some(id) if context.temporary_schema(&snapshot) == Some(id) => Ok(Some(id)),
        Some(id) if snapshot.is_temporary(id) => {
            wrong("cannot create relations in temporary schemas of other sessions")
        }
        None if !is_built_in(&named) => Err(no_schema(&named)),
        _ if is_temporary => wrong("cannot create temporary relation in non-temporary schema"),
        Some(id) => Ok(Some(id)),
        None if named == "information_schema" => {
            Err(EngineError::unsupported("tables in information_schema are not supported"))
        }
        None => {
            let message = format!("permission denied to create \"{named}.{name}\"");
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
    let in_schema = |schema: &str| {
        Ok::<_, EngineError>(match context.usable_schema(snapshot, schema)? {
            Some(id) => of_users(snapshot, id, &table),
            None => system_kind(context, schema, &table).map(|kind| Named::System(table.clone(), kind)),
        })
    };
    let found = match &schema {
        Some(schema) => in_schema(schema)?,
        None => {
            context.search_path_in(snapshot).searched().find_map(|schema| in_schema(schema).transpose()).transpose()?
        }
    };
    Ok(match (found, schema) {
        (Some(found), _) => found,
        (None, Some(schema)) if !context.is_schema(snapshot, &schema) => Named::NoSchema(schema, table),
        (None, schema) => Named::Nothing(schema, table),
    })
}

/// What a name means in a schema of users.
fn of_users(snapshot: &Catalog, schema: SchemaId, name: &str) -> Option<Named> {
    // A materialized view is also a table.
    if let Some(view) = snapshot.view_in(schema, name) {
        return Some(Named::View(view.clone()));
    }
    let table = snapshot.table_in(schema, name).map(|version| Named::Table(version.def.clone()));
    let sequence = || snapshot.sequence_in(schema, name).map(|known| Named::Sequence(known.clone()));
    let index = || snapshot.key_in(schema, name).map(|_| Named::Index(name.to_owned()));
    table.or_else(sequence).or_else(index)
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
            Self::Sequence(known) => Err(wrong(format!("cannot change sequence \"{}\"", known.definition.name))),
            Self::View(view) => Err(unchangeable(&view)),
            Self::Index(name) => Err(index_given(&name)),
            Self::System(name, _) => Err(EngineError::new(
                SqlState::WrongObjectType,
                format!("\"{name}\" is a system catalog and cannot be changed"),
            )),
            Self::Nothing(schema, name) => Err(nothing(schema, &name)),
            Self::NoSchema(schema, name) => Err(nothing(Some(schema), &name)),
        }
    }

    /// [`Self::into_filled`] for COPY, which looks for the schema first.
    pub fn into_copied(self) -> Result<Arc<TableDef>, EngineError> {
        match self {
            Self::NoSchema(schema, _) => Err(no_schema(&schema)),
            Self::Sequence(known) => Err(wrong(format!("cannot copy to sequence \"{}\"", known.definition.name))),
            Self::View(view) => Err(not_copied_to(&view)),
            other => other.into_filled(),
        }
    }

    /// The table whose definition is to be changed.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_altered(self) -> Result<Arc<TableDef>, EngineError> {
        match self {
            Self::System(name, _) => Err(no_permission(&name)),
            other => other.into_copied(),
        }
    }

    /// Checks that rows of it can be copied to a client without a query.
    ///
    /// # Errors
    /// For views and sequences, and what does not exist.
    pub fn check_read(self) -> Result<(), EngineError> {
        match self {
            Self::View(view) => Err(wrong(format!("cannot copy from {}", shown_view(&view)))
                .with_hint("Try the COPY (SELECT ...) TO variant.")),
            Self::Sequence(known) => Err(wrong(format!("cannot copy from sequence \"{}\"", known.definition.name))),
            other @ (Self::Index(_) | Self::Nothing(..) | Self::NoSchema(..)) => other.into_copied().map(drop),
            Self::Table(_) | Self::System(..) => Ok(()),
        }
    }

    /// The table that is to be emptied.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_truncated(self) -> Result<TableId, EngineError> {
        match self {
            Self::Table(def) => Ok(def.id),
            Self::Sequence(known) => Err(no_table(&known.definition.name)),
            Self::System(name, SystemKind::Table) => Err(no_permission(&name)),
            Self::System(name, SystemKind::View) => Err(no_table(&name)),
            Self::View(view) => Err(no_table(&view.name)),
            Self::Index(name) => Err(no_table(&name)),
            missing @ (Self::Nothing(..) | Self::NoSchema(..)) => missing.into_copied().map(|def| def.id),
        }
    }

    /// The table that is to be dropped.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_dropped(self) -> Result<Arc<TableDef>, EngineError> {
        match self {
            Self::Table(def) => Ok(def),
            Self::Sequence(known) => {
                Err(no_table(&known.definition.name).with_hint("Use DROP SEQUENCE to remove a sequence."))
            }
            Self::System(name, SystemKind::Table) => Err(no_permission(&name)),
            Self::System(name, SystemKind::View) => Err(no_table(&name).with_hint("Use DROP VIEW to remove a view.")),
            Self::View(view) => Err(no_table(&view.name).with_hint(drop_hint(&view))),
            Self::Index(name) => Err(no_table(&name).with_hint(DROP_INDEX)),
            Self::NoSchema(schema, _) => Err(no_schema(&schema)),
            Self::Nothing(_, name) => {
                Err(EngineError::new(SqlState::UndefinedTable, format!("table \"{name}\" does not exist")))
            }
        }
    }
}

impl Named {
    /// The sequence that is to be changed.
    ///
    /// # Errors
    /// If it is none.
    pub fn into_sequence(self) -> Result<CatalogSequence, EngineError> {
        match self {
            Self::Sequence(known) => Ok(known),
            Self::Table(def) => Err(no_sequence(&def.name)),
            Self::View(view) => Err(no_sequence(&view.name)),
            Self::Index(name) => Err(no_sequence(&name)),
            Self::System(name, SystemKind::Table) => Err(no_permission(&name)),
            Self::System(name, SystemKind::View) => Err(no_sequence(&name)),
            Self::Nothing(schema, name) => Err(nothing(schema, &name)),
            Self::NoSchema(schema, name) => Err(nothing(Some(schema), &name)),
        }
    }

    /// The sequence that is to be dropped.
    ///
    /// # Errors
    /// If it is none.
    pub fn into_dropped_sequence(self) -> Result<CatalogSequence, EngineError> {
        match self {
            Self::Sequence(known) => Ok(known),
            Self::Table(def) => Err(no_sequence(&def.name).with_hint("Use DROP TABLE to remove a table.")),
            Self::View(view) => Err(no_sequence(&view.name).with_hint(drop_hint(&view))),
            Self::Index(name) => Err(no_sequence(&name).with_hint(DROP_INDEX)),
            Self::System(name, SystemKind::Table) => {
                Err(no_sequence(&name).with_hint("Use DROP TABLE to remove a table."))
            }
            Self::System(name, SystemKind::View) => {
                Err(no_sequence(&name).with_hint("Use DROP VIEW to remove a view."))
            }
            Self::NoSchema(schema, _) => Err(no_schema(&schema)),
            Self::Nothing(_, name) => {
                Err(EngineError::new(SqlState::UndefinedTable, format!("sequence \"{name}\" does not exist")))
            }
        }
    }

    /// The table with a column that is to own a sequence.
    ///
    /// # Errors
    /// If it is none of users' tables.
    pub fn into_owner(self) -> Result<Arc<TableDef>, EngineError> {
        match self {
            Self::Sequence(known) => {
                let message = format!("sequence cannot be owned by relation \"{}\"", known.definition.name);
                Err(wrong(message).with_detail("This operation is not supported for sequences."))
            }
            Self::Index(name) => {
                let message = format!("sequence cannot be owned by relation \"{name}\"");
                Err(wrong(message).with_detail("This operation is not supported for indexes."))
            }
            Self::View(view) if view.is_materialized() => {
                let message = format!("sequence cannot be owned by relation \"{}\"", view.name);
                Err(wrong(message).with_detail("This operation is not supported for materialized views."))
            }
            Self::View(_) => {
                Err(EngineError::unsupported("sequences that are owned by columns of views are not supported"))
            }
            Self::System(..) => {
                let message = "sequence must be in same schema as table it is linked to";
                Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message))
            }
            other => other.into_copied(),
        }
    }
}

/// How an index is dropped.
pub(crate) const DROP_INDEX: &str = "Use DROP INDEX to remove an index.";

/// The error of a statement that wants something else than an index.
pub(crate) fn index_given(name: &str) -> EngineError {
    wrong(format!("\"{name}\" is an index"))
}

fn wrong(message: String) -> EngineError {
    EngineError::new(SqlState::WrongObjectType, message)
}

fn no_sequence(name: &str) -> EngineError {
    wrong(format!("\"{name}\" is not a sequence"))
}

fn nothing(schema: Option<String>, name: &str) -> EngineError {
    let written = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
    EngineError::new(SqlState::UndefinedTable, format!("relation \"{written}\" does not exist"))
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
