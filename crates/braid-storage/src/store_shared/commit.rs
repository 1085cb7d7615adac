//! Commits: one at a time, each a new manifest, switched atomically.
//!
//! 1. Data files are written and synced before the commit lock is taken, or while it is held if another commit to the
//!    same table came first.
//! 2. Under the lock: the names of the new data files are made durable; the new manifest is written beside the old
//!    one and synced; it is renamed over the old one; the directory is synced. A crash before the renaming leaves the
//!    old state and some orphans; after it, the new state.
//! 3. Only then the catalog in memory is swapped, and the files that no manifest names any more are doomed.
//!
//! Steps 2 and 3 run in one blocking task, so that abandoning the future that waits for them cannot separate them.
//! New data files are spared before the renaming: should the process end its life in an orderly way in between, they
//! must not be deleted under a manifest that names them.
//!
//! If the disk fails between renaming and the last sync, a crash may leave either manifest. The store then keeps the
//! files of both, goes on answering queries from the old state, and refuses further commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::OwnedMutexGuard;

use super::StoreShared;
use crate::StoreError;
use crate::catalog::Catalog;
use crate::data_directory::SwitchError;
use crate::data_file::DataFile;

/// What the commit lock guards.
#[derive(Debug, Default)]
pub(crate) struct CommitState {
    /// Why no more commits are taken.
    halted: Option<String>,
}

/// The right to commit: the catalog changes only through it while it lives.
pub(crate) struct CommitLock {
    shared: Arc<StoreShared>,
    state: OwnedMutexGuard<CommitState>,
}

/// A state to switch to, and what it means for data files.
pub(crate) struct Commit {
    pub(crate) catalog: Catalog,
    /// Files it names that no manifest named before; written and synced.
    pub(crate) added: Vec<Arc<DataFile>>,
    /// Files it no longer names.
    pub(crate) removed: Vec<Arc<DataFile>>,
}

impl CommitLock {
    /// Waits until no other commit is going on.
    pub(crate) async fn acquire(shared: &Arc<StoreShared>) -> Result<Self, StoreError> {
        let state = Arc::clone(&shared.commits).lock_owned().await;
        match &state.halted {
            Some(reason) => Err(StoreError::Halted { reason: reason.clone() }),
            None => Ok(Self { shared: Arc::clone(shared), state }),
        }
    }

    /// The state to start from: the newest, for as long as the lock is held.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.shared.snapshot()
    }

    /// Makes `commit` durable and visible; returns the new state.
    pub(crate) async fn publish(self, commit: Commit) -> Result<Arc<Catalog>, StoreError> {
        let task = tokio::task::spawn_blocking(move || self.publish_blocking(commit));
        task.await.unwrap_or_else(|error| {
            let reason = error.to_string();
            // A blocking task that was cancelled has not begun.
            Err(if error.is_panic() { StoreError::Uncertain { reason } } else { StoreError::Stopped { reason } })
        })
    }

    fn publish_blocking(mut self, commit: Commit) -> Result<Arc<Catalog>, StoreError> {
        let Commit { catalog, added, removed } = commit;
        assert_eq!(catalog.sequence(), self.catalog().sequence() + 1, "a commit follows the newest state");
        let shared = &self.shared;
        if !added.is_empty() {
            shared.directory.sync_data_files()?;
        }
        let next_file_id = shared.next_file_id.load(Ordering::Relaxed);
        let next_table_id = shared.next_table_id.load(Ordering::Relaxed);
        let next_type_oid = shared.next_type_oid.load(Ordering::Relaxed);
        let bytes = catalog.manifest_bytes(next_file_id, next_table_id, next_type_oid);
        added.iter().for_each(|file| file.spare());
        match shared.directory.switch_manifest(&bytes) {
            Ok(()) => {}
            Err(SwitchError::NotSwitched(error)) => {
                added.iter().for_each(|file| file.doom());
                return Err(*error);
            }
            Err(SwitchError::Uncertain(error)) => {
                let reason = error.to_string();
                tracing::error!(reason, "a commit is in doubt; further commits are refused until a restart");
                self.state.halted = Some(reason.clone());
                return Err(StoreError::Uncertain { reason });
            }
        }
        // Before the state that names them is seen: who knows it must not bind labels of the state before.
        catalog.announce_types(&shared.snapshot());
        let catalog = Arc::new(catalog);
        *shared.catalog.write() = Arc::clone(&catalog);
        removed.iter().for_each(|file| file.doom());
        Ok(catalog)
    }
}
