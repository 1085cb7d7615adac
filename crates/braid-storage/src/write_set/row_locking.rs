//! Locks of rows that a statement has seen: those that it is about to delete, and those of SELECT … FOR UPDATE.
//!
//! A row is locked under the commit lock, together with the check that the newest state still has it (`row_locks.rs`, rule 2), wherever that has it. A statement
//! that wants a row to keep its keys locks these besides, once for each key that foreign keys refer to: no other transaction adds
//! referencing rows before this one ends.

use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_base::TableId;
use futures::future::BoxFuture;

use super::WriteSet;
use super::references::ReferenceKeys;
use crate::catalog::Catalog;
use crate::references::Reference;
use crate::row_locks::{Holder, KeyLock, LockOwner, Locked, RowLockMode};
use crate::store_shared::CommitLock;
use crate::{DeletedRows, RowDeletes, RowId, SeenRows, StoreError, TableVersion};

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
        rows: &'a SeenRows,
    ) -> BoxFuture<'a, Result<Locked, StoreError>> {
        Box::pin(self.lock_together((RowLockMode::Deletion, false), (table, rows), Vec::new()))
    }

    /// As [`Self::lock_rows`], rows of this version that the statement is not about to delete.
    ///
    /// # Errors
    /// The same, [`StoreError::LockNotAvailable`], and what reading chunks fails with.
    pub fn lock_seen_rows<'a>(
        &'a mut self,
        version: &'a Arc<TableVersion>,
        rows: &'a SeenRows,
        locking: &'a RowLocking,
    ) -> BoxFuture<'a, Result<Locked, StoreError>> {
        Box::pin(async move {
            let RowLocking { mode, references, fails_if_held } = locking;
            let mut keys = Vec::new();
            for reference in each_key(references) {
                let ids: Vec<RowId> = rows.ids().collect();
                let values = self.read_columns_of_rows(version, &ids, &reference.key.key).await?;
                keys.push(ReferenceKeys::of(reference, &version.def, &values)?);
            }
            self.lock_together((*mode, *fails_if_held), (version.def.id, rows), keys).await
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
                let values = self.read_columns_of_rows(version, rows, &reference.key.key).await?;
                let of_row = |at| {
                    let own: Vec<ArrayRef> = values.iter().map(|column| column.slice(at, 1)).collect();
                    ReferenceKeys::of(reference, &version.def, &own)
                };
                keys.push((0..rows.len()).map(of_row).collect::<Result<Vec<_>, _>>()?);
            }
            loop {
                let lock = CommitLock::acquire(&self.shared).await?;
                let newest = lock.catalog();
                let unknown = || StoreError::UnknownTable { table: table.to_string() };
                let newest = newest.by_id(table).ok_or_else(unknown)?;
                let lock_free = || lock_each(&owner, locking.mode, (version, rows), newest, &keys);
                if let Some(states) = lock.while_newest(lock_free) {
                    return Ok(states);
                }
            }
        })
    }

    /// The number of rows of a table that other transactions hold so that this one could not lock them.
    pub fn count_held_rows(&mut self, table: TableId, mode: RowLockMode) -> u64 {
        self.lock_owner().count_held(mode, table)
    }

    /// Locks rows with their keys, all or none: while it waits it holds none of them, so that the other transaction may have them too.
    async fn lock_together(
        &mut self,
        (mode, fails_if_held): (RowLockMode, bool),
        (table, rows): (TableId, &SeenRows),
        keys: Vec<ReferenceKeys>,
    ) -> Result<Locked, StoreError> {
        if rows.is_empty() {
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
                // A row that was seen under two numbers, in two states, is not as it was seen.
                let is_each_once =
                    |now: &RowDeletes| now.values().map(|rows| u64::from(rows.count())).sum::<u64>() == rows.count();
                let now = rows.rows_in(version).ok().filter(is_each_once);
                let Some(rows) = now.filter(|rows| version.check_has_rows(rows).is_ok()) else {
                    drop(lock);
                    if newest.sequence() > self.shared.snapshot().sequence() {
                        // The statement would see the rows again, before their deletion is durable.
                        drop(batches.changed().await);
                        continue;
                    }
                    return Ok(Locked::Changed);
                };
                match lock.while_newest(|| lock_with_keys(&owner, (mode, table, &rows), keys.iter())) {
                    Some(Ok(())) => return Ok(Locked::AsSeen),
                    Some(Err(_)) if fails_if_held => {
                        return Err(StoreError::LockNotAvailable { table: version.def.name.clone() });
                    }
                    Some(Err(holder)) => holder,
                    None => continue,
                }
            };
            owner.wait_for(holder).await?;
        }
    }

    /// Whether rows are locked that are not about to be deleted.
    pub fn has_locked_rows(&self) -> bool {
        self.locks.as_ref().is_some_and(|owner| owner.keeps_rows())
    }

    /// Checks that the rows which the transaction has locked are still there: others may have altered, emptied or dropped their table.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub(super) fn check_locked_rows(&self, newest: &Catalog) -> Result<(), StoreError> {
        let Some(owner) = &self.locks else { return Ok(()) };
        for (table, rows) in owner.kept_rows() {
            let version = newest.by_id(table);
            if version.is_none_or(|version| version.check_has_rows(&rows).is_err()) {
                let name = version.map_or_else(|| table.to_string(), |version| format!("\"{}\"", version.def.name));
                return Err(StoreError::Conflict { what: format!("table {name}") });
            }
        }
        Ok(())
    }
}

/// Locks those of these rows of a version that it can lock at once, each with its keys, which are those of all rows by foreign key; says
/// which.
fn lock_each(
    owner: &LockOwner,
    mode: RowLockMode,
    (seen, rows): (&TableVersion, &[RowId]),
    newest: &TableVersion,
    keys: &[Vec<ReferenceKeys>],
) -> Vec<RowState> {
    let table = newest.def.id;
    let places: Vec<Option<RowId>> = rows.iter().map(|row| seen.row_in(*row, newest).ok()).collect();
    let row_count_of = |row: &RowId| newest.chunk(row.chunk).map_or(0, |chunk| chunk.row_count);
    // Rows without keys are locked together.
    let mut wanted = RowDeletes::new();
    for row in places.iter().flatten().filter(|_| keys.is_empty()) {
        wanted.entry(row.chunk).or_insert_with(|| DeletedRows::none(row_count_of(row))).insert(row.row);
    }
    let free = owner.lock_free(mode, table, &wanted);
    let state_of = |(at, place): (usize, &Option<RowId>)| {
        let Some(row) = place else { return RowState::Changed };
        let is_locked = match keys.is_empty() {
            true => free.get(&row.chunk).is_some_and(|free| free.contains(row.row)),
            false => {
                let own = RowDeletes::from([(row.chunk, DeletedRows::of(row_count_of(row), [row.row]))]);
                let keys = keys.iter().map(|of_rows| &of_rows[at]);
                lock_with_keys(owner, (mode, table, &own), keys).is_ok()
            }
        };
        if is_locked { RowState::Locked } else { RowState::Held }
    };
    places.iter().enumerate().map(state_of).collect()
}

/// Locks rows and their keys, all or none.
///
/// # Errors
/// The transaction that holds one of them.
fn lock_with_keys<'k>(
    owner: &LockOwner,
    (mode, table, rows): (RowLockMode, TableId, &RowDeletes),
    keys: impl Iterator<Item = &'k ReferenceKeys>,
) -> Result<(), Holder> {
    let mut taken = Vec::new();
    let lock_keys = || -> Result<(), Holder> {
        for keys in keys {
            let added = owner.try_lock_keys(KeyLock::Removed, &keys.lock_id(), &keys.keys)?;
            taken.push((keys.lock_id(), added));
        }
        Ok(())
    };
    let locked = lock_keys().and_then(|()| owner.try_lock(mode, table, rows));
    if locked.is_err() {
        taken.into_iter().rev().for_each(|(id, added)| owner.unlock_keys(KeyLock::Removed, &id, added));
    }
    locked
}

/// One of the foreign keys that refer to the same columns.
fn each_key(references: &[Reference]) -> impl Iterator<Item = &Reference> {
    let is_first = |(at, reference): &(usize, &Reference)| {
        references[..*at].iter().all(|other| other.key.key != reference.key.key)
    };
    references.iter().enumerate().filter(is_first).map(|(_, reference)| reference)
}
