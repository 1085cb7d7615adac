//! A change of the types: a commit of its own, or a part of its transaction.

use braid_storage::TypeChanges;

use crate::EngineError;
use crate::interrupt::to_the_end;
use crate::statement_context::StatementContext;

/// Changes types as `change` says. By itself it is decided on the newest state, so that no others can come between.
///
/// # Errors
/// Those of `change`, and what commits fail with.
pub(super) async fn change_types<T: Send>(
    context: &StatementContext,
    change: impl FnOnce(&mut TypeChanges<'_>) -> Result<T, EngineError> + Send,
) -> Result<T, EngineError> {
    // What is created has an owner, once there are roles.
    let has_owners = !context.snapshot().access().is_empty();
    match context.is_in_transaction() || has_owners {
        true => context.change(|writes, view| writes.change_types(view, change)).await,
        false => to_the_end(context.database().store().change_types(change)).await,
    }
}
