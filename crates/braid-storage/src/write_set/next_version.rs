//! A table's version with added rows: of a view, or of a commit.
//!
//! Sketches of different values: those of the rows written are united with the table's. A chunk that was merged is among the rows
//! written as well, which changes no union; where all of the table's chunks were merged, its old sketches are forgotten. Columns
//! whose older rows were not counted stay without a sketch.

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::ChunkId;

use crate::data_file_header::DataFileId;
use crate::table_appender::chunk_writer::WrittenFile;
use crate::{ChunkMeta, DeletedRows, DistinctCount, DistinctSketch, TableDef, TableVersion};

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

    /// Takes the last chunks away, whose rows are written again.
    pub(super) fn drop_last(&mut self, count: usize) {
        self.chunks.truncate(self.chunks.len() - count);
        if self.chunks.is_empty() {
            self.sketches = no_values(&self.def);
        }
    }

    /// Adds the chunks of a file, with consecutive numbers. `deleted` has the rows of a chunk that are left out, by its place.
    pub(super) fn add<'a>(
        &mut self,
        written: &WrittenFile,
        first_chunk: u32,
        deleted: impl Fn(usize) -> Option<&'a DeletedRows>,
    ) {
        for (sketch, written) in self.sketches.iter_mut().zip(&written.distinct) {
            sketch.iter_mut().for_each(|sketch| sketch.unite(written));
        }
        for ((at, chunk), id) in written.chunks.iter().enumerate().zip(first_chunk..) {
            let deleted = deleted(at);
            if deleted.is_some_and(DeletedRows::is_all) {
                continue;
            }
            let deleted = deleted.cloned().map(Arc::new);
            let (file, segments) = (Arc::clone(&written.file), chunk.segments.clone());
            let (id, row_count) = (ChunkId(id), chunk.row_count);
            self.chunks.push(Arc::new(ChunkMeta { id, row_count, deleted, file, segments }));
        }
    }

    /// The files of its chunks.
    pub(super) fn files(&self) -> HashSet<DataFileId> {
        self.chunks.iter().map(|chunk| chunk.file.id()).collect()
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
