//! Made-up tables of given numbers of chunks and bytes per column, laid out chunk after chunk in one file.

use std::collections::BTreeMap;
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
    chunks: Vec<(ChunkId, BTreeMap<ColumnId, Option<SegmentPlace>>)>,
}

impl SimulatedTable {
    /// A table of `chunk_count` equal chunks whose columns take `column_bytes` each.
    pub fn uniform(table: TableId, chunk_count: usize, column_bytes: &[u32]) -> Self {
        let ids = (0..chunk_count as u32).map(ChunkId);
        Self::new(table, 1, ids.map(|id| (id, column_bytes.to_vec())).collect())
    }

    /// Version `sequence` of a table with these chunks: identity, and bytes of each column.
    pub fn new(table: TableId, sequence: u64, chunks: Vec<(ChunkId, Vec<u32>)>) -> Self {
        let of_columns = |bytes: Vec<u32>| (0..).map(ColumnId).zip(bytes.into_iter().map(Some)).collect();
        Self::altered(table, sequence, chunks.into_iter().map(|(id, bytes)| (id, of_columns(bytes))).collect())
    }

    /// The same of columns with any ids; the segments without bytes are in memory.
    pub fn altered(table: TableId, sequence: u64, chunks: Vec<(ChunkId, BTreeMap<ColumnId, Option<u32>>)>) -> Self {
        // Tables lie far apart: going from one to the other is a seek.
        let mut offset = u64::from(table.0) << 44;
        let mut placed = Vec::with_capacity(chunks.len());
        for (id, column_bytes) in chunks {
            let mut places = BTreeMap::new();
            for (column, bytes) in column_bytes {
                places.insert(column, bytes.map(|bytes| SegmentPlace { offset, bytes }));
                offset += u64::from(bytes.unwrap_or(0));
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

    fn columns(&self) -> Vec<ColumnId> {
        let mut columns: Vec<ColumnId> =
            self.inner.chunks.iter().flat_map(|(_, places)| places.keys().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn chunk_count(&self) -> usize {
        self.inner.chunks.len()
    }

    fn chunk_id(&self, chunk: usize) -> ChunkId {
        self.inner.chunks[chunk].0
    }

    fn place(&self, chunk: usize, column: ColumnId) -> Option<SegmentPlace> {
        self.inner.chunks[chunk].1[&column]
    }
}
