//! Commits: one state after the other, each a record in the log.
//!
//! 1. Data files are written and synced before the commit lock is taken, or while it is held if another commit to the
//!    same table came first.
//! 2. Under the lock a commit is put on top of the newest state, durable or not, and submitted.
//! 3. Without the lock it waits until its record is durable and its state visible ([`super::group_commit`]).
//!
//! Abandoning the future that waits leaves the commit where it is: it is made, or fails, with those beside it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{OwnedMutexGuard, oneshot};

use super::StoreShared;
use super::group_commit::Submission;
use crate::StoreError;
use crate::catalog::Catalog;
use crate::catalog_changes::record_between;
use crate::data_file::DataFile;
use crate::moved_rows::MovedChunks;
use crate::row_locks::LockOwner;

/// The right to commit: no commit is submitted but through it while it lives.
pub(crate) struct CommitLock {
    shared: Arc<StoreShared>,
    _guard: OwnedMutexGuard<()>,
    generation: u64,
    newest: Arc<Catalog>,
}

/// A state to switch to, and what it means for data files.
pub(crate) struct Commit {
    pub(crate) catalog: Catalog,
    /// Files it names that no state before named; written and synced.
    pub(crate) added: Vec<Arc<DataFile>>,
    /// Files it no longer names.
    pub(crate) removed: Vec<Arc<DataFile>>,
    /// Chunks whose rows it has written again.
    pub(crate) moved: Vec<MovedChunks>,
    /// The locks of its transaction: also if that does not wait for its end, they are held until then.
    pub(crate) locks: Option<Arc<LockOwner>>,
}

impl CommitLock {
    /// Waits until no other commit is being put on top of the newest state.
    pub(crate) async fn acquire(shared: &Arc<StoreShared>) -> Result<Self, StoreError> {
        let guard = Arc::clone(&shared.commits).lock_owned().await;
        let (generation, pending) = shared.group_commit.newest()?;
        // What is pending no more is visible, or was given up with its generation.
        let newest = pending.unwrap_or_else(|| shared.snapshot());
        Ok(Self { shared: Arc::clone(shared), _guard: guard, generation, newest })
    }

    /// The state to start from: the newest, for as long as the lock is held. It may not be durable yet.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.newest)
    }

    /// Does something while the state to start from is still the newest; `None` if it was given up. `work` waits for nothing.
    pub(crate) fn while_newest<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        self.shared.group_commit.in_generation(self.generation, work)
    }

    /// Makes `commit` durable and visible; returns the new state.
    pub(crate) async fn publish(self, commit: Commit) -> Result<Arc<Catalog>, StoreError> {
        let Commit { catalog, added, removed, moved, locks } = commit;
        let newest = &self.newest;
        assert_eq!(catalog.sequence(), newest.sequence() + 1, "a commit follows the newest state");
        let catalog = Arc::new(catalog);
        let record = record_between(newest, &catalog, self.shared.next_ids()).encode();
        let (done, answer) = oneshot::channel();
        self.shared.submit(Submission { record, catalog, added, removed, moved, _locks: locks, done }, self.generation);
        drop(self);
        answer.await.unwrap_or_else(|_| Err(StoreError::Uncertain { reason: "the log was given up".to_owned() }))
    }
}

impl StoreShared {
    /// The numbers that are given out next.
    pub(crate) fn next_ids(&self) -> crate::manifest::NextIds {
        crate::manifest::NextIds {
            file: self.next_file_id.load(Ordering::Relaxed),
            table: self.next_table_id.load(Ordering::Relaxed),
            type_oid: self.next_type_oid.load(Ordering::Relaxed),
        }
    }
}
