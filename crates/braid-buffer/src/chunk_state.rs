//! What the buffer knows of one chunk: which of its segments are in memory or on their way, and who wants it.
//!
//! A chunk is addressed by its *position*: its rank among the chunks of the table that the buffer knows, by identity.
//! Identities are allocated upward, so positions follow the order of rows, and sets of chunks are bit sets.

use std::borrow::Cow;

use braid_base::ChunkId;

use crate::bit_set::BitSet;

/// A segment in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidentSegment {
    /// Id of the column.
    pub column: usize,
    /// Deliveries of this segment that have not been consumed yet.
    pub pins: u32,
    /// When it was last loaded, delivered or released: the count of such events in the whole buffer. Unique.
    pub stamp: u64,
    /// Whether it has been delivered since it was loaded; every delivery after the first saved a read.
    pub delivered: bool,
    /// Whether it is listed among the evictable segments.
    pub evictable: bool,
    /// Whether it is listed among the evictable segments that no registered scan wants.
    pub unused: bool,
}

/// A chunk of a table.
#[derive(Clone, Debug)]
pub(crate) struct ChunkState {
    /// Identity.
    pub id: ChunkId,
    /// Bytes of each column's segment, by the column's id: of the columns of the versions it was learned from, else 0.
    pub bytes: Vec<u32>,
    /// Columns whose segments are in memory without the buffer: they are always ready, and take no bytes of it.
    pub in_memory: BitSet,
    /// Which of the table's sets of columns it was learned with last.
    pub column_set: usize,
    /// Columns in memory.
    pub cached: BitSet,
    /// Columns that a load under way will bring; their bytes are reserved.
    pub loading: BitSet,
    /// Slots of the scans that still need this chunk and have not been given it.
    pub interested: BitSet,
    /// Loads of this chunk under way. While there is one, none of the chunk's segments is evicted (rule 2).
    pub loads: u32,
    /// Deliveries of the chunk that have not been consumed.
    pub pins: u32,
    /// The segments in memory: one for each member of `cached`.
    pub resident: Vec<ResidentSegment>,
}

/// How far a chunk is from being ready for a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Every column the scan needs is in memory.
    Available,
    /// Every column the scan needs is in memory or being loaded.
    Coming,
    /// Something must be loaded first.
    Cold,
}

impl ChunkState {
    /// A chunk without segments in memory.
    pub fn new(id: ChunkId, column_set: usize) -> Self {
        Self {
            id,
            bytes: Vec::new(),
            in_memory: BitSet::new(),
            column_set,
            cached: BitSet::new(),
            loading: BitSet::new(),
            interested: BitSet::new(),
            loads: 0,
            pins: 0,
            resident: Vec::new(),
        }
    }

    /// How far the chunk is from being ready for a scan of `columns`.
    pub fn readiness(&self, columns: &BitSet) -> Readiness {
        let columns = self.to_read(columns);
        if columns.is_subset(&self.cached) {
            Readiness::Available
        } else if columns.is_subset_of_union(&self.cached, &self.loading) {
            Readiness::Coming
        } else {
            Readiness::Cold
        }
    }

    /// Of `columns` those that are read from the disk to be in memory.
    pub fn to_read<'a>(&self, columns: &'a BitSet) -> Cow<'a, BitSet> {
        if self.in_memory.is_empty() {
            return Cow::Borrowed(columns);
        }
        Cow::Owned(columns.iter().filter(|&column| !self.in_memory.contains(column)).collect())
    }

    /// Bytes of all segments of `columns`.
    pub fn bytes_of(&self, columns: &BitSet) -> u64 {
        columns.iter().map(|column| u64::from(self.bytes[column])).sum()
    }

    /// Bytes of the segments of `columns` that are in memory.
    pub fn bytes_cached(&self, columns: &BitSet) -> u64 {
        columns.iter_common(&self.cached).map(|column| u64::from(self.bytes[column])).sum()
    }

    /// Bytes of the segments of `columns` that are neither in memory nor on their way.
    pub fn bytes_missing(&self, columns: &BitSet) -> u64 {
        // A segment that is not read has no bytes.
        let missing = columns.iter().filter(|&column| !self.cached.contains(column) && !self.loading.contains(column));
        missing.map(|column| u64::from(self.bytes[column])).sum()
    }

    /// The segments of `columns` that are neither in memory nor on their way.
    pub fn missing(&self, columns: &BitSet) -> BitSet {
        let is_missing = |column: &usize| !self.cached.contains(*column) && !self.loading.contains(*column);
        self.to_read(columns).iter().filter(is_missing).collect()
    }

    /// The segment of `column`, if it is in memory.
    pub fn resident(&mut self, column: usize) -> Option<&mut ResidentSegment> {
        self.resident.iter_mut().find(|segment| segment.column == column)
    }

    /// Whether the buffer may forget the chunk: no scan wants it and nothing of it is in memory or on its way.
    pub fn is_dead(&self) -> bool {
        self.resident.is_empty()
            && self.loads == 0
            && self.pins == 0
            && self.loading.is_empty()
            && self.interested.is_empty()
    }
}
