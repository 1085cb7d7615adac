//! The beginning and the end of transactions: blocks, messages and savepoints.

use super::writes::isolation;
use super::{Message, MessageScope, StatementContext, access_mode_of};
use crate::clock::read_clock_us;
use crate::interrupt::to_the_end;
use crate::settings::{Scope, SettingValues};
use crate::transaction::{AccessMode, BlockEnd, SessionMark, TransactionMark, Work, needs_block};
use crate::{EngineError, SqlState, TransactionStatus};

/// What a block was begun with.
pub struct Characteristics {
    /// What its statements may do.
    pub mode: AccessMode,
    /// The settings that it has for itself, with their values.
    pub settings: Vec<(&'static str, String)>,
}

impl StatementContext {
    /// BEGIN.
    pub fn begin_block(&self, mode: AccessMode) {
        let mut state = self.shared.state.lock();
        // The block takes in what came before it in its message.
        if state.transaction.status() == TransactionStatus::Idle && state.message.is_none() {
            state.settings.begin();
        }
        state.transaction.begin(mode);
    }

    /// SET TRANSACTION READ ONLY.
    pub fn restrict_block_to_reads(&self) {
        self.shared.state.lock().transaction.restrict_to_reads();
    }

    /// SET TRANSACTION READ WRITE.
    ///
    /// # Errors
    /// In a block that only reads, and has (25001).
    pub fn allow_writes(&self) -> Result<(), EngineError> {
        self.shared.state.lock().transaction.allow_writes()
    }

    /// Checks that the block may still have another isolation level than its own.
    ///
    /// # Errors
    /// When a statement of it has read or written (25001).
    pub fn check_may_change_isolation(&self, level: &str) -> Result<(), EngineError> {
        let state = self.shared.state.lock();
        if !state.transaction.has_begun() || isolation(&state.settings).unwrap_or("read committed") == level {
            return Ok(());
        }
        let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
        Err(EngineError::new(SqlState::ActiveTransaction, message))
    }

    /// SET TRANSACTION [NOT] DEFERRABLE.
    ///
    /// # Errors
    /// In a savepoint, and when a statement of the block has read or written (25001).
    pub fn set_deferrable(&self, is_deferrable: bool) -> Result<(), EngineError> {
        let (has_begun, has_savepoints) = {
            let transaction = &self.shared.state.lock().transaction;
            (transaction.has_begun(), transaction.has_savepoints())
        };
        let message = match (has_savepoints, has_begun) {
            (true, _) => "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction",
            (false, true) => "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
            (false, false) => {
                let value = if is_deferrable { "on" } else { "off" };
                return self.assign_setting("transaction_deferrable", Some(value), Scope::Local);
            }
        };
        Err(EngineError::new(SqlState::ActiveTransaction, message))
    }

    /// COMMIT: makes what the transaction has changed durable and visible.
    ///
    /// # Errors
    /// Those of a commit. The transaction is rolled back then.
    pub async fn commit_block(&self) -> Result<BlockEnd, EngineError> {
        let (end, work) = self.shared.state.lock().transaction.commit();
        if let Err(error) = self.commit_work(work).await {
            self.end_block(BlockEnd::RolledBack);
            return Err(error);
        }
        Ok(self.end_block(end))
    }

    async fn commit_work(&self, work: Option<Work>) -> Result<(), EngineError> {
        let Some(mut work) = work else { return Ok(()) };
        work.check_deferred().await?;
        self.end_temporary(work.writes_mut())?;
        to_the_end(work.commit()).await
    }

    /// ROLLBACK.
    pub fn roll_back_block(&self) -> BlockEnd {
        let mut end = self.shared.state.lock().transaction.roll_back();
        if end == BlockEnd::NoBlock && self.shared.state.lock().message.is_some() {
            end = BlockEnd::RolledBack;
        }
        self.end_block(end)
    }

    /// What the end of a block does to the settings.
    fn end_block(&self, end: BlockEnd) -> BlockEnd {
        let mut state = self.shared.state.lock();
        match end {
            // Without a block it ends the transaction of the message.
            BlockEnd::NoBlock if state.message.is_none() => return end,
            BlockEnd::NoBlock | BlockEnd::Committed => {
                state.settings.commit();
                self.end_transaction(true);
            }
            BlockEnd::RolledBack => {
                state.settings.roll_back();
                self.end_transaction(false);
            }
        }
        state.divide_message();
        end
    }

    /// What AND CHAIN begins the next block with.
    ///
    /// # Errors
    /// Outside of a block (25P01).
    pub fn characteristics(&self, statement: &str) -> Result<Characteristics, EngineError> {
        let state = self.shared.state.lock();
        let mode = state.transaction.mode().ok_or_else(|| needs_block(statement))?;
        let given = |name: &'static str| state.settings.get(name).map(|value| (name, value.to_owned()));
        let settings = ["transaction_isolation", "transaction_read_only", "transaction_deferrable"]
            .into_iter()
            .filter_map(given)
            .collect();
        Ok(Characteristics { mode, settings })
    }

    /// SAVEPOINT.
    ///
    /// # Errors
    /// Outside of a block, and for too many.
    pub fn set_savepoint(&self, name: String) -> Result<(), EngineError> {
        let mut state = self.shared.state.lock();
        let (settings, session) = (state.settings.clone(), self.session_mark());
        state.transaction.set_savepoint(name, settings, session)
    }

    /// RELEASE SAVEPOINT.
    ///
    /// # Errors
    /// Outside of a block, and for a savepoint that does not exist.
    pub fn release_savepoint(&self, name: &str) -> Result<(), EngineError> {
        let mode = self.shared.state.lock().transaction.release_savepoint(name)?;
        self.show_mode(mode)
    }

    /// Keeps what the transaction has done since the mark. What it may do is what it was there, as after RELEASE SAVEPOINT.
    pub fn release_mark(&self, (mark, _, _): (TransactionMark, SettingValues, SessionMark)) -> Result<(), EngineError> {
        let mode = self.shared.state.lock().transaction.return_to_mode_of(&mark);
        self.show_mode(mode)
    }

    /// Lets the setting be the mode that a block has now, if that has changed.
    fn show_mode(&self, changed: Option<AccessMode>) -> Result<(), EngineError> {
        let Some(mode) = changed else { return Ok(()) };
        let is_read_only = if mode == AccessMode::ReadOnly { "on" } else { "off" };
        self.assign_setting("transaction_read_only", Some(is_read_only), Scope::Local)
    }

    /// ROLLBACK TO SAVEPOINT.
    ///
    /// # Errors
    /// As [`Self::release_savepoint`].
    pub fn roll_back_to_savepoint(&self, name: &str) -> Result<(), EngineError> {
        let mut state = self.shared.state.lock();
        let (settings, session) = state.transaction.roll_back_to(name)?;
        state.settings = settings;
        self.return_to_session_mark(session);
        Ok(())
    }

    fn session_mark(&self) -> SessionMark {
        SessionMark { told: self.notifications().mark(), locked: self.locks().mark() }
    }

    fn return_to_session_mark(&self, SessionMark { told, locked }: SessionMark) {
        self.notifications().roll_back_to(told);
        self.locks().roll_back_to(locked);
    }

    /// What the transaction is now, with its settings, what it is to tell others and what it has locked.
    pub fn mark_transaction(&self) -> (TransactionMark, SettingValues, SessionMark) {
        let state = self.shared.state.lock();
        (state.transaction.mark(), state.settings.clone(), self.session_mark())
    }

    /// Forgets what the transaction has done since the mark.
    pub fn return_to_mark(&self, (mark, settings, session): (TransactionMark, SettingValues, SessionMark)) {
        let mut state = self.shared.state.lock();
        state.transaction.return_to(mark);
        state.settings = settings;
        self.return_to_session_mark(session);
    }

    /// Checks that a statement called `what` may write.
    pub fn check_may_write(&self, what: &str) -> Result<(), EngineError> {
        let state = self.shared.state.lock();
        state.transaction.check_may_write(what, access_mode_of(&state.settings))
    }

    /// Puts an open transaction block into its failed state, and undoes what the message has changed when it ends.
    pub fn fail_transaction(&self) {
        let mut state = self.shared.state.lock();
        state.transaction.fail();
        if let Some(locked) = state.transaction.locked_before_failure() {
            self.locks().roll_back_to(locked);
        }
        if let Some(message) = &mut state.message {
            message.has_failed = true;
        }
    }

    /// The client has sent statements, or the next ones before the end of the same message.
    pub fn begin_message(&self, scope: MessageScope) {
        let mut state = self.shared.state.lock();
        let received_us = read_clock_us();
        match &mut state.message {
            Some(message) => (message.received_us, message.scope) = (received_us, scope),
            None => {
                if state.transaction.status() == TransactionStatus::Idle {
                    state.settings.begin();
                }
                state.message = Some(Message { scope, received_us, transaction_us: None, has_failed: false });
            }
        }
    }

    /// All that the client has sent together has been executed, or has failed. Outside of a block it is committed.
    ///
    /// # Errors
    /// Those of a commit.
    pub async fn end_message(&self) -> Result<(), EngineError> {
        let work = {
            let mut state = self.shared.state.lock();
            match state.transaction.status() {
                TransactionStatus::Idle if state.message.as_ref().is_some_and(|message| !message.has_failed) => {
                    state.transaction.commit().1
                }
                _ => None,
            }
        };
        let committed = self.commit_work(work).await;
        if committed.is_err() {
            self.fail_transaction();
        }
        self.close_message();
        committed
    }

    /// As [`Self::end_message`]; what is not committed is rolled back.
    pub fn close_message(&self) {
        let mut state = self.shared.state.lock();
        let Some(message) = state.message.take() else { return };
        if state.transaction.status() != TransactionStatus::Idle {
            return;
        }
        let has_failed = message.has_failed || state.transaction.has_writes();
        state.transaction.roll_back();
        if has_failed {
            state.settings.roll_back();
        } else {
            state.settings.commit();
        }
        self.end_transaction(!has_failed);
    }

    /// What the end of a transaction does beside its changes: what it tells others, and its locks.
    pub fn end_transaction(&self, is_committed: bool) {
        self.database().count_transaction(is_committed);
        match is_committed {
            true => self.notifications().commit(),
            false => self.notifications().roll_back(),
        }
        self.locks().end_transaction();
    }
}
