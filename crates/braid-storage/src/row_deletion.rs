//! Table versions without some rows.
//!
//! The next version shares the segments of all chunks; only the sets of deleted rows are new. A chunk without other rows is left
//! out, and its file goes when no other chunk is in it. Sketches stay as they are and count the removed values too, until no
//! row is left.
//!
//! Deletes name rows by chunk and number. Two commits may delete different rows of a chunk, but not the same row. Rows of a chunk that was
//! written again meanwhile are found where they are now ([`crate::seen_rows`]) before they are deleted here. The caller decides what a
//! conflict means to its transaction.

use std::sync::Arc;

use crate::{ChunkMeta, DeletedRows, DistinctCount, DistinctSketch, RowConflict, RowDeletes, TableVersion};

impl TableVersion {
    /// The version with the number `sequence` that has all rows of this one but `deletes`. No other version of the table has that
    /// number: readers of one number share scans and answers. Panics when `deletes` is of a chunk with another number of rows.
    ///
    /// # Errors
    /// When a row is not in this version any more.
    pub fn without_rows(&self, deletes: &RowDeletes, sequence: u64) -> Result<Self, RowConflict> {
        if let Some(chunk) = deletes.keys().copied().find(|id| self.chunk(*id).is_none()) {
            return Err(RowConflict::ChunkGone { chunk });
        }
        let left = |chunk: &Arc<ChunkMeta>| match deletes.get(&chunk.id).filter(|deletes| !deletes.is_empty()) {
            None => Ok(Some(Arc::clone(chunk))),
            Some(deletes) => chunk.without_rows(deletes).map(|left| left.map(Arc::new)),
        };
        let chunks: Vec<Option<Arc<ChunkMeta>>> = self.chunks.iter().map(left).collect::<Result<_, _>>()?;
        Ok(self.with_chunks(chunks.into_iter().flatten().collect(), sequence))
    }

    /// As [`Self::without_rows`], whatever others have deleted.
    pub(crate) fn without_rows_left(&self, deletes: &RowDeletes, sequence: u64) -> Self {
        let left = |chunk: &Arc<ChunkMeta>| match deletes.get(&chunk.id).filter(|deletes| !deletes.is_empty()) {
            None => Some(Arc::clone(chunk)),
            Some(deletes) => chunk.without(deletes).map(Arc::new),
        };
        self.with_chunks(self.chunks.iter().filter_map(left).collect(), sequence)
    }

    /// Whether these rows are still there.
    ///
    /// # Errors
    /// When one is not.
    pub(crate) fn check_has_rows(&self, deletes: &RowDeletes) -> Result<(), RowConflict> {
        for (id, rows) in deletes {
            let chunk = self.chunk(*id).ok_or(RowConflict::ChunkGone { chunk: *id })?;
            if let Some(row) = chunk.deleted.as_ref().and_then(|deleted| deleted.first_common(rows)) {
                return Err(RowConflict::Deleted { chunk: *id, row });
            }
        }
        Ok(())
    }

    /// The version of this number that has these of its chunks, with other deleted rows or other records.
    pub(crate) fn with_chunks(&self, chunks: Arc<[Arc<ChunkMeta>]>, sequence: u64) -> Self {
        let distinct = if chunks.is_empty() {
            self.def.columns.iter().map(|_| Some(DistinctCount::new(DistinctSketch::empty()))).collect()
        } else {
            Arc::clone(&self.distinct)
        };
        Self::new(Arc::clone(&self.def), chunks, sequence, distinct)
    }
}

impl ChunkMeta {
    /// The chunk without these rows too; `None` if no other rows are left.
    fn without_rows(&self, deletes: &DeletedRows) -> Result<Option<Self>, RowConflict> {
        assert_eq!(deletes.row_count(), self.row_count, "rows of chunk {}", self.id);
        if let Some(row) = self.deleted.as_ref().and_then(|deleted| deleted.first_common(deletes)) {
            return Err(RowConflict::Deleted { chunk: self.id, row });
        }
        Ok(self.without(deletes))
    }

    fn without(&self, deletes: &DeletedRows) -> Option<Self> {
        let deleted = self.deleted.as_ref().map_or_else(|| deletes.clone(), |deleted| deleted.union(deletes));
        (!deleted.is_all()).then(|| Self { deleted: Some(Arc::new(deleted)), ..self.clone() })
    }
}
