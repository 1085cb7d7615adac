//! What statements about tables say where a name means a view, in PostgreSQL's words.

use braid_storage::ViewDef;

use crate::{EngineError, SqlState};

/// How a view is dropped.
pub(crate) fn drop_hint(view: &ViewDef) -> &'static str {
    match view.is_materialized() {
        true => "Use DROP MATERIALIZED VIEW to remove a materialized view.",
        false => "Use DROP VIEW to remove a view.",
    }
}

/// Its kind and its name.
pub(crate) fn shown_view(view: &ViewDef) -> String {
    let materialized = if view.is_materialized() { "materialized " } else { "" };
    format!("{materialized}view \"{}\"", view.name)
}

/// That COPY cannot store rows in a view.
pub(crate) fn not_copied_to(view: &ViewDef) -> EngineError {
    let error = EngineError::new(SqlState::WrongObjectType, format!("cannot copy to {}", shown_view(view)));
    match view.is_materialized() {
        true => error,
        false => error.with_hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."),
    }
}

/// That rows of a view cannot be changed.
pub(crate) fn unchangeable(view: &ViewDef) -> EngineError {
    match view.is_materialized() {
        true => EngineError::new(SqlState::WrongObjectType, format!("cannot change {}", shown_view(view))),
        false => EngineError::unsupported(format!("changing rows through view \"{}\" is not supported", view.name)),
    }
}
