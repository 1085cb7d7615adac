//! What CREATE OR REPLACE VIEW may change: the query, and columns behind the others.

use braid_base::TableId;
use braid_catalog::column_types::type_of_oid;
use braid_sql::SqlType;
use braid_sql::types::type_names::format_type;

use braid_storage::{Catalog, ViewColumn, ViewDef};

use crate::{EngineError, SqlState};

/// Checks that a view may take the place of another one.
///
/// # Errors
/// For other columns (42P16), and for a view that would read itself (42P17).
pub(super) fn check_replacement(catalog: &Catalog, known: &ViewDef, view: &ViewDef) -> Result<(), EngineError> {
    let wrong = |message: String| EngineError::new(SqlState::InvalidTableDefinition, message);
    if view.columns.len() < known.columns.len() {
        return Err(wrong("cannot drop columns from view".to_owned()));
    }
    for (before, after) in known.columns.iter().zip(&view.columns) {
        if before.name != after.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", before.name, after.name);
            return Err(
                wrong(message).with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
            );
        }
        if (before.type_oid, before.modifier) != (after.type_oid, after.modifier) {
            let (from, to) = (type_of(catalog, before), type_of(catalog, after));
            return Err(wrong(format!(
                "cannot change data type of view column \"{}\" from {from} to {to}",
                before.name
            )));
        }
    }
    if reads(catalog, view, view.id) {
        let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
        return Err(EngineError::new(SqlState::InvalidObjectDefinition, message));
    }
    Ok(())
}

/// The type of a column as messages have it.
fn type_of(catalog: &Catalog, column: &ViewColumn) -> String {
    format_type(SqlType { id: type_of_oid(catalog, column.type_oid), modifier: column.modifier })
}

/// Whether a view reads another one, directly or not. Views that are there do not read themselves.
fn reads(catalog: &Catalog, view: &ViewDef, wanted: TableId) -> bool {
    let mut waiting: Vec<TableId> = view.stored_sources().map(|(id, _)| id).collect();
    let mut seen = std::collections::HashSet::new();
    while let Some(id) = waiting.pop() {
        if id == wanted {
            return true;
        }
        if seen.insert(id) {
            waiting.extend(catalog.view_by_id(id).iter().flat_map(|view| view.stored_sources().map(|(id, _)| id)));
        }
    }
    false
}
