//! The objects that GRANT and REVOKE name.

use braid_base::{ColumnId, SchemaId};
use braid_sql::search_path::is_built_in;
use braid_storage::{AccessObject, Catalog};
use sqlparser::ast::{Ident, ObjectName};

use crate::enum_types::NamedType;
use crate::names::fold;
use crate::statement::{GrantedObjects, SchemaObjects};
use crate::statement_context::StatementContext;
use crate::table_names::{Named, index_given, named_table, no_schema};
use crate::{EngineError, SqlState};

/// An object, and its name for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub object: AccessObject,
    pub name: String,
}

impl Subject {
    /// A column of it.
    ///
    /// # Errors
    /// 42703
    pub fn column(&self, view: &Catalog, name: &str) -> Result<ColumnId, EngineError> {
        let AccessObject::Relation(relation) = self.object else {
            return Err(EngineError::internal("columns of what is no relation"));
        };
        let of_table = || view.by_id(relation)?.def.column(name).map(|(id, _)| id);
        let of_view = || {
            let at = view.view_by_id(relation)?.columns.iter().position(|column| column.name == name)?;
            u16::try_from(at).ok().map(ColumnId)
        };
        of_table().or_else(of_view).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
            EngineError::new(SqlState::UndefinedColumn, message)
        })
    }
}

/// The objects that a statement names, each once.
///
/// # Errors
/// For what does not exist or is of another kind, and objects of the system, functions and others that have no privileges here (0A000).
pub(super) fn subjects_of(
    context: &StatementContext,
    view: &Catalog,
    objects: &GrantedObjects,
) -> Result<Vec<Subject>, EngineError> {
    let unsupported = |what: &str| {
        let error = EngineError::unsupported(format!("privileges of {what} are not supported"));
        Err(error.with_hint("Leave it out: they have no privileges."))
    };
    let mut subjects: Vec<Subject> = match objects {
        GrantedObjects::Tables(names) => {
            names.iter().map(|name| relation(context, view, name)).collect::<Result<_, _>>()?
        }
        GrantedObjects::Sequences(names) => {
            names.iter().map(|name| sequence(context, view, name)).collect::<Result<_, _>>()?
        }
        GrantedObjects::Schemas(names) => {
            names.iter().map(|name| schema_subject(context, view, name)).collect::<Result<_, _>>()?
        }
        GrantedObjects::Databases(names) => {
            names.iter().map(|name| database(context, name)).collect::<Result<_, _>>()?
        }
        GrantedObjects::Types(names) => {
            names.iter().map(|name| data_type(context, view, name)).collect::<Result<_, _>>()?
        }
        GrantedObjects::Domains(names) => {
            let domain = |name| {
                let found = NamedType::find(context, view, name)?;
                found.missing().map_or_else(|| found.domain(context, view).map(drop), Err)?;
                data_type(context, view, name)
            };
            names.iter().map(domain).collect::<Result<_, EngineError>>()?
        }
        GrantedObjects::InSchemas(kind, names) => {
            let schemas = names.iter().map(|name| schema(context, view, name)).collect::<Result<Vec<_>, _>>()?;
            schemas.into_iter().flat_map(|schema| in_schema(view, *kind, schema)).collect()
        }
        GrantedObjects::Routines(..) => return unsupported("functions"),
        GrantedObjects::Languages(_) => return unsupported("languages"),
        GrantedObjects::Tablespaces(_) => return unsupported("tablespaces"),
        GrantedObjects::ForeignDataWrappers(_) | GrantedObjects::ForeignServers(_) => {
            return unsupported("foreign data");
        }
        GrantedObjects::LargeObjects(_) => return unsupported("large objects"),
        GrantedObjects::Parameters(_) => return unsupported("settings"),
    };
    let mut seen = Vec::new();
    subjects.retain(|subject| {
        let is_new = !seen.contains(&subject.object);
        seen.push(subject.object);
        is_new
    });
    Ok(subjects)
}

fn relation(context: &StatementContext, view: &Catalog, name: &ObjectName) -> Result<Subject, EngineError> {
    let subject = |id, name: &str| Subject { object: AccessObject::Relation(id), name: name.to_owned() };
    match named_table(context, view, name)? {
        Named::Table(def) => Ok(subject(def.id, &def.name)),
        Named::View(view) => Ok(subject(view.id, &view.name)),
        Named::Sequence(known) => Ok(subject(known.definition.id, &known.definition.name)),
        Named::System(..) => Err(of_system()),
        Named::Index(name) => Err(index_given(&name)),
        missing @ Named::Nothing(..) => missing.into_filled().map(|def| subject(def.id, &def.name)),
        Named::NoSchema(schema, _) => Err(no_schema(&schema)),
    }
}

fn sequence(context: &StatementContext, view: &Catalog, name: &ObjectName) -> Result<Subject, EngineError> {
    let subject = relation(context, view, name)?;
    match subject.object {
        AccessObject::Relation(id) if view.sequence_by_id(id).is_some() => Ok(subject),
        _ => Err(EngineError::new(SqlState::WrongObjectType, format!("\"{}\" is not a sequence", subject.name))),
    }
}

/// A schema of users.
///
/// # Errors
/// 3F000, 0A000
pub(super) fn schema(context: &StatementContext, view: &Catalog, name: &Ident) -> Result<SchemaId, EngineError> {
    let name = fold(name);
    match context.schema_of_users(view, &name)? {
        Some(id) => Ok(id),
        None if is_built_in(&name) => Err(of_system()),
        None => Err(no_schema(&name)),
    }
}

fn schema_subject(context: &StatementContext, view: &Catalog, name: &Ident) -> Result<Subject, EngineError> {
    schema(context, view, name).map(|id| Subject { object: AccessObject::Schema(id), name: fold(name) })
}

fn database(context: &StatementContext, name: &Ident) -> Result<Subject, EngineError> {
    let name = fold(name);
    match name == context.database_name() {
        true => Ok(Subject { object: AccessObject::Database, name }),
        false => {
            let message = format!("database \"{name}\" does not exist");
            Err(EngineError::new(SqlState::InvalidCatalogName, message))
        }
    }
}

fn data_type(context: &StatementContext, view: &Catalog, name: &ObjectName) -> Result<Subject, EngineError> {
    let found = NamedType::find(context, view, name)?;
    found.missing().map_or(Ok(()), Err)?;
    match &found {
        NamedType::Enum(known) => {
            let object = AccessObject::Type(known.definition.oid);
            Ok(Subject { object, name: known.definition.name.clone() })
        }
        NamedType::Domain(known) => {
            let object = AccessObject::Type(known.definition.oid);
            Ok(Subject { object, name: known.definition.name.clone() })
        }
        NamedType::Array(_) | NamedType::DomainArray(_) => {
            let message = "cannot set privileges of array types";
            Err(EngineError::new(SqlState::InvalidGrantOperation, message)
                .with_hint("Set the privileges of the element type instead."))
        }
        NamedType::System(_) | NamedType::Row(_) | NamedType::Nothing(..) => Err(of_system()),
    }
}

/// The objects of a kind in a schema.
fn in_schema(view: &Catalog, kind: SchemaObjects, schema: SchemaId) -> Vec<Subject> {
    let subject = |id, name: &str| Subject { object: AccessObject::Relation(id), name: name.to_owned() };
    match kind {
        SchemaObjects::Tables => {
            let tables = view.tables().filter(|table| table.def.schema == schema);
            let tables = tables.map(|table| subject(table.def.id, &table.def.name));
            let views =
                view.views().by_id().values().filter(|known| known.schema == schema && !known.is_materialized());
            tables.chain(views.map(|known| subject(known.id, &known.name))).collect()
        }
        SchemaObjects::Sequences => {
            let sequences = view.sequences().map(|known| &known.definition).filter(|known| known.schema == schema);
            sequences.map(|known| subject(known.id, &known.name)).collect()
        }
        // Users have none.
        SchemaObjects::Routines(_) => Vec::new(),
    }
}

fn of_system() -> EngineError {
    EngineError::unsupported("other privileges of objects of the system are not supported")
}
