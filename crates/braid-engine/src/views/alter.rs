//! ALTER VIEW: names of views and of their columns, options.
//!
//! Views that read a renamed one know it, and its columns, by what they are.

use braid_storage::{ViewChanges, ViewColumn, ViewDef};
use sqlparser::ast::{AlterTableOperation, Ident, RenameTableNameKind};

use super::drop::{Wanted, found};
use super::options::{with_options, without_options};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{AlterView, ViewChange};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, relocation};

/// Changes a view.
///
/// # Errors
/// For a view that does not exist, names that are taken, and other changes than of names and options (0A000).
pub(super) async fn alter_view(context: &StatementContext, alter: &AlterView) -> Result<Outcome, EngineError> {
    let (wanted, tag) = match alter.is_materialized {
        true => (Wanted::Materialized, "ALTER MATERIALIZED VIEW"),
        false => (Wanted::Plain, "ALTER VIEW"),
    };
    let is_of_both = matches!(alter.change, ViewChange::Rename(_) | ViewChange::RenameColumn(..));
    if matches!(alter.change, ViewChange::Unsupported) || alter.is_materialized && !is_of_both {
        let message = format!("this form of {tag} is not supported");
        return Err(EngineError::unsupported(message));
    }
    let snapshot = context.snapshot();
    // PostgreSQL gives no hint here.
    let found = found(context, &snapshot, &alter.name, wanted);
    let found = found.map_err(|error| match error.state() {
        SqlState::WrongObjectType => EngineError::new(SqlState::WrongObjectType, error.message()),
        _ => error,
    });
    let view = match found? {
        Ok(view) => view,
        Err((_, missing)) if alter.if_exists => {
            let missing = missing.replacen(wanted.shown(), "relation", 1);
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &missing));
            return Ok(Outcome::done(tag));
        }
        // PostgreSQL speaks of relations here.
        Err((state, missing)) => return Err(EngineError::new(state, missing.replacen(wanted.shown(), "relation", 1))),
    };
    change_view(context, &view, &alter.change).await?;
    Ok(Outcome::done(tag))
}

/// `ALTER TABLE` of a view, which PostgreSQL takes for an `ALTER VIEW`.
///
/// # Errors
/// For other actions than renaming (0A000).
pub(crate) async fn alter_as_table(
    context: &StatementContext,
    view: &ViewDef,
    actions: &[AlterTableOperation],
) -> Result<Outcome, EngineError> {
    match (view.is_materialized(), actions) {
        (_, [AlterTableOperation::RenameColumn { old_column_name: from, new_column_name: to }]) => {
            change_view(context, view, &ViewChange::RenameColumn(from.clone(), to.clone())).await?;
        }
        (_, [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) }])
            if let [part] = &name.0[..]
                && let Some(name) = part.as_ident() =>
        {
            change_view(context, view, &ViewChange::Rename(name.clone())).await?;
        }
        _ => return Err(EngineError::unsupported("this form of ALTER TABLE of a view is not supported")),
    }
    Ok(Outcome::done("ALTER TABLE"))
}

async fn change_view(context: &StatementContext, view: &ViewDef, change: &ViewChange) -> Result<(), EngineError> {
    match change {
        ViewChange::Rename(name) if view.is_materialized() => {
            return relocation::rename_materialized(context, view, fold(name)).await;
        }
        ViewChange::RenameColumn(from, to) if view.is_materialized() => {
            let renamed = with_renamed_column(view, from, to)?;
            return relocation::rename_materialized_column(context, renamed, (&fold(from), &fold(to))).await;
        }
        _ => {}
    }
    let change = |changes: &mut ViewChanges<'_>| match change {
        ViewChange::Set(written) => {
            let options = with_options(view, written)?;
            changes.put(ViewDef { options, ..view.clone() });
            Ok(())
        }
        ViewChange::Reset(names) => {
            let options = without_options(view, names)?;
            changes.put(ViewDef { options, ..view.clone() });
            Ok(())
        }
        ViewChange::Rename(name) => Ok(changes.rename(view, fold(name))?),
        ViewChange::RenameColumn(from, to) => with_renamed_column(view, from, to).map(|view| changes.put(view)),
        ViewChange::Unsupported => Ok::<_, EngineError>(()),
    };
    context.change(|writes, seen| writes.change_views(seen, change)).await
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
