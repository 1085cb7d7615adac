//! Made-up tables of given numbers of chunks and bytes per column, laid out chunk after chunk in one file.

use std::sync::Arc;

use braid_base::{ChunkId, ColumnId, TableId};

use crate::table_shape::{SegmentPlace, TableShape};

/// A table that exists only as sizes.
#[derive(Clone, Debug)]
pub struct SimulatedTable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    table: TableId,
    sequence: u64,
    chunks: Vec<(ChunkId, Vec<SegmentPlace>)>,
}

impl SimulatedTable {
    /// A table of `chunk_count` equal chunks whose columns take `column_bytes` each.
    pub fn uniform(table: TableId, chunk_count: usize, column_bytes: &[u32]) -> Self {
        let ids = (0..chunk_count as u32).map(ChunkId);
        Self::new(table, 1, ids.map(|id| (id, column_bytes.to_vec())).collect())
    }

    /// Version `sequence` of a table with these chunks: identity, and bytes of each column.
    pub fn new(table: TableId, sequence: u64, chunks: Vec<(ChunkId, Vec<u32>)>) -> Self {
        // Tables lie far apart: going from one to the other is a seek.
        let mut offset = u64::from(table.0) << 44;
        let mut placed = Vec::with_capacity(chunks.len());
        for (id, column_bytes) in chunks {
            let mut places = Vec::with_capacity(column_bytes.len());
            for bytes in column_bytes {
                places.push(SegmentPlace { offset, bytes });
                offset += u64::from(bytes);
            }
            placed.push((id, places));
        }
        Self { inner: Arc::new(Inner { table, sequence, chunks: placed }) }
    }
}

impl TableShape for SimulatedTable {
    fn table(&self) -> TableId {
        self.inner.table
    }

    fn sequence(&self) -> u64 {
        self.inner.sequence
    }

    fn column_count(&self) -> usize {
        self.inner.chunks.first().map_or(0, |(_, places)| places.len())
    }

    fn chunk_count(&self) -> usize {
        self.inner.chunks.len()
    }

    fn chunk_id(&self, chunk: usize) -> ChunkId {
        self.inner.chunks[chunk].0
    }

    fn place(&self, chunk: usize, column: ColumnId) -> SegmentPlace {
        self.inner.chunks[chunk].1[usize::from(column.0)]
    }
}
