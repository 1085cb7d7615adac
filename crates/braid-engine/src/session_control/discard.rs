//! DISCARD and DEALLOCATE: what a session forgets.

use sqlparser::ast::DiscardObject;

use crate::notifications::ChannelChange;
use crate::settings::{Scope, SettingValues};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, Statement, TransactionStatus};

/// DISCARD. Plans are the server's.
///
/// # Errors
/// 25001 for `DISCARD ALL` within a transaction block.
pub(crate) async fn discard(
    context: &StatementContext,
    statement: &Statement,
    what: &DiscardObject,
) -> Result<Outcome, EngineError> {
    match what {
        DiscardObject::ALL => discard_all(context, statement).await,
        DiscardObject::PLANS => Ok(Outcome::done("DISCARD PLANS")),
        DiscardObject::SEQUENCES => {
            context.sequences().forget();
            Ok(Outcome::done("DISCARD SEQUENCES"))
        }
        DiscardObject::TEMP => {
            context.drop_temporary().await?;
            Ok(Outcome::done("DISCARD TEMP"))
        }
    }
}

async fn discard_all(context: &StatementContext, statement: &Statement) -> Result<Outcome, EngineError> {
    let outside = |place: &str| {
        let message = format!("DISCARD ALL cannot {place}");
        Err(EngineError::new(SqlState::ActiveTransaction, message))
    };
    if context.transaction_status() != TransactionStatus::Idle {
        return outside("run inside a transaction block");
    }
    if statement.is_among_others() {
        return outside("be executed within a pipeline");
    }
    context.drop_temporary().await?;
    context.authorize_session(None, Scope::Session)?;
    context.change_settings(SettingValues::reset_all);
    context.named_statements().clear();
    context.sequences().forget();
    context.notifications().change(ChannelChange::UnlistenAll);
    context.locks().unlock_all();
    Ok(Outcome::done("DISCARD ALL"))
}

/// DEALLOCATE; of all statements without a name.
///
/// # Errors
/// 26000 if there is no statement of this name.
pub(crate) fn deallocate(context: &StatementContext, name: Option<&str>) -> Result<Outcome, EngineError> {
    match name {
        Some(name) => {
            context.named_statements().remove(name)?;
            Ok(Outcome::done("DEALLOCATE"))
        }
        None => {
            context.named_statements().clear();
            Ok(Outcome::done("DEALLOCATE ALL"))
        }
    }
}
