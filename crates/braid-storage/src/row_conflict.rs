//! Why rows cannot be deleted.

use braid_base::ChunkId;

/// Why rows cannot be deleted: another commit came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowConflict {
    /// The row is deleted already.
    #[error("row {row} of chunk {chunk} has been deleted")]
    Deleted {
        /// The chunk.
        chunk: ChunkId,
        /// The row's number in it.
        row: u32,
    },
    /// All rows of the chunk were deleted, or they were merged into another chunk.
    #[error("chunk {chunk} is no longer in the table")]
    ChunkGone {
        /// The chunk.
        chunk: ChunkId,
    },
}
