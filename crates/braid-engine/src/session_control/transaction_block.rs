//! BEGIN, SET TRANSACTION, COMMIT and ROLLBACK.

use sqlparser::ast::{TransactionAccessMode, TransactionMode};

use super::setting_change::assign;
use crate::settings::Scope;
use crate::statement_context::StatementContext;
use crate::transaction::{AccessMode, BlockEnd, Transaction};
use crate::{EngineError, Outcome};

/// BEGIN and START TRANSACTION; `tag` says which.
pub(crate) fn begin(
    context: &StatementContext,
    modes: &[TransactionMode],
    tag: &'static str,
) -> Result<Outcome, EngineError> {
    context.begin_block(access_mode(modes).unwrap_or_else(|| context.default_access_mode()));
    for (name, value) in settings_of(modes) {
        assign(context, name, Some(&value), Scope::Local)?;
    }
    Ok(Outcome::done(tag))
}

/// SET TRANSACTION.
pub(super) fn set_transaction(context: &StatementContext, modes: &[TransactionMode]) -> Result<(), EngineError> {
    for (name, value) in settings_of(modes) {
        assign(context, name, Some(&value), Scope::Local)?;
    }
    if access_mode(modes) == Some(AccessMode::ReadOnly) {
        context.restrict_block_to_reads();
    }
    Ok(())
}

/// SET SESSION CHARACTERISTICS AS TRANSACTION.
pub(super) fn set_default_transaction(
    context: &StatementContext,
    modes: &[TransactionMode],
) -> Result<(), EngineError> {
    for (name, value) in settings_of(modes) {
        assign(context, &format!("default_{name}"), Some(&value), Scope::Session)?;
    }
    Ok(())
}

/// COMMIT. Of a failed block it is a ROLLBACK, and says so.
pub(crate) fn commit(context: &StatementContext) -> Outcome {
    match context.end_block(Transaction::commit) {
        BlockEnd::RolledBack => Outcome::done("ROLLBACK"),
        BlockEnd::Committed | BlockEnd::NoBlock => Outcome::done("COMMIT"),
    }
}

/// ROLLBACK.
pub(crate) fn roll_back(context: &StatementContext) -> Outcome {
    context.end_block(Transaction::roll_back);
    Outcome::done("ROLLBACK")
}

fn settings_of(modes: &[TransactionMode]) -> Vec<(&'static str, String)> {
    let setting = |mode: &TransactionMode| match mode {
        TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => ("transaction_read_only", "on".to_owned()),
        TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => ("transaction_read_only", "off".to_owned()),
        TransactionMode::IsolationLevel(level) => ("transaction_isolation", level.to_string().to_lowercase()),
    };
    modes.iter().map(setting).collect()
}

/// The last access mode among the modes of a statement.
fn access_mode(modes: &[TransactionMode]) -> Option<AccessMode> {
    modes.iter().rev().find_map(|mode| match mode {
        TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => Some(AccessMode::ReadOnly),
        TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => Some(AccessMode::ReadWrite),
        TransactionMode::IsolationLevel(_) => None,
    })
}
