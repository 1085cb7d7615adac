//! Table versions without some rows, and the commit of one.
//!
//! The next version shares the segments of all chunks; only the sets of deleted rows are new. A chunk without other rows is left
//! out, and its file goes when no other chunk is in it. Sketches stay as they are and count the removed values too, until no
//! row is left.
//!
//! Deletes name rows by chunk and number, which a version gives and a later one need not have any more: two commits may delete
//! different rows of a chunk, but not the same row, and not rows of a chunk that an append has merged with others. The caller
//! decides what a conflict means to its transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::ChunkId;
use futures::future::BoxFuture;

use crate::catalog::TableEntry;
use crate::data_file::DataFile;
use crate::store_shared::{Commit, CommitLock};
use crate::{ChunkMeta, DeletedRows, DistinctCount, DistinctSketch, RowConflict, Store, StoreError, TableVersion};

/// Rows to delete, by chunk.
pub type RowDeletes = BTreeMap<ChunkId, DeletedRows>;

/// A version of which rows have been taken away.
#[derive(Debug)]
pub struct WithoutRows {
    /// The version.
    pub version: TableVersion,
    /// Files of the version before that none of its chunks is in.
    pub removed: Vec<Arc<DataFile>>,
}

impl TableVersion {
    /// The version with the number `sequence` that has all rows of this one but `deletes`. No other version of the table has that
    /// number: readers of one number share scans and answers. Panics when `deletes` is of a chunk with another number of rows.
    ///
    /// # Errors
    /// When a row is not in this version any more.
    pub fn without_rows(&self, deletes: &RowDeletes, sequence: u64) -> Result<WithoutRows, RowConflict> {
        let find = |id: &ChunkId| self.chunks.binary_search_by_key(id, |chunk| chunk.id);
        if let Some(chunk) = deletes.keys().copied().find(|id| find(id).is_err()) {
            return Err(RowConflict::ChunkGone { chunk });
        }
        let left = |chunk: &Arc<ChunkMeta>| match deletes.get(&chunk.id).filter(|deletes| !deletes.is_empty()) {
            None => Ok(Some(Arc::clone(chunk))),
            Some(deletes) => chunk.without_rows(deletes).map(|left| left.map(Arc::new)),
        };
        let chunks: Vec<Option<Arc<ChunkMeta>>> = self.chunks.iter().map(left).collect::<Result<_, _>>()?;
        let chunks: Arc<[Arc<ChunkMeta>]> = chunks.into_iter().flatten().collect();
        let is_used = |file: &Arc<DataFile>| chunks.iter().any(|chunk| chunk.file.id() == file.id());
        let mut removed: Vec<Arc<DataFile>> = self.chunks.iter().map(|chunk| Arc::clone(&chunk.file)).collect();
        removed.dedup_by_key(|file| file.id());
        removed.retain(|file| !is_used(file));
        let distinct = if chunks.is_empty() {
            self.def.columns.iter().map(|_| Some(DistinctCount::new(DistinctSketch::empty()))).collect()
        } else {
            Arc::clone(&self.distinct)
        };
        Ok(WithoutRows { version: Self::new(Arc::clone(&self.def), chunks, sequence, distinct), removed })
    }
}

impl ChunkMeta {
    /// The chunk without these rows too; `None` if no other rows are left.
    fn without_rows(&self, deletes: &DeletedRows) -> Result<Option<Self>, RowConflict> {
        assert_eq!(deletes.row_count(), self.row_count, "rows of chunk {}", self.id);
        if let Some(row) = self.deleted.as_ref().and_then(|deleted| deleted.first_common(deletes)) {
            return Err(RowConflict::Deleted { chunk: self.id, row });
        }
        let deleted = self.deleted.as_ref().map_or_else(|| deletes.clone(), |deleted| deleted.union(deletes));
        Ok((!deleted.is_all()).then(|| Self { deleted: Some(Arc::new(deleted)), ..self.clone() }))
    }
}

impl Store {
    /// Deletes rows of a table; durable when it returns. Returns the table's new version.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], [`StoreError::RowConflict`], and what commits can fail with.
    pub fn delete_rows<'a>(
        &'a self,
        table: &'a str,
        deletes: &'a RowDeletes,
    ) -> BoxFuture<'a, Result<Arc<TableVersion>, StoreError>> {
        Box::pin(self.delete_rows_unboxed(table, deletes))
    }

    async fn delete_rows_unboxed(&self, table: &str, deletes: &RowDeletes) -> Result<Arc<TableVersion>, StoreError> {
        let lock = CommitLock::acquire(self.shared()).await?;
        let catalog = lock.catalog();
        let unknown = || StoreError::UnknownTable { table: table.to_owned() };
        let version = catalog.table(table).ok_or_else(unknown)?;
        if deletes.values().all(DeletedRows::is_empty) {
            return Ok(Arc::clone(version));
        }
        let conflict = |conflict| StoreError::RowConflict { table: table.to_owned(), conflict };
        let without = version.without_rows(deletes, catalog.sequence() + 1).map_err(conflict)?;
        let next_chunk_id = catalog.entry(version.def.id).ok_or_else(unknown)?.next_chunk_id;
        let (version, removed) = (Arc::new(without.version), without.removed);
        let catalog = catalog.with(TableEntry::new(Arc::clone(&version), next_chunk_id));
        lock.publish(Commit { catalog, added: Vec::new(), removed }).await?;
        Ok(version)
    }
}
