//! Keys of rows that a transaction adds: no row has them, and no other transaction adds them before its end.
//!
//! A statement claims the keys of its rows when all of them are known and the rows that it deletes are gone, so that an UPDATE may let keys
//! change places. Rules:
//! 1. Keys are compared with those of the newest committed state, whatever the transaction's snapshot shows, without the rows that the
//!    transaction has deleted; and with those of its own rows.
//! 2. A row with the key that another transaction is about to delete is waited for, and so is another transaction that is about to add
//!    the key. The one whose wait would close a circle fails ([`StoreError::Deadlock`]).
//! 3. While a claim waits it holds none of the keys that it waits for: who deletes a row may add its key again.
//! 4. Rows from before an ALTER TABLE of their transaction are compared always, as they have not claimed the keys that the table has now.
//! 5. After a key is locked, what was committed since the search is searched again. From then on no other transaction can commit the key,
//!    because a commit gives up its locks only when its rows are visible. So the commit itself compares nothing.

use std::sync::Arc;

use braid_base::{ChunkId, TableId};

use super::WriteSet;
use super::next_version::NextVersion;
use super::table_writes::{Base, TableWrites};
use crate::catalog::Catalog;
use crate::key_index::{KeyDef, KeyId, KeyRun, KeyShape, key_values};
use crate::key_search::{
    Duplicate, Indexed, KeyMatch, SearchedChunk, check_key, duplicate_key, first_match, key_id, merge_runs,
    run_of_batches, shape_of,
};
use crate::row_locks::{KeyLock, LockOwner};
use crate::store_shared::StoreShared;
use crate::table_appender::AppendedRows;
use crate::{ChunkMeta, RowDeletes, RowId, StoreError, TableDef, TableVersion};

/// A key of a table that a transaction adds rows to.
struct Claim<'a> {
    shared: &'a Arc<StoreShared>,
    def: &'a Arc<TableDef>,
    key: &'a KeyDef,
    shape: Arc<KeyShape>,
    id: KeyId,
    owner: &'a LockOwner,
    /// What the transaction has changed in the table before.
    writes: Option<&'a TableWrites>,
}

impl WriteSet {
    /// Claims the keys of rows that are to be added.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`], [`StoreError::KeyTooLong`], [`StoreError::Deadlock`], [`StoreError::Conflict`], and what reading
    /// chunks fails with.
    pub(super) async fn claim_keys(&mut self, rows: &AppendedRows) -> Result<(), StoreError> {
        let def = &rows.def;
        if def.unique_keys().next().is_none() || rows.row_count == 0 {
            return Ok(());
        }
        let owner = self.lock_owner();
        let full = self.full_chunks_of(rows);
        for key in def.unique_keys() {
            let claim = Claim {
                shared: &self.shared,
                def,
                key,
                shape: Arc::new(shape_of(def, key)),
                id: key_id(def, key),
                owner: &owner,
                writes: self.tables.get(&def.id),
            };
            let mut merges = true;
            for (at, chunk) in full.iter().enumerate() {
                let keys = claim.searched(chunk).first_run(&self.shared, &claim.shape).await?;
                claim.take(&keys, &full[..at]).await?;
                merges = merges && claim.merge_own_runs(&full[..=at]).await;
            }
            if rows.rest.row_count > 0 {
                let keys = run_of_batches(&self.shared, def, &claim.shape, &rows.rest.batches)?;
                claim.take(&Arc::new(keys), &full).await?;
            }
        }
        Ok(())
    }

    /// The full chunks of rows that are to be added.
    pub(super) fn full_chunks_of(&self, rows: &AppendedRows) -> Vec<Arc<ChunkMeta>> {
        let mut full = NextVersion::of(None, &rows.def);
        if let Some(written) = &rows.full {
            full.add(written, self.shared.next_private_chunks(written.chunks.len()), |_| None);
        }
        full.into_chunks()
    }

    /// The owner of the transaction's locks.
    pub(super) fn lock_owner(&mut self) -> Arc<LockOwner> {
        let waits = &self.lock_waits;
        let new = || {
            let owner = self.shared.row_locks.owner();
            owner.set_waits(waits.clone());
            Arc::new(owner)
        };
        Arc::clone(self.locks.get_or_insert_with(new))
    }

    /// Checks that keys of an altered table differ in all of its rows, which are in files.
    ///
    /// # Errors
    /// [`StoreError::DuplicateKey`], and what reading chunks fails with.
    pub(super) async fn check_keys(
        &self,
        committed: &Catalog,
        table: TableId,
        is_checked: impl Fn(&KeyDef) -> bool,
    ) -> Result<(), StoreError> {
        let Some(writes) = self.tables.get(&table) else { return Ok(()) };
        let keys: Vec<&KeyDef> = writes.def.unique_keys().filter(|key| is_checked(key)).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let base = committed.by_id(table).filter(|_| writes.base == Base::Newest).map(|base| writes.shown_on(base));
        let version = writes.version(&writes.def, base, self.shared.next_private_sequence());
        for key in keys {
            check_key(&self.shared, &version, key).await?;
        }
        Ok(())
    }
}

impl Claim<'_> {
    /// Claims keys of rows that come behind these chunks of the same statement.
    async fn take(&self, keys: &Arc<KeyRun>, earlier: &[Arc<ChunkMeta>]) -> Result<(), StoreError> {
        if let Some(repeated) = keys.first_repeated() {
            return Err(self.duplicate(repeated));
        }
        let is_unclaimed = self.writes.is_some_and(|writes| writes.has_unclaimed);
        if (is_unclaimed || self.owner.has_pending(&self.id, keys))
            && let Some(key_at) = self.own_match(keys, earlier).await?
        {
            return Err(self.duplicate(keys.key(key_at)));
        }
        loop {
            let searched = self.committed()?;
            if let Some(found) = self.committed_match(keys, searched.as_ref(), None).await? {
                self.wait_for_deletion(keys, searched.as_ref(), found).await?;
                continue;
            }
            let added = match self.owner.try_lock_keys(KeyLock::Added, &self.id, keys) {
                Ok(added) => added,
                Err(holder) => {
                    self.owner.wait_for(holder).await?;
                    continue;
                }
            };
            let newest = self.committed()?;
            if self.committed_match(keys, newest.as_ref(), searched.as_ref()).await?.is_none() {
                return Ok(());
            }
            self.owner.unlock_keys(KeyLock::Added, &self.id, added);
        }
    }

    fn searched<'b>(&'b self, chunk: &'b Arc<ChunkMeta>) -> SearchedChunk<'b> {
        SearchedChunk { table: self.def.id, def: self.def, chunk }
    }

    fn duplicate(&self, key: &[u8]) -> StoreError {
        let values = key_values(&self.shape, key);
        StoreError::DuplicateKey(duplicate_key(self.def, self.key, values, Duplicate::Added))
    }

    /// The newest committed version, as the transaction defines it; `None` if its rows are none of the table's.
    fn committed(&self) -> Result<Option<Arc<TableVersion>>, StoreError> {
        if self.writes.is_some_and(|writes| writes.base != Base::Newest) {
            return Ok(None);
        }
        let conflict = || StoreError::Conflict { what: format!("table \"{}\"", self.def.name) };
        let snapshot = self.shared.snapshot();
        let version = snapshot.by_id(self.def.id).ok_or_else(conflict)?;
        match self.writes.filter(|writes| writes.altered.is_some()) {
            Some(writes) if !writes.fits(version) => Err(conflict()),
            Some(_) => Ok(Some(Arc::new(version.defined_as(self.def, version.sequence)))),
            None if version.def != *self.def => Err(conflict()),
            None => Ok(Some(Arc::clone(version))),
        }
    }

    /// A row of a committed version with one of the keys, in a chunk that is not in the version that was searched before.
    async fn committed_match(
        &self,
        keys: &KeyRun,
        version: Option<&Arc<TableVersion>>,
        before: Option<&Arc<TableVersion>>,
    ) -> Result<Option<KeyMatch>, StoreError> {
        let Some(version) = version else { return Ok(None) };
        if before.is_some_and(|before| Arc::ptr_eq(before, version)) {
            return Ok(None);
        }
        let is_new = |chunk: &&Arc<ChunkMeta>| {
            before.is_none_or(|before| before.chunks.binary_search_by_key(&chunk.id, |known| known.id).is_err())
        };
        let chunks = version.chunks.iter().filter(is_new).map(|chunk| self.searched(chunk));
        let own = self.writes.map_or_else(RowDeletes::new, |writes| writes.deletes().rows_left_in(version));
        let is_own = |chunk: ChunkId, row: u32| own.get(&chunk).is_some_and(|deleted| deleted.contains(row));
        first_match(self.shared, &self.shape, chunks, keys, is_own).await
    }

    /// Merges the runs of the transaction's chunks and of these, so that the next chunk is compared with few. False if that fails: then it is
    /// compared with more.
    async fn merge_own_runs(&self, added: &[Arc<ChunkMeta>]) -> bool {
        let own = self.writes.map_or_else(Vec::new, |writes| writes.full_chunks());
        let chunks = own.iter().chain(added).map(|chunk| self.searched(chunk));
        let merged = merge_runs(self.shared, &self.shape, chunks, Indexed::Before).await;
        merged.inspect_err(|error| tracing::warn!(%error, "the keys of added rows cannot be merged")).is_ok()
    }

    /// The place of a key that a row of the transaction has, or a row of these chunks.
    async fn own_match(&self, keys: &KeyRun, earlier: &[Arc<ChunkMeta>]) -> Result<Option<usize>, StoreError> {
        let own = self.writes.map_or_else(Vec::new, |writes| writes.full_chunks());
        let chunks = own.iter().chain(earlier).map(|chunk| self.searched(chunk));
        if let Some(found) = first_match(self.shared, &self.shape, chunks, keys, |_, _| false).await? {
            return Ok(Some(found.key_at));
        }
        for batches in self.writes.into_iter().flat_map(TableWrites::recent_batches) {
            let recent = run_of_batches(self.shared, self.def, &self.shape, batches)?;
            if let Some(at) = (0..keys.len()).find(|at| recent.has(keys.key(*at))) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Waits for the transaction that is about to delete a row of a committed version, unless that was done meanwhile.
    ///
    /// # Errors
    /// When there is none.
    async fn wait_for_deletion(
        &self,
        keys: &KeyRun,
        version: Option<&Arc<TableVersion>>,
        found: KeyMatch,
    ) -> Result<(), StoreError> {
        let duplicate = || self.duplicate(keys.key(found.key_at));
        let version = version.ok_or_else(duplicate)?;
        let chunk = version.chunk(found.chunk).ok_or_else(duplicate)?;
        if let Some(holder) = self.owner.deleter_of(self.def.id, chunk, found.row) {
            return self.owner.wait_for(holder).await;
        }
        // Its deletion may have become visible since.
        let row = RowId { chunk: found.chunk, row: found.row };
        match self.committed()? {
            Some(newest) if version.row_in(row, &newest).is_ok() => Err(duplicate()),
            _ => Ok(()),
        }
    }
}
