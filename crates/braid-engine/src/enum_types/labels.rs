//! Labels that may be added, and the names of array types.

use braid_base::SchemaId;
use braid_base::enum_types::LABEL_BYTES_MAX;
use braid_storage::{Catalog, TypeChanges};
use sqlparser::ast::Ident;

use crate::names::NAME_BYTES_MAX;
use crate::{EngineError, SqlState};

/// The text of a label. The parser takes names for labels; PostgreSQL's grammar has strings only.
pub(super) fn label_of(written: &Ident) -> Result<&str, EngineError> {
    match written.quote_style {
        Some('\'') => Ok(&written.value),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("syntax error at or near \"{}\"", written.value))),
    }
}

/// Refuses a label that is too long.
pub(super) fn check_length(label: &str) -> Result<(), EngineError> {
    if label.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    Err(EngineError::new(SqlState::InvalidName, format!("invalid enum label \"{label}\""))
        .with_detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")))
}

/// The name of the array type of a type: with as many underscores before it as no other type has.
pub(crate) fn array_type_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut underscores = String::from("_");
    loop {
        let end = name.floor_char_boundary(NAME_BYTES_MAX.saturating_sub(underscores.len()));
        let candidate = format!("{underscores}{}", &name[..end]);
        if candidate != name && !is_taken(&candidate) {
            return candidate;
        }
        underscores.push('_');
    }
}

pub(super) fn array_name(changes: &TypeChanges<'_>, schema: SchemaId, name: &str) -> String {
    array_type_name(name, |candidate| changes.is_taken(schema, candidate))
}

/// Whether a type or a relation with rows has a name.
pub(crate) fn is_type_name(view: &Catalog, schema: SchemaId, name: &str) -> bool {
    let is_relation = view.table_in(schema, name).is_some() || view.view_in(schema, name).is_some();
    is_relation || view.has_type_in(schema, name)
}

/// Makes a name of a schema free: an error if a type or a table has it. An array type of this name gets another one.
pub(super) fn free_name(changes: &mut TypeChanges<'_>, schema: SchemaId, name: &str) -> Result<(), EngineError> {
    let catalog = changes.catalog().clone();
    let mut types = catalog.enum_types().filter(|known| known.definition.schema == schema);
    if let Some(known) = types.find(|known| known.definition.array_name == name) {
        let mut definition = (*known.definition).clone();
        // The name itself is still taken, so that another one is found.
        definition.array_name = array_name(changes, schema, &definition.name);
        changes.replace(definition);
        return Ok(());
    }
    if changes.is_taken(schema, name) {
        return Err(EngineError::new(SqlState::DuplicateObject, format!("type \"{name}\" already exists")));
    }
    Ok(())
}
