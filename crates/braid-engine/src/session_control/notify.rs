//! LISTEN, UNLISTEN and NOTIFY. They take effect when their transaction commits.

use sqlparser::ast::Ident;

use crate::names::fold;
use crate::notifications::ChannelChange;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome};

/// LISTEN.
pub(crate) fn listen(context: &StatementContext, channel: &Ident) -> Outcome {
    context.notifications().change(ChannelChange::Listen(fold(channel)));
    Outcome::done("LISTEN")
}

/// UNLISTEN, of all channels for `*`.
pub(crate) fn unlisten(context: &StatementContext, channel: &Ident) -> Outcome {
    let is_all = channel.quote_style.is_none() && channel.value == "*";
    let change = if is_all { ChannelChange::UnlistenAll } else { ChannelChange::Unlisten(fold(channel)) };
    context.notifications().change(change);
    Outcome::done("UNLISTEN")
}

/// NOTIFY.
///
/// # Errors
/// 22023 for a payload that is too long, and 54000 if the queue is full.
pub(crate) fn notify(
    context: &StatementContext,
    channel: &Ident,
    payload: Option<&str>,
) -> Result<Outcome, EngineError> {
    context.notifications().tell(&fold(channel), payload.unwrap_or_default())?;
    Ok(Outcome::done("NOTIFY"))
}
