//! Locks of rows that a statement reads.

use std::sync::Arc;

use braid_base::TableId;
use braid_storage::{Locked, RowId, RowLockMode, RowLocking, RowState, SeenRows, TableVersion};

use super::StatementContext;
use crate::EngineError;

impl StatementContext {
    /// Locks rows until the end of the transaction. False if others have changed some of them: none is locked then.
    ///
    /// # Errors
    /// As [`braid_storage::WriteSet::lock_seen_rows`].
    pub async fn lock_rows(
        &self,
        version: &Arc<TableVersion>,
        rows: &SeenRows,
        locking: &RowLocking,
    ) -> Result<bool, EngineError> {
        let mut writes = self.take_writes();
        let locked = writes.lock_seen_rows(version, rows, locking).await;
        self.put_writes(writes);
        Ok(locked? == Locked::AsSeen)
    }

    /// Locks those of these rows that it can lock at once.
    ///
    /// # Errors
    /// As [`braid_storage::WriteSet::lock_free_rows`].
    pub async fn lock_free_rows(
        &self,
        version: &Arc<TableVersion>,
        rows: &[RowId],
        locking: &RowLocking,
    ) -> Result<Vec<RowState>, EngineError> {
        let mut writes = self.take_writes();
        let states = writes.lock_free_rows(version, rows, locking).await;
        self.put_writes(writes);
        Ok(states?)
    }

    /// The number of rows of a table that others hold.
    pub fn count_held_rows(&self, table: TableId, mode: RowLockMode) -> u64 {
        let mut writes = self.take_writes();
        let count = writes.count_held_rows(table, mode);
        self.put_writes(writes);
        count
    }
}
