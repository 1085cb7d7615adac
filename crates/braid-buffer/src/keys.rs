//! Where the books keep tables, scans and chunks: newtypes for indices that could be taken for one another.
//!
//! The members of a [`BitSet`](crate::bit_set::BitSet) are plain numbers: slots in a set of scans, positions in a set of
//! chunks, ids in a set of columns.

/// Index of a table in the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TableIndex(pub usize);

/// The place of a scan among those of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub usize);

/// Where a scan is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ScanKey {
    pub table: TableIndex,
    pub slot: Slot,
}

/// Where a chunk is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ChunkKey {
    pub table: TableIndex,
    /// Among the table's chunks, by ascending identity.
    pub position: usize,
}
