//! LOCK TABLE: a table, or a view with all relations that it reads, until the end of the transaction.

use braid_base::TableId;
use braid_storage::Catalog;
use sqlparser::ast::ObjectName;

use crate::session_locks::{LockMode, LockTarget, Request};
use crate::statement::LockPatience;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, SqlState};

/// Locks relations, one behind the other. Those before the one that fails stay locked until the block, which has failed, ends.
///
/// # Errors
/// For what cannot be locked, for a lock that others exclude (55P03) if the statement does not wait, and as waits fail.
pub(crate) async fn lock(
    context: &StatementContext,
    names: &[ObjectName],
    mode: LockMode,
    patience: LockPatience,
) -> Result<(), EngineError> {
    for name in names {
        loop {
            let mark = context.locks().mark();
            let catalog = context.state_of_names();
            let Some(locked) = lockable(context, &catalog, name, mode)? else { break };
            for relation in &locked {
                lock_one(context, &catalog, *relation, mode, patience).await?;
            }
            // The name may mean something else since it was waited for.
            if lockable(context, &context.state_of_names(), name, mode)? == Some(locked) {
                break;
            }
            context.locks().roll_back_to(mark);
        }
    }
    Ok(())
}

async fn lock_one(
    context: &StatementContext,
    catalog: &Catalog,
    relation: TableId,
    mode: LockMode,
    patience: LockPatience,
) -> Result<(), EngineError> {
    let request = Request { target: LockTarget::Relation(relation), mode };
    if patience == LockPatience::Waits {
        return context.acquire(request).await;
    }
    match context.locks().try_acquire(request)? {
        true => Ok(()),
        false => {
            let name = catalog.by_id(relation).map(|version| version.def.name.as_str());
            let name = name.or_else(|| catalog.view_by_id(relation).map(|view| view.name.as_str())).unwrap_or_default();
            let message = format!("could not obtain lock on relation \"{name}\"");
            Err(EngineError::new(SqlState::LockNotAvailable, message))
        }
    }
}

/// Adds the relations that a view reads, directly or through others.
fn add_read(catalog: &Catalog, relation: TableId, locked: &mut Vec<TableId>) {
    let Some(view) = catalog.view_by_id(relation).filter(|view| !view.is_materialized()) else { return };
    for (read, _) in view.stored_sources() {
        let is_materialized = catalog.view_by_id(read).is_some_and(|view| view.is_materialized());
        if !is_materialized && !locked.contains(&read) && catalog.sequence_by_id(read).is_none() {
            locked.push(read);
            add_read(catalog, read, locked);
        }
    }
}

/// The relation of a name, and those that it reads; `None` for one of the system, of which there are no changes that a weak lock would keep out.
fn lockable(
    context: &StatementContext,
    catalog: &Catalog,
    name: &ObjectName,
    mode: LockMode,
) -> Result<Option<Vec<TableId>>, EngineError> {
    let (name, kind) = match named_table(context, catalog, name)? {
        Named::Table(def) => return Ok(Some(vec![def.id])),
        Named::View(view) if !view.is_materialized() => {
            let mut locked = vec![view.id];
            add_read(catalog, view.id, &mut locked);
            return Ok(Some(locked));
        }
        Named::View(view) => (view.name.clone(), "materialized views"),
        Named::Sequence(known) => (known.definition.name.clone(), "sequences"),
        Named::System(..) if !mode.is_strong() => return Ok(None),
        Named::System(name, _) => {
            let message = format!("LOCK TABLE of the system relation \"{name}\" in this mode is not supported");
            return Err(EngineError::unsupported(message));
        }
        Named::Index(name) => (name, "indexes"),
        missing @ (Named::Nothing(..) | Named::NoSchema(..)) => return missing.into_copied().map(|_| None),
    };
    Err(EngineError::new(SqlState::WrongObjectType, format!("cannot lock relation \"{name}\""))
        .with_detail(format!("This operation is not supported for {kind}.")))
}
