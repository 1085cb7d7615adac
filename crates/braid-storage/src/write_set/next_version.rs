//! A table's version with added rows: of a view, or of a commit.
//!
//! Sketches of different values: those of the rows written are united with the table's. A chunk that was merged is among the rows
//! written as well, which changes no union; where all of the table's chunks were merged, its old sketches are forgotten. Columns
//! whose older rows were not counted stay without a sketch.

use std::sync::Arc;

use braid_base::ChunkId;

use crate::data_file::DataFile;
use crate::table_appender::chunk_writer::WrittenFile;
use crate::{ChunkMeta, DistinctCount, DistinctSketch, TableDef, TableVersion};

/// A version in the making.
pub(super) struct NextVersion {
    def: Arc<TableDef>,
    chunks: Vec<Arc<ChunkMeta>>,
    sketches: Vec<Option<DistinctSketch>>,
}

impl NextVersion {
    /// The chunks of `base`, or none.
    pub(super) fn of(base: Option<&Arc<TableVersion>>, def: &Arc<TableDef>) -> Self {
        let chunks = base.map_or_else(Vec::new, |base| base.chunks.to_vec());
        let sketches = match base {
            Some(base) if !chunks.is_empty() => sketches_of(base),
            _ => no_values(def),
        };
        Self { def: Arc::clone(def), chunks, sketches }
    }

    /// Takes the last chunks away, whose rows are written again; returns them.
    pub(super) fn take_last(&mut self, count: usize) -> Vec<Arc<ChunkMeta>> {
        let taken = self.chunks.split_off(self.chunks.len() - count);
        if self.chunks.is_empty() {
            self.sketches = no_values(&self.def);
        }
        taken
    }

    /// Adds the chunks of a file, with consecutive numbers.
    pub(super) fn add(&mut self, written: &WrittenFile, first_chunk: u32) {
        for (sketch, written) in self.sketches.iter_mut().zip(&written.distinct) {
            sketch.iter_mut().for_each(|sketch| sketch.unite(written));
        }
        for (chunk, id) in written.chunks.iter().zip(first_chunk..) {
            let (file, segments) = (Arc::clone(&written.file), chunk.segments.clone());
            self.chunks.push(Arc::new(ChunkMeta { id: ChunkId(id), row_count: chunk.row_count, file, segments }));
        }
    }

    /// Whether a chunk is in this file.
    pub(super) fn uses(&self, file: &DataFile) -> bool {
        self.chunks.iter().any(|chunk| chunk.file.id() == file.id())
    }

    /// The version, with its number.
    pub(super) fn version(self, sequence: u64) -> TableVersion {
        let distinct = self.sketches.into_iter().map(|sketch| sketch.map(DistinctCount::new)).collect();
        TableVersion::new(self.def, self.chunks.into(), sequence, distinct)
    }
}

fn no_values(def: &TableDef) -> Vec<Option<DistinctSketch>> {
    vec![Some(DistinctSketch::empty()); def.columns.len()]
}

fn sketches_of(version: &TableVersion) -> Vec<Option<DistinctSketch>> {
    version.distinct.iter().map(|count| count.as_ref().map(|count| count.sketch().clone())).collect()
}
