//! What the state machine needs to know of a table: which chunks it has and where their segments lie.
//!
//! A trait, so that the same machine runs on [`braid_storage::TableVersion`] and on the made-up tables of tests and
//! simulations. Nothing here reads: a shape is metadata in memory.

use braid_base::{ChunkId, ColumnId, TableId};

/// Where a segment lies in its chunk's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPlace {
    /// Offset in bytes.
    pub offset: u64,
    /// Bytes on disk, padding included: what reading it costs and what it takes in memory.
    pub bytes: u32,
}

/// A version of a table. Clones are cheap and mean the same version.
pub trait TableShape: Clone {
    /// The table.
    fn table(&self) -> TableId;
    /// What tells versions of the table apart.
    fn sequence(&self) -> u64;
    /// Its columns. A column of another version with the same id is the same column.
    fn columns(&self) -> Vec<ColumnId>;
    /// Number of chunks; they are addressed by their index, in row order.
    fn chunk_count(&self) -> usize;
    /// The identity of a chunk. A chunk never changes, so equal identities mean equal segments of each column in
    /// all versions that have both.
    fn chunk_id(&self, chunk: usize) -> ChunkId;
    /// The index of a chunk in this version. A binary search where identities ascend, which they do unless a table's
    /// chunks have been rewritten in the middle; else a search from the start.
    fn chunk_index(&self, id: ChunkId) -> Option<usize> {
        let (mut low, mut high) = (0, self.chunk_count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.chunk_id(middle) < id { low = middle + 1 } else { high = middle }
        }
        let found = (low < self.chunk_count() && self.chunk_id(low) == id).then_some(low);
        found.or_else(|| (0..self.chunk_count()).find(|&chunk| self.chunk_id(chunk) == id))
    }

    /// Where the segment of one of its columns lies; `None` if it is in memory without the buffer: there is nothing to read,
    /// keep or evict.
    fn place(&self, chunk: usize, column: ColumnId) -> Option<SegmentPlace>;
}

/// A scan's demand, in terms of a [`TableShape`].
#[derive(Clone, Debug)]
pub struct ScanDemand {
    /// Indices of chunks, ascending.
    pub chunks: Vec<usize>,
    /// Columns to deliver of each chunk.
    pub columns: Vec<ColumnId>,
    /// Whether chunks must come in the order of `chunks`.
    pub in_order: bool,
}
