//! Transactions: BEGIN, COMMIT, ROLLBACK and savepoints, as far as they concern one session.
//!
//! A transaction is a block, what a client sends in one message, or one statement. Its statements see committed tables with its own
//! changes on top ([`WriteSet`]). With READ COMMITTED each statement reads the newest committed state. With REPEATABLE READ and
//! SERIALIZABLE all of them read **one snapshot**, that of the first query. A serializable transaction that writes commits only if no
//! table that it has read was changed by others since its snapshot (optimistic validation: Kung and Robinson, TODS 1981), so that it
//! could as well have run at the moment of its commit.
//!
//! After an error, the block has failed: every statement is refused until the block ends (25P02) or goes back to a savepoint, and
//! COMMIT rolls back.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::TableId;
use braid_storage::{Catalog, CatalogSequence, SequenceScope, StoreError, WriteSet};

use crate::notifications::PendingMark;
use crate::settings::SettingValues;
use crate::{EngineError, SqlState};

/// Savepoints of a block at a time.
const SAVEPOINTS_MAX: usize = 10_000;

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
    /// Read and write.
    ReadWrite,
}

/// A session's transaction, and its block, if it is one.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    block: Option<Block>,
    /// The snapshot that all statements read, taken at the first query.
    snapshot: Option<Arc<Catalog>>,
    /// The tables that were read, of a serializable transaction.
    reads: BTreeSet<TableId>,
    writes: Option<OwnWrites>,
}

#[derive(Debug)]
struct Block {
    mode: AccessMode,
    failed: bool,
    /// Whether a statement of it has read or written: its characteristics are settled.
    has_begun: bool,
    /// Whether one of these could write: the block may have been restricted to reads since.
    could_write: bool,
    /// In the order in which they were set.
    savepoints: Vec<Savepoint>,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    writes: Option<WriteSet>,
    settings: SettingValues,
    mode: AccessMode,
    session: SessionMark,
}

/// What a session had to tell, and had locked, in its transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionMark {
    pub told: PendingMark,
    pub locked: usize,
}

/// What a transaction can return to without a savepoint.
#[derive(Debug)]
pub(crate) struct TransactionMark {
    writes: Option<WriteSet>,
    mode: Option<AccessMode>,
}

/// What the transaction has changed.
#[derive(Debug)]
struct OwnWrites {
    set: WriteSet,
    view: Option<View>,
}

/// What the statements see of a committed state.
#[derive(Debug)]
struct View {
    base: Arc<Catalog>,
    shown: Arc<Catalog>,
}

/// What a transaction leaves to be committed.
#[derive(Debug)]
pub(crate) struct Work {
    writes: WriteSet,
    snapshot: Option<Arc<Catalog>>,
    reads: BTreeSet<TableId>,
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

impl Work {
    /// What it changes.
    pub fn writes_mut(&mut self) -> &mut WriteSet {
        &mut self.writes
    }

    /// Compares what was left for the end of the transaction: foreign keys that are deferred.
    ///
    /// # Errors
    /// For what is violated (23503).
    pub async fn check_deferred(&mut self) -> Result<(), EngineError> {
        let snapshot = self.snapshot.clone();
        Ok(self.writes.check_deferred(true, snapshot.as_ref()).await?)
    }

    /// Makes it durable and visible.
    ///
    /// # Errors
    /// 40001 if others have changed what the transaction has read or changed, and those of a commit.
    pub async fn commit(self) -> Result<(), EngineError> {
        let Self { writes, snapshot, reads } = self;
        let check = move |newest: &Catalog| match is_changed(&reads, snapshot.as_deref(), newest) {
            true => Err(StoreError::ReadsChanged),
            false => Ok(()),
        };
        writes.commit_checked(check).await?;
        Ok(())
    }
}

/// Whether tables that were read of a snapshot have been changed since.
fn is_changed(reads: &BTreeSet<TableId>, snapshot: Option<&Catalog>, newest: &Catalog) -> bool {
    let sequence = |catalog: &Catalog, id| catalog.by_id(id).map(|version| version.content);
    snapshot.is_some_and(|snapshot| reads.iter().any(|id| sequence(snapshot, *id) != sequence(newest, *id)))
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

    /// The access mode of the block; `None` without one.
    pub fn mode(&self) -> Option<AccessMode> {
        self.block.as_ref().map(|block| block.mode)
    }

    /// BEGIN. Within a block it changes only the access mode, as in PostgreSQL, which warns.
    pub fn begin(&mut self, mode: AccessMode) {
        match &mut self.block {
            Some(_) if mode == AccessMode::ReadOnly => self.restrict_to_reads(),
            Some(_) => {}
            None => {
                let (failed, has_begun, could_write, savepoints) = (false, false, false, Vec::new());
                self.block = Some(Block { mode, failed, has_begun, could_write, savepoints });
            }
        }
    }

    /// SET TRANSACTION READ ONLY. Without a block it does nothing.
    pub fn restrict_to_reads(&mut self) {
        if let Some(block) = &mut self.block {
            block.mode = AccessMode::ReadOnly;
        }
    }

    /// SET TRANSACTION READ WRITE. Without a block it does nothing.
    ///
    /// # Errors
    /// In a block that only reads, and has (25001).
    pub fn allow_writes(&mut self) -> Result<(), EngineError> {
        match &mut self.block {
            Some(Block { mode: AccessMode::ReadOnly, has_begun: true, .. }) => {
                let message = "transaction read-write mode must be set before any query";
                Err(EngineError::new(SqlState::ActiveTransaction, message))
            }
            Some(block) => {
                let is_within = block.savepoints.last().is_some_and(|point| point.mode == AccessMode::ReadOnly);
                if block.mode == AccessMode::ReadOnly && is_within {
                    let message = "cannot set transaction read-write mode inside a read-only transaction";
                    return Err(EngineError::new(SqlState::ActiveTransaction, message));
                }
                block.mode = AccessMode::ReadWrite;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A statement that reads or writes begins.
    pub fn note_begun(&mut self) {
        if let Some(block) = &mut self.block {
            block.has_begun = true;
            block.could_write |= block.mode == AccessMode::ReadWrite;
        }
    }

    /// Whether the block has savepoints.
    pub fn has_savepoints(&self) -> bool {
        self.block.as_ref().is_some_and(|block| !block.savepoints.is_empty())
    }

    /// Whether a statement of the block has read or written.
    pub fn has_begun(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.has_begun)
    }

    /// Ends the transaction. Returns how its block ended, and what is to be committed.
    pub fn commit(&mut self) -> (BlockEnd, Option<Work>) {
        let ended = std::mem::take(self);
        let end = match &ended.block {
            None => BlockEnd::NoBlock,
            Some(block) if block.failed => return (BlockEnd::RolledBack, None),
            Some(_) => BlockEnd::Committed,
        };
        let Self { snapshot, mut reads, writes, .. } = ended;
        // What it has changed is temporary: it comes before all that it has not seen.
        if ended.block.as_ref().is_some_and(|block| !block.could_write) {
            reads.clear();
        }
        let written = writes.map(|own| own.set).filter(|set| !set.is_empty() || set.has_locked_rows());
        (end, written.map(|writes| Work { writes, snapshot, reads }))
    }

    /// Ends the transaction, and forgets what it has changed.
    pub fn roll_back(&mut self) -> BlockEnd {
        match std::mem::take(self).block {
            None => BlockEnd::NoBlock,
            Some(_) => BlockEnd::RolledBack,
        }
    }

    /// A statement failed. What it and those before it have changed is gone, but for savepoints.
    pub fn fail(&mut self) {
        self.writes = None;
        if let Some(block) = &mut self.block {
            block.failed = true;
        }
    }

    /// How much a block had locked that can be gone back to after a failure; `None` without a block.
    pub fn locked_before_failure(&self) -> Option<usize> {
        self.block.as_ref().map(|block| block.savepoints.last().map_or(0, |savepoint| savepoint.session.locked))
    }

    /// SAVEPOINT.
    ///
    /// # Errors
    /// Outside of a block (25P01), and for too many (54000).
    pub fn set_savepoint(
        &mut self,
        name: String,
        settings: SettingValues,
        session: SessionMark,
    ) -> Result<(), EngineError> {
        let writes = self.writes.as_ref().map(|own| own.set.clone());
        let block = self.block.as_mut().ok_or_else(|| needs_block("SAVEPOINT"))?;
        if block.savepoints.len() >= SAVEPOINTS_MAX {
            let message = format!("a transaction block has at most {SAVEPOINTS_MAX} savepoints");
            return Err(EngineError::new(SqlState::ProgramLimitExceeded, message));
        }
        let mode = block.mode;
        block.savepoints.push(Savepoint { name, writes, settings, mode, session });
        Ok(())
    }

    /// RELEASE SAVEPOINT: forgets it and those after it. What the block may do is what it was there; returns that, if it has changed.
    ///
    /// # Errors
    /// Outside of a block (25P01), and for a savepoint that does not exist (3B001).
    pub fn release_savepoint(&mut self, name: &str) -> Result<Option<AccessMode>, EngineError> {
        let (block, at) = self.savepoint(name, "RELEASE SAVEPOINT")?;
        let mode = block.savepoints[at].mode;
        block.savepoints.truncate(at);
        let before = std::mem::replace(&mut block.mode, mode);
        Ok((before != mode).then_some(mode))
    }

    /// ROLLBACK TO SAVEPOINT: back to what it was, also from a failure. Returns the settings then, and what the session had done.
    ///
    /// # Errors
    /// As [`Self::release_savepoint`].
    pub fn roll_back_to(&mut self, name: &str) -> Result<(SettingValues, SessionMark), EngineError> {
        let (block, at) = self.savepoint(name, "ROLLBACK TO SAVEPOINT")?;
        block.savepoints.truncate(at + 1);
        block.failed = false;
        let Savepoint { writes, settings, mode, session, .. } = &block.savepoints[at];
        block.mode = *mode;
        let (writes, settings, session) = (writes.clone(), settings.clone(), *session);
        writes.iter().for_each(WriteSet::announce_new_types);
        self.writes = writes.map(|set| OwnWrites { set, view: None });
        Ok((settings, session))
    }

    /// What the transaction is now.
    pub fn mark(&self) -> TransactionMark {
        TransactionMark { writes: self.writes.as_ref().map(|own| own.set.clone()), mode: self.mode() }
    }

    /// What the block may do is what it was at the mark; returns that, if it has changed.
    pub fn return_to_mode_of(&mut self, mark: &TransactionMark) -> Option<AccessMode> {
        let (block, mode) = (self.block.as_mut()?, mark.mode?);
        let before = std::mem::replace(&mut block.mode, mode);
        (before != mode).then_some(mode)
    }

    /// Forgets what was changed since the mark.
    pub fn return_to(&mut self, mark: TransactionMark) {
        let TransactionMark { writes, mode } = mark;
        writes.iter().for_each(WriteSet::announce_new_types);
        self.writes = writes.map(|set| OwnWrites { set, view: None });
        if let (Some(block), Some(mode)) = (&mut self.block, mode) {
            block.mode = mode;
        }
    }

    /// The newest savepoint of a name.
    fn savepoint(&mut self, name: &str, statement: &str) -> Result<(&mut Block, usize), EngineError> {
        let block = self.block.as_mut().ok_or_else(|| needs_block(statement))?;
        match block.savepoints.iter().rposition(|savepoint| savepoint.name == name) {
            Some(at) => Ok((block, at)),
            None => {
                let message = format!("savepoint \"{name}\" does not exist");
                Err(EngineError::new(SqlState::InvalidSavepointSpecification, message))
            }
        }
    }

    /// The snapshot that all statements read: that of the first query, which reads `newest`.
    pub fn fixed_snapshot(&mut self, newest: impl FnOnce() -> Arc<Catalog>) -> Arc<Catalog> {
        self.snapshot.get_or_insert_with(newest).clone()
    }

    /// The snapshot that all statements read, if the first query has taken it.
    pub fn known_snapshot(&self) -> Option<Arc<Catalog>> {
        self.snapshot.clone()
    }

    /// What statements see of a committed state.
    pub fn view(&mut self, base: Arc<Catalog>) -> Arc<Catalog> {
        let Some(OwnWrites { set, view }) = self.writes.as_mut().filter(|own| !own.set.is_empty()) else { return base };
        match view {
            Some(View { base: known, shown }) if Arc::ptr_eq(known, &base) => shown.clone(),
            view => {
                let shown = set.view(&base);
                *view = Some(View { base, shown: shown.clone() });
                shown
            }
        }
    }

    /// Notes tables that a serializable transaction reads.
    pub fn note_reads(&mut self, tables: impl IntoIterator<Item = TableId>) {
        self.reads.extend(tables);
    }

    /// Whether it could not commit, as others have changed what it has read.
    pub fn has_changed_reads(&self, newest: &Catalog) -> bool {
        is_changed(&self.reads, self.snapshot.as_deref(), newest)
    }

    /// Whether something was changed.
    pub fn has_writes(&self) -> bool {
        self.writes.as_ref().is_some_and(|own| !own.set.is_empty())
    }

    /// Whether rows were added that no statement sees before [`WriteSet::settle`].
    pub fn is_unsettled(&self) -> bool {
        self.writes.as_ref().is_some_and(|own| own.set.is_unsettled())
    }

    /// Whether types were renamed: no further statement of the transaction would see their names.
    pub fn renames_types(&self) -> bool {
        self.writes.as_ref().is_some_and(|own| own.set.renames_types())
    }

    /// A sequence as the transaction sees it; `None` if it has changed nothing.
    pub fn sequence(&self, committed: &Catalog, id: TableId) -> Option<Option<(CatalogSequence, SequenceScope)>> {
        self.writes.as_ref().map(|own| own.set.sequence(committed, id))
    }

    /// Takes the changes out, to make more; `None` if there are none.
    pub fn take_writes(&mut self) -> Option<WriteSet> {
        self.writes.take().map(|own| own.set)
    }

    /// Puts changes in the place of those taken.
    pub fn put_writes(&mut self, set: WriteSet) {
        self.writes = Some(OwnWrites { set, view: None });
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
        match self.mode().unwrap_or(default) {
            AccessMode::ReadWrite => Ok(()),
            AccessMode::ReadOnly => {
                let message = format!("cannot execute {what} in a read-only transaction");
                Err(EngineError::new(SqlState::ReadOnlyTransaction, message))
            }
        }
    }
}

/// The error of a statement that is only for transaction blocks.
pub(crate) fn needs_block(statement: &str) -> EngineError {
    let message = format!("{statement} can only be used in transaction blocks");
    EngineError::new(SqlState::NoActiveTransaction, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_from_begin_to_its_end() {
        let mut transaction = Transaction::default();
        assert_eq!(transaction.status(), TransactionStatus::Idle);
        assert_eq!(transaction.commit().0, BlockEnd::NoBlock);
        transaction.begin(AccessMode::ReadWrite);
        assert_eq!(transaction.status(), TransactionStatus::InBlock);
        assert_eq!(transaction.commit().0, BlockEnd::Committed);
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
        assert_eq!(transaction.commit().0, BlockEnd::RolledBack);
        assert!(transaction.check_not_failed().is_ok());
    }

    #[test]
    fn only_what_may_write_writes() {
        let mut transaction = Transaction::default();
        assert!(transaction.check_may_write("INSERT", AccessMode::ReadWrite).is_ok());
        assert_eq!(transaction.check_may_write("INSERT", AccessMode::ReadOnly).unwrap_err().sqlstate(), "25006");
        transaction.begin(AccessMode::ReadWrite);
        assert!(transaction.check_may_write("INSERT", AccessMode::ReadOnly).is_ok());
        transaction.begin(AccessMode::ReadOnly);
        assert_eq!(transaction.check_may_write("INSERT", AccessMode::ReadWrite).unwrap_err().sqlstate(), "25006");
    }

    #[test]
    fn savepoints_are_those_of_the_newest_of_a_name() {
        let mut transaction = Transaction::default();
        let settings = SettingValues::default();
        assert_eq!(
            transaction.set_savepoint("a".into(), settings.clone(), SessionMark::default()).unwrap_err().sqlstate(),
            "25P01"
        );
        transaction.begin(AccessMode::ReadWrite);
        for name in ["a", "b", "a"] {
            transaction.set_savepoint(name.into(), settings.clone(), SessionMark::default()).unwrap();
        }
        transaction.fail();
        assert_eq!(transaction.roll_back_to("c").unwrap_err().sqlstate(), "3B001");
        transaction.roll_back_to("a").unwrap();
        assert_eq!(transaction.status(), TransactionStatus::InBlock);
        transaction.release_savepoint("a").unwrap();
        transaction.release_savepoint("a").unwrap();
        assert_eq!(transaction.release_savepoint("b").unwrap_err().sqlstate(), "3B001");
    }
}
