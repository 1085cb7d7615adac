//! The rows of a table that have keys of rows that are to be added, for ON CONFLICT.
//!
//! A key that no row has is locked for the transaction, as if its row were added already ([`super::key_claims`]): no other transaction adds it
//! before the statement does. Rows are found in the newest committed state, whatever the transaction's snapshot shows. A row that another
//! transaction is about to delete, and a key that one is about to add, are waited for; meanwhile the lookup holds no key.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use arrow::compute::{concat, take};
use braid_base::{ChunkId, ColumnId};
use futures::future::BoxFuture;

use super::WriteSet;
use crate::catalog::Catalog;
use crate::chunk_reader::read_rows;
use crate::key_index::{AddedKeys, KeyId, KeyRun, KeyShape};
use crate::key_search::{KeyMatch, SearchedChunk, all_matches, key_id, run_of_batches, shape_of};
use crate::row_locks::{Holder, KeyLock, LockOwner};
use crate::{KeyDef, PRIVATE_CHUNKS, RowId, StoreError, TableDef, TableVersion};

/// What is known of the keys of rows that are to be added.
#[derive(Debug)]
pub struct KeyLookup {
    /// For each row the row of the table that has one of its keys.
    pub found: Vec<Option<RowId>>,
    /// For each key the rows' keys as bytes, which are equal if the keys are; `None` for a row that is unlike all others.
    pub keys: Vec<Vec<Option<Box<[u8]>>>>,
    /// The state in which the rows were found, with the changes of the transaction.
    pub view: Arc<Catalog>,
}

/// A key whose rows are looked for.
struct Sought<'a> {
    key: &'a KeyDef,
    shape: Arc<KeyShape>,
    run: KeyRun,
}

impl WriteSet {
    /// Looks for the rows of a table that have keys of these rows, at most a chunk. All rows of the transaction are settled.
    ///
    /// # Errors
    /// [`StoreError::KeyTooLong`], [`StoreError::Deadlock`], [`StoreError::Conflict`] if others have altered the table, and what reading
    /// chunks fails with.
    pub fn look_up_keys<'a>(
        &'a mut self,
        def: &'a Arc<TableDef>,
        keys: &'a [&'a KeyDef],
        rows: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<KeyLookup, StoreError>> {
        Box::pin(async move {
            let owner = self.lock_owner();
            let sought = |key: &&'a KeyDef| {
                let shape = Arc::new(shape_of(def, key));
                let run = run_of_batches(&self.shared, def, &shape, std::slice::from_ref(rows))?;
                Ok(Sought { key, shape, run })
            };
            let sought = keys.iter().map(sought).collect::<Result<Vec<_>, StoreError>>()?;
            loop {
                let mut locked = Vec::new();
                let attempt = self.attempt_lookup(def, &sought, rows.num_rows(), &owner, &mut locked).await;
                let again = match attempt {
                    Ok(Attempt::Done(lookup)) => return Ok(lookup),
                    Ok(Attempt::Again(again)) => Ok(again),
                    Err(error) => Err(error),
                };
                for (id, added) in locked.into_iter().rev() {
                    owner.unlock_keys(KeyLock::Added, &id, added);
                }
                if let Some(holder) = again? {
                    owner.wait_for(holder).await?;
                }
            }
        })
    }

    async fn attempt_lookup(
        &self,
        def: &Arc<TableDef>,
        sought: &[Sought<'_>],
        row_count: usize,
        owner: &LockOwner,
        locked: &mut Vec<(KeyId, AddedKeys)>,
    ) -> Result<Attempt, StoreError> {
        let committed = self.shared.snapshot();
        let view = self.view(&committed);
        let conflict = || StoreError::Conflict { what: format!("table \"{}\"", def.name) };
        let version = view.by_id(def.id).filter(|version| version.def == *def).ok_or_else(conflict)?;
        let mut found = vec![None; row_count];
        for Sought { key, shape, run } in sought {
            let chunks = version.chunks.iter().map(|chunk| SearchedChunk { table: def.id, def, chunk });
            let matches = all_matches(&self.shared, shape, chunks, run).await?;
            if let Some(holder) = matches.iter().find_map(|found| deleter(version, owner, found)) {
                return Ok(Attempt::Again(Some(holder)));
            }
            let mut is_new = vec![true; row_count];
            for found_at in &matches {
                for at in run.places_of(run.key(found_at.key_at), 0) {
                    let row = run.row(at) as usize;
                    found[row].get_or_insert(RowId { chunk: found_at.chunk, row: found_at.row });
                    is_new[row] = false;
                }
            }
            let id = key_id(def, key);
            match owner.try_lock_keys(KeyLock::Added, &id, &Arc::new(run.without(|row| !is_new[row as usize]))) {
                Ok(added) => locked.push((id, added)),
                Err(holder) => return Ok(Attempt::Again(Some(holder))),
            }
        }
        if !self.is_still_so(def, sought, &committed, &found).await? {
            return Ok(Attempt::Again(None));
        }
        let keys = sought.iter().map(|sought| keys_of_rows(&sought.run, row_count)).collect();
        Ok(Attempt::Done(KeyLookup { found, keys, view }))
    }

    /// Whether what was found in a committed state is so in the newest one: no other row has one of the keys, and those that were found are
    /// there.
    async fn is_still_so(
        &self,
        def: &Arc<TableDef>,
        sought: &[Sought<'_>],
        committed: &Catalog,
        found: &[Option<RowId>],
    ) -> Result<bool, StoreError> {
        let newest = self.shared.snapshot();
        let (Some(before), Some(after)) = (committed.by_id(def.id), newest.by_id(def.id)) else {
            // A table of the transaction's own, or one that others have dropped, which the commit will find.
            return Ok(true);
        };
        if Arc::ptr_eq(before, after) {
            return Ok(true);
        }
        if before.def != after.def {
            return Ok(false);
        }
        let committed = found.iter().flatten().filter(|row| row.chunk.0 < PRIVATE_CHUNKS);
        // Others may have written them again meanwhile.
        let places: Result<HashSet<RowId>, _> = committed.map(|row| before.row_in(*row, after)).collect();
        let Ok(places) = places else { return Ok(false) };
        let new: Vec<_> = after.chunks.iter().filter(|chunk| before.chunk(chunk.id).is_none()).collect();
        for Sought { shape, run, .. } in sought {
            let chunks = new.iter().map(|chunk| SearchedChunk { table: def.id, def: &after.def, chunk });
            let matches = all_matches(&self.shared, shape, chunks, run).await?;
            if !matches.iter().all(|found| places.contains(&RowId { chunk: found.chunk, row: found.row })) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rows of a table of a lookup's view, in this order.
    ///
    /// # Errors
    /// What reading chunks fails with.
    pub fn read_rows<'a>(
        &'a self,
        version: &'a TableVersion,
        rows: &'a [RowId],
    ) -> BoxFuture<'a, Result<RecordBatch, StoreError>> {
        Box::pin(async move {
            let columns: Vec<usize> = (0..version.def.columns.len()).collect();
            let columns = self.read_positions_of_rows(version, rows, &columns).await?;
            let batch = RecordBatch::try_new(version.def.arrow_schema(), columns);
            Ok(batch.expect("columns are checked as they are decoded"))
        })
    }

    /// The values of columns in rows of a version, in this order. The version has the columns.
    ///
    /// # Errors
    /// What reading chunks fails with.
    pub fn read_columns_of_rows<'a>(
        &'a self,
        version: &'a TableVersion,
        rows: &'a [RowId],
        columns: &'a [ColumnId],
    ) -> BoxFuture<'a, Result<Vec<ArrayRef>, StoreError>> {
        Box::pin(async move {
            let positions: Vec<usize> = columns.iter().filter_map(|column| version.def.position(*column)).collect();
            self.read_positions_of_rows(version, rows, &positions).await
        })
    }

    async fn read_positions_of_rows(
        &self,
        version: &TableVersion,
        rows: &[RowId],
        columns: &[usize],
    ) -> Result<Vec<ArrayRef>, StoreError> {
        if rows.is_empty() {
            let empty = |at: &usize| new_empty_array(&version.def.columns[*at].column_type.arrow());
            return Ok(columns.iter().map(empty).collect());
        }
        let mut places: BTreeMap<ChunkId, Vec<u32>> = BTreeMap::new();
        rows.iter().for_each(|row| places.entry(row.chunk).or_default().push(row.row));
        let (mut parts, mut order) = (Vec::new(), BTreeMap::new());
        for (chunk, mut numbers) in places {
            numbers.sort_unstable();
            numbers.dedup();
            let chunk_meta = version.chunk(chunk).expect("rows are of chunks of the version");
            numbers.iter().for_each(|row| {
                let place = order.len() as u64;
                order.insert(RowId { chunk, row: *row }, place);
            });
            parts.push(read_rows(&self.shared, &version.def, chunk_meta, columns, &numbers).await?);
        }
        let places = rows.iter().map(|row| order[row]).collect::<UInt64Array>();
        let of_column = |at: usize| {
            let parts: Vec<&dyn Array> = parts.iter().map(|part| part[at].as_ref()).collect();
            let all = concat(&parts).expect("parts are of one column");
            take(&all, &places, None).expect("places are within the rows")
        };
        Ok((0..columns.len()).map(of_column).collect())
    }
}

enum Attempt {
    Done(KeyLookup),
    /// It is to be made again, when this transaction has ended.
    Again(Option<Holder>),
}

/// The other transaction that is about to delete a row of a version.
fn deleter(version: &TableVersion, owner: &LockOwner, found: &KeyMatch) -> Option<Holder> {
    let chunk = version.chunk(found.chunk).filter(|chunk| chunk.id.0 < PRIVATE_CHUNKS)?;
    owner.deleter_of(version.def.id, chunk, found.row)
}

fn keys_of_rows(run: &KeyRun, row_count: usize) -> Vec<Option<Box<[u8]>>> {
    let mut keys = vec![None; row_count];
    for at in 0..run.len() {
        keys[run.row(at) as usize] = Some(Box::from(run.key(at)));
    }
    keys
}
