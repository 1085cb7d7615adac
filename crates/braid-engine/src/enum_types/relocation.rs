//! ALTER TYPE and ALTER DOMAIN … SET SCHEMA.

use std::sync::Arc;

use braid_base::{DomainType, SchemaId};
use braid_storage::{Catalog, TypeChanges, WriteSet};
use sqlparser::ast::ObjectName;

use super::alter::check_unmentioned;
use super::drop::DroppedKind;
use super::labels::{array_name, array_type_name, is_type_name};
use super::named_type::NamedType;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// Moves a type to the schema that `target` finds for one of its own.
///
/// # Errors
/// For what is no type of users or no domain, those of `target`, and for a name that is taken in the schema.
pub(crate) async fn move_type(
    context: &StatementContext,
    (name, kind): (&ObjectName, DroppedKind),
    target: impl Fn(&Catalog, SchemaId) -> Result<SchemaId, EngineError> + Send,
) -> Result<(), EngineError> {
    let change = |writes: &mut WriteSet, view: &Arc<Catalog>| {
        let named = NamedType::find(context, view, name)?;
        named.missing().map_or(Ok(()), Err)?;
        let wrong = |message: String| EngineError::new(SqlState::WrongObjectType, message);
        let shown = || named.shown(context, view);
        if kind == DroppedKind::Domain && !matches!(named, NamedType::Domain(_)) {
            return Err(wrong(format!("{} is not a domain", shown())));
        }
        match &named {
            NamedType::Enum(known) => {
                let from = known.definition.schema;
                let to = target(view, from)?;
                if to != from {
                    check_free(view, to, &known.definition.name)?;
                    check_unmentioned((context, view), &named)?;
                    writes.change_types(view, |changes: &mut TypeChanges<'_>| {
                        let mut definition = (*known.definition).clone();
                        definition.array_name = array_name(changes, to, &definition.name);
                        definition.schema = to;
                        changes.replace(definition);
                        Ok::<_, EngineError>(())
                    })?;
                }
                Ok(())
            }
            NamedType::Domain(known) => {
                let from = known.definition.schema;
                let to = target(view, from)?;
                if to != from {
                    check_free(view, to, &known.definition.name)?;
                    check_unmentioned((context, view), &named)?;
                    let array_name = array_type_name(&known.definition.name, |name| is_type_name(view, to, name));
                    writes.set_domain(view, DomainType { schema: to, array_name, ..(*known.definition).clone() })?;
                }
                Ok(())
            }
            NamedType::Array(_) | NamedType::DomainArray(_) => {
                let array = shown();
                let element = array.strip_suffix("[]").unwrap_or(&array);
                Err(wrong(format!("cannot alter array type {array}"))
                    .with_hint(format!("You can alter type {element}, which will alter the array type as well.")))
            }
            NamedType::Row(relation) => {
                Err(wrong(format!("{relation} is a table's row type")).with_hint("Use ALTER TABLE instead."))
            }
            NamedType::System(_) | NamedType::Nothing(..) => {
                Err(EngineError::unsupported(format!("moving type {} is not supported", shown())))
            }
        }
    };
    context.change(change).await
}

fn check_free(view: &Catalog, schema: SchemaId, name: &str) -> Result<(), EngineError> {
    match is_type_name(view, schema, name) {
        true => {
            let shown = view.schema_name(schema).unwrap_or_default();
            let message = format!("type \"{name}\" already exists in schema \"{shown}\"");
            Err(EngineError::new(SqlState::DuplicateObject, message))
        }
        false => Ok(()),
    }
}
