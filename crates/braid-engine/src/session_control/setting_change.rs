//! One setting to a new value, or to its default. Most values are the session's; the scan policy is the whole server's.

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;

use crate::settings::{Definition, Domain, Scope, definition};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// Sets one setting; `None` for its default.
pub(crate) fn assign(
    context: &StatementContext,
    name: &str,
    value: Option<&str>,
    scope: Scope,
) -> Result<(), EngineError> {
    let definition = definition(name)?;
    let Some(value) = value else { return reset_one(context, definition) };
    let canonical = definition.canonical(value)?;
    match definition.domain {
        Domain::ScanPolicy => return set_policy(context, &canonical),
        Domain::Bytes => {
            let limit = context.database().config().total_memory;
            if canonical.parse().is_ok_and(|size: ByteSize| size > limit) {
                let message = format!("{} cannot exceed the total budget of all queries, {limit}", definition.name);
                return Err(EngineError::new(SqlState::InvalidParameterValue, message));
            }
        }
        _ => {}
    }
    context.change_settings(|settings| settings.set(definition.name, canonical, scope));
    Ok(())
}

/// Sets the scan policy of the buffer, which applies to all sessions.
fn set_policy(context: &StatementContext, policy: &str) -> Result<(), EngineError> {
    let policy: ScanPolicy = policy
        .parse()
        .map_err(|_| EngineError::internal(format!("{policy} is a valid scan policy but does not parse")))?;
    context.database().buffer().set_policy(policy);
    Ok(())
}

/// Resets one setting to its default.
pub(super) fn reset_one(context: &StatementContext, definition: &'static Definition) -> Result<(), EngineError> {
    match definition.domain {
        Domain::Fixed => return Err(definition.cannot_be_changed()),
        Domain::ScanPolicy => context.database().buffer().set_policy(context.database().config().policy),
        _ => context.change_settings(|settings| settings.reset(definition.name)),
    }
    Ok(())
}
