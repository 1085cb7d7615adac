//! BEGIN, SET TRANSACTION, COMMIT, ROLLBACK and savepoints.

use sqlparser::ast::{Ident, Set, Statement, TransactionAccessMode, TransactionMode};

use crate::names::fold;
use crate::settings::Scope;
use crate::statement_context::{Characteristics, StatementContext};
use crate::transaction::{AccessMode, BlockEnd};
use crate::{EngineError, Outcome};

/// BEGIN and START TRANSACTION; `tag` says which.
pub(crate) fn begin(
    context: &StatementContext,
    modes: &[TransactionMode],
    tag: &'static str,
) -> Result<Outcome, EngineError> {
    context.begin_block(access_mode(modes).unwrap_or_else(|| context.default_access_mode()));
    for (name, value) in settings_of(modes) {
        context.assign_setting(name, Some(&value), Scope::Local)?;
    }
    Ok(Outcome::done(tag))
}

/// SET TRANSACTION.
pub(super) fn set_transaction(context: &StatementContext, modes: &[TransactionMode]) -> Result<(), EngineError> {
    for (name, value) in settings_of(modes) {
        if name == "transaction_isolation" {
            context.check_may_change_isolation(&value)?;
        }
        context.assign_setting(name, Some(&value), Scope::Local)?;
    }
    Ok(())
}

/// SET SESSION CHARACTERISTICS AS TRANSACTION.
pub(super) fn set_default_transaction(
    context: &StatementContext,
    modes: &[TransactionMode],
) -> Result<(), EngineError> {
    for (name, value) in settings_of(modes) {
        context.assign_setting(&format!("default_{name}"), Some(&value), Scope::Session)?;
    }
    Ok(())
}

/// `[NOT] DEFERRABLE` of a statement whose other modes are set.
pub(crate) fn set_deferrable(
    context: &StatementContext,
    statement: &Statement,
    is_deferrable: bool,
) -> Result<(), EngineError> {
    match statement {
        Statement::Set(Set::SetTransaction { session: true, .. }) => {
            let value = if is_deferrable { "on" } else { "off" };
            context.assign_setting("default_transaction_deferrable", Some(value), Scope::Session)
        }
        _ => context.set_deferrable(is_deferrable),
    }
}

/// Whether the next block begins where one ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// AND NO CHAIN, the default.
    No,
    /// AND CHAIN: with the characteristics of the one before.
    Yes,
}

impl Chain {
    /// From whether the statement says AND CHAIN.
    pub fn of(chain: bool) -> Self {
        if chain { Self::Yes } else { Self::No }
    }
}

/// COMMIT. Of a failed block it is a ROLLBACK, and says so.
pub(crate) async fn commit(context: &StatementContext, chain: Chain) -> Result<Outcome, EngineError> {
    let next = next_block(context, "COMMIT AND CHAIN", chain)?;
    let tag = match context.commit_block().await? {
        BlockEnd::RolledBack => "ROLLBACK",
        BlockEnd::Committed | BlockEnd::NoBlock => "COMMIT",
    };
    begin_again(context, next)?;
    Ok(Outcome::done(tag))
}

/// ROLLBACK.
pub(crate) fn roll_back(context: &StatementContext, chain: Chain) -> Result<Outcome, EngineError> {
    let next = next_block(context, "ROLLBACK AND CHAIN", chain)?;
    context.roll_back_block();
    begin_again(context, next)?;
    Ok(Outcome::done("ROLLBACK"))
}

/// SAVEPOINT.
pub(crate) fn savepoint(context: &StatementContext, name: &Ident) -> Result<Outcome, EngineError> {
    context.set_savepoint(fold(name))?;
    Ok(Outcome::done("SAVEPOINT"))
}

/// RELEASE SAVEPOINT.
pub(crate) fn release_savepoint(context: &StatementContext, name: &Ident) -> Result<Outcome, EngineError> {
    context.release_savepoint(&fold(name))?;
    Ok(Outcome::done("RELEASE"))
}

/// ROLLBACK TO SAVEPOINT.
pub(crate) fn roll_back_to_savepoint(context: &StatementContext, name: &Ident) -> Result<Outcome, EngineError> {
    context.roll_back_to_savepoint(&fold(name))?;
    Ok(Outcome::done("ROLLBACK"))
}

fn next_block(
    context: &StatementContext,
    statement: &str,
    chain: Chain,
) -> Result<Option<Characteristics>, EngineError> {
    if chain == Chain::Yes { context.characteristics(statement).map(Some) } else { Ok(None) }
}

fn begin_again(context: &StatementContext, block: Option<Characteristics>) -> Result<(), EngineError> {
    let Some(Characteristics { mode, settings }) = block else { return Ok(()) };
    context.begin_block(mode);
    settings.iter().try_for_each(|(name, value)| context.assign_setting(name, Some(value), Scope::Local))
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
