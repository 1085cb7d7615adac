//! What the name in a COMMENT ON means.

use std::sync::Arc;

use braid_catalog::object_ids::BOOTSTRAP_ROLE_ID;
use braid_sql::functions::SessionFacts;
use braid_sql::search_path::is_built_in;
use braid_storage::{Catalog, CommentSubject, RoleId, TableDef};
use sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectName};

use super::commented_relations::{column, constraint, part_of_table, relation};
use crate::enum_types::NamedType;
use crate::front_end::StatementFacts;
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::CommentObject;
use crate::statement_context::StatementContext;
use crate::table_names::no_schema;
use crate::{EngineError, SqlState};

/// What a comment is set on.
pub(super) enum Subject {
    /// What has its comment in the catalog.
    Stored(CommentSubject),
    /// A check constraint: its table, and its place in it.
    Check(Arc<TableDef>, usize),
    /// A database that there is not: PostgreSQL warns of it.
    OtherDatabase,
}

impl Subject {
    /// What is meant.
    ///
    /// # Errors
    /// For what does not exist or is of another kind, in PostgreSQL's words, and for what has no comments in Braid (0A000).
    pub fn find(context: &StatementContext, snapshot: &Catalog, object: &CommentObject) -> Result<Self, EngineError> {
        Ok(Self::Stored(match object {
            CommentObject::Relation(kind, name) => relation(context, snapshot, *kind, name)?,
            CommentObject::Column(name) => column(context, snapshot, name)?,
            CommentObject::Constraint(name, table) => return constraint(context, snapshot, &fold(name), table),
            CommentObject::OfTable(kind, name, relation, table) => {
                return Err(part_of_table(context, snapshot, (kind, &fold(name)), (relation, table))?);
            }
            CommentObject::Schema(name) => schema(context, snapshot, &fold(name))?,
            CommentObject::Type(name) => data_type(context, snapshot, name)?,
            CommentObject::Domain(name) => domain(context, snapshot, name)?,
            CommentObject::DomainConstraint(constraint, name) => {
                return Err(constraint_of_domain(context, snapshot, (&fold(constraint), name))?);
            }
            CommentObject::Database(name) if fold(name) == context.database_name() => CommentSubject::Database,
            CommentObject::Database(name) => {
                let message = format!("database \"{}\" does not exist", fold(name));
                context.raise(Notice::warning(SqlState::InvalidCatalogName, message));
                return Ok(Self::OtherDatabase);
            }
            CommentObject::Role(name) => role(context, name)?,
            CommentObject::Absent(kind, name) => return Err(undefined(kind, &fold(name))),
            CommentObject::Unsupported(kind) => {
                let error = EngineError::unsupported(format!("COMMENT ON {kind} is not supported"));
                return Err(error.with_hint("Leave it out: no such object keeps a comment."));
            }
        }))
    }
}

fn schema(context: &StatementContext, snapshot: &Catalog, name: &str) -> Result<CommentSubject, EngineError> {
    match context.schema_of_users(snapshot, name)? {
        Some(id) => Ok(CommentSubject::Schema(id)),
        None if is_built_in(name) => Err(of_system("schemas")),
        None => Err(no_schema(name)),
    }
}

fn data_type(context: &StatementContext, snapshot: &Catalog, name: &DataType) -> Result<CommentSubject, EngineError> {
    match named_type(context, snapshot, name)? {
        NamedType::Enum(known) => Ok(CommentSubject::Type(known.definition.oid)),
        NamedType::Array(known) => Ok(CommentSubject::Type(known.definition.array_oid)),
        NamedType::Domain(known) => Ok(CommentSubject::Type(known.definition.oid)),
        NamedType::DomainArray(known) => Ok(CommentSubject::Type(known.definition.array_oid)),
        NamedType::Row(_) => Err(EngineError::unsupported("comments on the types of rows are not supported")),
        NamedType::System(_) | NamedType::Nothing(..) => Err(of_system("types")),
    }
}

/// Why there is no comment on a constraint of a domain.
fn constraint_of_domain(
    context: &StatementContext,
    snapshot: &Catalog,
    (constraint, name): (&str, &DataType),
) -> Result<EngineError, EngineError> {
    let known = named_type(context, snapshot, name)?.domain(context, snapshot)?;
    if known.definition.checks.iter().any(|check| check.name == constraint) {
        return Ok(EngineError::unsupported("comments on constraints of domains are not supported"));
    }
    let message = format!("constraint \"{constraint}\" for domain {} does not exist", known.definition.name);
    Ok(EngineError::new(SqlState::UndefinedObject, message))
}

fn domain(context: &StatementContext, snapshot: &Catalog, name: &DataType) -> Result<CommentSubject, EngineError> {
    Ok(CommentSubject::Type(named_type(context, snapshot, name)?.domain(context, snapshot)?.definition.oid))
}

/// The type of a name. A type with a syntax of its own is one of the system.
fn named_type(context: &StatementContext, snapshot: &Catalog, name: &DataType) -> Result<NamedType, EngineError> {
    let find = |name: &ObjectName| {
        let found = NamedType::find(context, snapshot, name)?;
        found.missing().map_or(Ok(found), Err)
    };
    match name {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => find(name),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => match named_type(context, snapshot, element)? {
            NamedType::Enum(known) | NamedType::Array(known) => Ok(NamedType::Array(known)),
            NamedType::Domain(known) => Ok(NamedType::DomainArray(known)),
            other => Ok(other),
        },
        other => {
            let written = ObjectName::from(vec![Ident::new(other.to_string().to_lowercase())]);
            NamedType::find(context, snapshot, &written)
        }
    }
}

fn role(context: &StatementContext, name: &Ident) -> Result<CommentSubject, EngineError> {
    let name = fold(name);
    let names = StatementFacts::of(context).objects();
    match names.and_then(|names| names.role_id(&name)) {
        Some(role) if role != BOOTSTRAP_ROLE_ID && RoleId(role).is_built_in() => Err(of_system("roles")),
        Some(_) => Ok(CommentSubject::Role(name)),
        None => Err(undefined("role", &name)),
    }
}

/// The refusal of a comment on what is PostgreSQL's own, or of another owner of it.
pub(super) fn of_system(what: &str) -> EngineError {
    EngineError::unsupported(format!("{what} of the system cannot be altered or commented on"))
}

fn undefined(kind: &str, name: &str) -> EngineError {
    EngineError::new(SqlState::UndefinedObject, format!("{kind} \"{name}\" does not exist"))
}
