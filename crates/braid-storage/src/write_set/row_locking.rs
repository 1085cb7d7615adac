//! Locks of rows that a statement has seen: those that it is about to delete, and those of SELECT … FOR UPDATE.
//!
//! A row is locked under the commit lock, together with the check that the newest state still has it (`row_locks.rs`, rule 2). A statement
//! that wants a row to keep its keys locks these besides, once for each key that foreign keys refer to: no other transaction adds
//! referencing rows before this one ends.

use std::sync::Arc;

use braid_base::{ChunkId, TableId};
use futures::future::BoxFuture;

use super::WriteSet;
use super::references::ReferenceKeys;
use crate::references::Reference;
use crate::row_locks::{KeyLock, LockOwner, Locked, RowLockMode};
use crate::store_shared::CommitLock;
use crate::{DeletedRows, RowDeletes, RowId, StoreError, TableVersion};

/// Locks that a statement wants.
#[derive(Clone, Debug)]
pub struct RowLocking {
    /// What the rows are locked for.
    pub mode: RowLockMode,
    /// The foreign keys that no rows shall be added to, if they refer to the locked ones.
    pub references: Vec<Reference>,
    /// Whether it fails at a lock of another transaction, rather than to wait for it.
    pub fails_if_held: bool,
}

/// What became of a row that was to be locked if it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// It is locked.
    Locked,
    /// Another transaction holds it, or a key of it.
    Held,
    /// Others have deleted or replaced it since the statement has seen it.
    Changed,
}

impl WriteSet {
    /// Locks committed rows of a table, which a statement has seen and is about to delete, until this write set and its clones are
    /// gone. Waits while other transactions hold some of them.
    ///
    /// # Errors
    /// [`StoreError::Deadlock`], and [`StoreError::UnknownTable`] if the table was dropped.
    pub fn lock_rows<'a>(
        &'a mut self,
        table: TableId,
        rows: &'a RowDeletes,
    ) -> BoxFuture<'a, Result<Locked, StoreError>> {
        Box::pin(self.lock_in_mode((RowLockMode::Deletion, false), table, rows))
    }

    /// As [`Self::lock_rows`], rows of this version that the statement is not about to delete.
    ///
    /// # Errors
    /// The same, [`StoreError::LockNotAvailable`], and what reading chunks fails with.
    pub fn lock_seen_rows<'a>(
        &'a mut self,
        version: &'a Arc<TableVersion>,
        rows: &'a RowDeletes,
        locking: &'a RowLocking,
    ) -> BoxFuture<'a, Result<Locked, StoreError>> {
        Box::pin(async move {
            let RowLocking { mode, references, fails_if_held } = locking;
            if self.lock_in_mode((*mode, *fails_if_held), version.def.id, rows).await? == Locked::Changed {
                return Ok(Locked::Changed);
            }
            let id_of = |(chunk, rows): (&ChunkId, &DeletedRows)| {
                let chunk = *chunk;
                rows.iter().map(|row| RowId { chunk, row }).collect::<Vec<_>>()
            };
            let ids: Vec<RowId> = rows.iter().flat_map(id_of).collect();
            for reference in each_key(references) {
                let keys = self.keys_of_rows(version, &ids, reference).await?;
                let owner = self.lock_owner();
                while let Err(holder) = owner.try_lock_keys(KeyLock::Removed, &keys.lock_id(), &keys.keys) {
                    if *fails_if_held {
                        return Err(StoreError::LockNotAvailable { table: version.def.name.clone() });
                    }
                    owner.wait_for(holder).await?;
                }
            }
            Ok(Locked::AsSeen)
        })
    }

    /// Locks those of these rows that it can lock at once, and says which.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`] if the table was dropped, and what reading chunks fails with.
    pub fn lock_free_rows<'a>(
        &'a mut self,
        version: &'a Arc<TableVersion>,
        rows: &'a [RowId],
        locking: &'a RowLocking,
    ) -> BoxFuture<'a, Result<Vec<RowState>, StoreError>> {
        Box::pin(async move {
            let (table, owner) = (version.def.id, self.lock_owner());
            let mut keys = Vec::new();
            for reference in each_key(&locking.references) {
                let mut of_rows = Vec::with_capacity(rows.len());
                for row in rows {
                    of_rows.push(self.keys_of_rows(version, std::slice::from_ref(row), reference).await?);
                }
                keys.push(of_rows);
            }
            let lock = CommitLock::acquire(&self.shared).await?;
            let newest = lock.catalog();
            let unknown = || StoreError::UnknownTable { table: table.to_string() };
            let newest = newest.by_id(table).ok_or_else(unknown)?;
            let row_count_of = |row: &RowId| {
                let at = newest.chunks.binary_search_by_key(&row.chunk, |chunk| chunk.id).ok()?;
                let chunk = &newest.chunks[at];
                let is_gone = chunk.deleted.as_ref().is_some_and(|deleted| deleted.contains(row.row));
                (!is_gone).then_some(chunk.row_count)
            };
            // Rows without keys are locked together.
            let mut wanted = RowDeletes::new();
            for row in rows.iter().filter(|_| keys.is_empty()) {
                if let Some(row_count) = row_count_of(row) {
                    wanted.entry(row.chunk).or_insert_with(|| DeletedRows::none(row_count)).insert(row.row);
                }
            }
            let free = owner.lock_free(locking.mode, table, &wanted);
            let state_of = |(at, row): (usize, &RowId)| {
                let Some(row_count) = row_count_of(row) else { return RowState::Changed };
                let is_locked = match keys.is_empty() {
                    true => free.get(&row.chunk).is_some_and(|free| free.contains(row.row)),
                    false => {
                        let own = RowDeletes::from([(row.chunk, DeletedRows::of(row_count, [row.row]))]);
                        let keys: Vec<&ReferenceKeys> = keys.iter().map(|of_rows| &of_rows[at]).collect();
                        lock_with_keys(&owner, (locking.mode, table, &own), &keys)
                    }
                };
                if is_locked { RowState::Locked } else { RowState::Held }
            };
            Ok(rows.iter().enumerate().map(state_of).collect())
        })
    }

    /// The number of rows of a table that other transactions hold so that this one could not lock them.
    pub fn count_held_rows(&mut self, table: TableId, mode: RowLockMode) -> u64 {
        self.lock_owner().count_held(mode, table)
    }

    async fn lock_in_mode(
        &mut self,
        (mode, fails_if_held): (RowLockMode, bool),
        table: TableId,
        rows: &RowDeletes,
    ) -> Result<Locked, StoreError> {
        if rows.values().all(DeletedRows::is_empty) {
            return Ok(Locked::AsSeen);
        }
        let owner = self.lock_owner();
        loop {
            let mut batches = self.shared.group_commit.watch_batches();
            let holder = {
                let lock = CommitLock::acquire(&self.shared).await?;
                let newest = lock.catalog();
                let unknown = || StoreError::UnknownTable { table: table.to_string() };
                let version = newest.by_id(table).ok_or_else(unknown)?;
                if version.check_has_rows(rows).is_err() {
                    drop(lock);
                    if newest.sequence() > self.shared.snapshot().sequence() {
                        // The statement would see the rows again, before their deletion is durable.
                        drop(batches.changed().await);
                        continue;
                    }
                    return Ok(Locked::Changed);
                }
                match owner.try_lock(mode, table, rows) {
                    Ok(()) => return Ok(Locked::AsSeen),
                    Err(_) if fails_if_held => {
                        return Err(StoreError::LockNotAvailable { table: version.def.name.clone() });
                    }
                    Err(holder) => holder,
                }
            };
            owner.wait_for(holder).await?;
        }
    }

    async fn keys_of_rows(
        &self,
        version: &Arc<TableVersion>,
        rows: &[RowId],
        reference: &Reference,
    ) -> Result<ReferenceKeys, StoreError> {
        let values = self.read_columns_of_rows(version, rows, &reference.key.key).await?;
        ReferenceKeys::of(reference, &version.def, &values)
    }
}

/// Locks a row and its keys, all or none; whether it could.
fn lock_with_keys(
    owner: &LockOwner,
    (mode, table, row): (RowLockMode, TableId, &RowDeletes),
    keys: &[&ReferenceKeys],
) -> bool {
    let mut taken = Vec::new();
    for keys in keys {
        match owner.try_lock_keys(KeyLock::Removed, &keys.lock_id(), &keys.keys) {
            Ok(added) => taken.push((keys.lock_id(), added)),
            Err(_) => break,
        }
    }
    let is_locked = taken.len() == keys.len() && owner.try_lock(mode, table, row).is_ok();
    if !is_locked {
        taken.into_iter().rev().for_each(|(id, added)| owner.unlock_keys(KeyLock::Removed, &id, added));
    }
    is_locked
}

/// One of the foreign keys that refer to the same columns.
fn each_key(references: &[Reference]) -> impl Iterator<Item = &Reference> {
    let is_first = |(at, reference): &(usize, &Reference)| {
        references[..*at].iter().all(|other| other.key.key != reference.key.key)
    };
    references.iter().enumerate().filter(is_first).map(|(_, reference)| reference)
}
