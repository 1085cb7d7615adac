//! Warnings of statements that mean nothing where the session stands: BEGIN in a block, COMMIT without one, SET LOCAL outside.

use sqlparser::ast::{ContextModifier, Set, Statement as S};

use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::{SqlState, Statement, TransactionStatus};

/// Warns of what a statement that controls its session is about to do in vain.
pub(crate) fn warn_of_block(context: &StatementContext, statement: &Statement, command: &S) {
    let is_in_block = context.transaction_status() != TransactionStatus::Idle;
    let warning = match command {
        S::StartTransaction { .. } if is_in_block => {
            Some(Notice::warning(SqlState::ActiveTransaction, "there is already a transaction in progress"))
        }
        S::Commit { chain: false, .. } | S::Rollback { chain: false, savepoint: None } if !is_in_block => {
            Some(Notice::warning(SqlState::NoActiveTransaction, "there is no transaction in progress"))
        }
        // Statements that were sent together are a block, as far as what they set is concerned.
        S::Set(set) if !is_in_block && !statement.is_among_others() => name_of_local(set).map(|name| {
            Notice::warning(SqlState::NoActiveTransaction, format!("{name} can only be used in transaction blocks"))
        }),
        _ => None,
    };
    if let Some(warning) = warning {
        context.raise(warning);
    }
}

/// The name of a SET that lasts until the end of its block; `None` for others.
fn name_of_local(set: &Set) -> Option<&'static str> {
    match set {
        Set::SingleAssignment { scope: Some(ContextModifier::Local), .. } | Set::SetTimeZone { local: true, .. } => {
            Some("SET LOCAL")
        }
        Set::SetTransaction { session: false, .. } => Some("SET TRANSACTION"),
        _ => None,
    }
}
