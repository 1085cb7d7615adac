//! A stored table's version as the state machine sees it.

use std::sync::Arc;

use braid_base::{ChunkId, ColumnId, TableId};
use braid_storage::TableVersion;

use crate::table_shape::{SegmentPlace, TableShape};

/// A version of a table in a store.
#[derive(Clone, Debug)]
pub(crate) struct StoredTable(pub Arc<TableVersion>);

impl TableShape for StoredTable {
    fn table(&self) -> TableId {
        self.0.def.id
    }

    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    fn columns(&self) -> Vec<ColumnId> {
        self.0.def.columns.iter().map(|column| column.id).collect()
    }

    fn chunk_count(&self) -> usize {
        self.0.chunks.len()
    }

    fn chunk_id(&self, chunk: usize) -> ChunkId {
        self.0.chunks[chunk].id
    }

    fn place(&self, chunk: usize, column: ColumnId) -> Option<SegmentPlace> {
        let range = self.0.chunks[chunk].segment(column).file_range();
        range.map(|range| SegmentPlace { offset: range.offset, bytes: range.stored_bytes })
    }
}
