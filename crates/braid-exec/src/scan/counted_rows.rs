//! Rows of which no stored column is read: a number of them, or their identities. Nothing is read from the disk for either.

use std::sync::Arc;

use braid_base::VECTOR_ROWS;
use braid_storage::{ChunkMeta, Selection};

use crate::runtime::pipeline::Morsel;
use crate::scan::row_ids;
use crate::values::row_numbers::VectorSelection;
use crate::{Batch, ExecError};

/// Rows without columns.
pub(crate) struct CountedRows(pub(crate) u64);

impl Morsel for CountedRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let rows = self.0.min(VECTOR_ROWS as u64);
        self.0 -= rows;
        Ok((rows > 0).then(|| Batch::new(rows as usize)))
    }
}

/// The rows of a chunk that are not deleted, with their identities alone.
pub(crate) struct IdentifiedRows {
    chunk: Arc<ChunkMeta>,
    /// The next vector.
    vector: usize,
}

impl IdentifiedRows {
    pub(crate) fn of(chunk: Arc<ChunkMeta>) -> Self {
        Self { chunk, vector: 0 }
    }

    /// The rows of the next vector that are not deleted; `None` at the chunk's end.
    fn next_rows(&mut self) -> Option<VectorSelection> {
        let vector = self.vector;
        let left = (self.chunk.row_count as usize).saturating_sub(vector * VECTOR_ROWS);
        let mut rows = (left > 0).then(|| Selection::all(left.min(VECTOR_ROWS)))?;
        self.vector += 1;
        self.chunk.deleted.iter().for_each(|deleted| deleted.exclude_from(vector, &mut rows));
        Some(VectorSelection { vector, rows })
    }
}

impl Morsel for IdentifiedRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        while let Some(rows) = self.next_rows() {
            if !rows.rows.is_empty() {
                let ids = row_ids::of_selection(self.chunk.id, &rows);
                return Ok(Some(Batch::of_vectors(rows.rows.count(), [Arc::new(ids)])));
            }
        }
        Ok(None)
    }
}
