//! The identities of rows as a column, from which a statement learns which rows satisfy its conditions.
//!
//! An identity is [`RowId::to_number`]: the chunk and the row's number in it. It is computed for the rows that an operator reads it
//! of, like a decoded column. No stored column has it, so that no predicate, zone map or set of queries is about it.

use braid_base::{ChunkId, VECTOR_ROWS};
use braid_storage::RowId;

use crate::Vector;
use crate::values::row_numbers::VectorSelection;

/// The identities of these rows of a chunk.
pub(crate) fn of_rows(chunk: ChunkId, rows: impl Iterator<Item = u32>) -> Vector {
    Vector::integers(rows.map(|row| RowId { chunk, row }.to_number()).collect())
}

/// The identities of the selected rows of one of a chunk's vectors.
pub(crate) fn of_selection(chunk: ChunkId, selection: &VectorSelection) -> Vector {
    let first = (selection.vector * VECTOR_ROWS) as u32;
    of_rows(chunk, selection.rows.iter().map(|row| first + row as u32))
}
