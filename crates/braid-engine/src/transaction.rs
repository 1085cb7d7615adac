//! Transaction blocks: BEGIN, COMMIT and ROLLBACK, while a transaction is one statement.
//!
//! Each statement is atomic and durable on its own. With READ COMMITTED each statement of a block reads the newest snapshot. With
//! REPEATABLE READ and SERIALIZABLE all of them read **one snapshot**, that of the first query. A statement that writes is refused
//! in a block (0A000), because a later ROLLBACK could not undo it.
//!
//! After an error, the block has failed: every statement is refused until the block ends (25P02), and COMMIT rolls back.

use std::sync::Arc;

use braid_storage::Catalog;

use crate::{EngineError, SqlState};

/// The transaction state of a session, as the letter of the protocol's ReadyForQuery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction block: `I`.
    Idle,
    /// In a block: `T`.
    InBlock,
    /// In a block in which a statement failed: `E`.
    Failed,
}

/// What the statements of a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessMode {
    /// Only read.
    ReadOnly,
    /// Read, and write where Braid can undo it.
    ReadWrite,
}

/// A session's transaction block, or its absence.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    block: Option<Block>,
}

#[derive(Debug)]
struct Block {
    /// The snapshot, taken at the first query.
    snapshot: Option<Arc<Catalog>>,
    mode: AccessMode,
    failed: bool,
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    /// No block was open.
    NoBlock,
    /// By COMMIT.
    Committed,
    /// By ROLLBACK, or by COMMIT after a failure.
    RolledBack,
}

impl Transaction {
    /// The transaction state.
    pub fn status(&self) -> TransactionStatus {
        match &self.block {
            None => TransactionStatus::Idle,
            Some(block) if block.failed => TransactionStatus::Failed,
            Some(_) => TransactionStatus::InBlock,
        }
    }

    /// BEGIN. Within a block it changes only the access mode, as in PostgreSQL, which warns.
    pub fn begin(&mut self, mode: AccessMode) {
        match &mut self.block {
            Some(_) if mode == AccessMode::ReadOnly => self.restrict_to_reads(),
            Some(_) => {}
            None => self.block = Some(Block { snapshot: None, mode, failed: false }),
        }
    }

    /// SET TRANSACTION READ ONLY. Without a block it does nothing.
    pub fn restrict_to_reads(&mut self) {
        if let Some(block) = &mut self.block {
            block.mode = AccessMode::ReadOnly;
        }
    }

    /// COMMIT.
    pub fn commit(&mut self) -> BlockEnd {
        match self.block.take() {
            None => BlockEnd::NoBlock,
            Some(block) if block.failed => BlockEnd::RolledBack,
            Some(_) => BlockEnd::Committed,
        }
    }

    /// ROLLBACK.
    pub fn roll_back(&mut self) -> BlockEnd {
        match self.block.take() {
            None => BlockEnd::NoBlock,
            Some(_) => BlockEnd::RolledBack,
        }
    }

    /// A statement failed.
    pub fn fail(&mut self) {
        if let Some(block) = &mut self.block {
            block.failed = true;
            block.snapshot = None;
        }
    }

    /// The snapshot to read: the block's, or `newest`.
    pub fn snapshot(&mut self, newest: impl FnOnce() -> Arc<Catalog>) -> Arc<Catalog> {
        match &mut self.block {
            None => newest(),
            Some(block) => block.snapshot.get_or_insert_with(newest).clone(),
        }
    }

    /// Whether a statement may run at all.
    pub fn check_not_failed(&self) -> Result<(), EngineError> {
        if self.status() == TransactionStatus::Failed {
            return Err(EngineError::new(
                SqlState::InFailedTransaction,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        Ok(())
    }

    /// Checks that a statement called `what` may write. `default` is the mode of new transactions.
    pub fn check_may_write(&self, what: &str, default: AccessMode) -> Result<(), EngineError> {
        if self.block.as_ref().map_or(default, |block| block.mode) == AccessMode::ReadOnly {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(EngineError::new(SqlState::ReadOnlyTransaction, message));
        }
        if self.block.is_some() {
            return Err(EngineError::unsupported(format!(
                "{what} inside a transaction block is not supported: each statement that writes is a transaction of its own"
            ))
            .with_hint("Use autocommit, or send the statement without BEGIN."));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_from_begin_to_its_end() {
        let mut transaction = Transaction::default();
        assert_eq!(transaction.status(), TransactionStatus::Idle);
        assert_eq!(transaction.commit(), BlockEnd::NoBlock);
        transaction.begin(AccessMode::ReadWrite);
        assert_eq!(transaction.status(), TransactionStatus::InBlock);
        assert_eq!(transaction.commit(), BlockEnd::Committed);
        transaction.begin(AccessMode::ReadWrite);
        assert_eq!(transaction.roll_back(), BlockEnd::RolledBack);
        assert_eq!(transaction.roll_back(), BlockEnd::NoBlock);
    }

    #[test]
    fn a_failed_block_only_ends() {
        let mut transaction = Transaction::default();
        transaction.fail();
        assert!(transaction.check_not_failed().is_ok(), "there is no block to fail");
        transaction.begin(AccessMode::ReadWrite);
        transaction.fail();
        assert_eq!(transaction.check_not_failed().unwrap_err().sqlstate(), "25P02");
        assert_eq!(transaction.commit(), BlockEnd::RolledBack);
        assert!(transaction.check_not_failed().is_ok());
    }

    #[test]
    fn writes_need_autocommit() {
        let mut transaction = Transaction::default();
        assert!(transaction.check_may_write("INSERT", AccessMode::ReadWrite).is_ok());
        assert_eq!(transaction.check_may_write("INSERT", AccessMode::ReadOnly).unwrap_err().sqlstate(), "25006");
        transaction.begin(AccessMode::ReadWrite);
        assert_eq!(transaction.check_may_write("INSERT", AccessMode::ReadWrite).unwrap_err().sqlstate(), "0A000");
        transaction.begin(AccessMode::ReadOnly);
        assert_eq!(transaction.check_may_write("INSERT", AccessMode::ReadWrite).unwrap_err().sqlstate(), "25006");
    }
}
