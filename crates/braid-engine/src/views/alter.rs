//! ALTER VIEW: names of views and of their columns.
//!
//! Views that read a renamed one know it, and its columns, by what they are.

use braid_storage::{ViewChanges, ViewColumn, ViewDef};
use sqlparser::ast::Ident;

use super::drop::{Wanted, found};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{AlterView, ViewChange};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};

/// Changes a view.
///
/// # Errors
/// For a view that does not exist, names that are taken, and other changes than of names (0A000).
pub(super) async fn alter_view(context: &StatementContext, alter: &AlterView) -> Result<Outcome, EngineError> {
    let (wanted, tag) = match alter.is_materialized {
        true => (Wanted::Materialized, "ALTER MATERIALIZED VIEW"),
        false => (Wanted::Plain, "ALTER VIEW"),
    };
    if matches!(alter.change, ViewChange::Unsupported) || alter.is_materialized {
        let message = format!("this form of {tag} is not supported");
        return Err(EngineError::unsupported(message));
    }
    let snapshot = context.snapshot();
    let view = match found(context, &snapshot, &alter.name, wanted)? {
        Ok(view) => view,
        Err((_, missing)) if alter.if_exists => {
            let missing = missing.replacen(wanted.shown(), "relation", 1);
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &missing));
            return Ok(Outcome::done(tag));
        }
        // PostgreSQL speaks of relations here.
        Err((state, missing)) => return Err(EngineError::new(state, missing.replacen(wanted.shown(), "relation", 1))),
    };
    let change = |changes: &mut ViewChanges<'_>| match &alter.change {
        ViewChange::Rename(name) => Ok(changes.rename(&view, fold(name))?),
        ViewChange::RenameColumn(from, to) => with_renamed_column(&view, from, to).map(|view| changes.put(view)),
        ViewChange::Unsupported => Ok::<_, EngineError>(()),
    };
    context.change(|writes, seen| writes.change_views(seen, change)).await?;
    Ok(Outcome::done(tag))
}

/// The view with another name of a column.
fn with_renamed_column(view: &ViewDef, from: &Ident, to: &Ident) -> Result<ViewDef, EngineError> {
    let (from, to) = (fold(from), fold(to));
    let mut view = view.clone();
    let Some(at) = view.columns.iter().position(|column| column.name == from) else {
        return Err(EngineError::new(SqlState::UndefinedColumn, format!("column \"{from}\" does not exist")));
    };
    if view.columns.iter().any(|column| column.name == to) {
        let message = format!("column \"{to}\" of relation \"{}\" already exists", view.name);
        return Err(EngineError::new(SqlState::DuplicateColumn, message));
    }
    view.columns[at] = ViewColumn { name: to, ..view.columns[at].clone() };
    Ok(view)
}
