//! A table's version with added rows: of a view, or of a commit.
//!
//! Sketches of different values: those of the rows written are united with the table's. A chunk that was merged is among the rows
//! written as well, which changes no union; where all of the table's chunks were merged, its old sketches are forgotten. Columns
//! whose older rows were not counted stay without a sketch.
//!
//! In a view the rows written may be from before a change of the table's columns, with which their transaction cannot commit: they
//! have the missing values of columns that were added, and lack those that were dropped.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use braid_base::ChunkId;

use crate::data_file_header::DataFileId;
use crate::missing_segments::{MissingSegments, distinct_missing};
use crate::moved_rows::{MovedChunks, Successor};
use crate::table_appender::chunk_writer::WrittenChunks;
use crate::table_appender::memory_chunk::{decode_in_memory, encode_in_memory, merge_count_in_memory};
use crate::table_appender::row_buffer::ChunkRows;
use crate::table_appender::tail_merge::ChunkSize;
use crate::{ChunkMeta, DeletedRows, DistinctCount, DistinctSketch, RowDeletes, StoreError, TableDef, TableVersion};

/// A version in the making.
pub(crate) struct NextVersion {
    def: Arc<TableDef>,
    chunks: Vec<Arc<ChunkMeta>>,
    distinct: Vec<Option<DistinctCount>>,
    missing: MissingSegments,
    moved: Vec<MovedChunks>,
}

impl NextVersion {
    /// The chunks of `base`, which is of the same definition, or none.
    pub(crate) fn of(base: Option<&Arc<TableVersion>>, def: &Arc<TableDef>) -> Self {
        let chunks = base.map_or_else(Vec::new, |base| base.chunks.to_vec());
        let distinct = match base {
            Some(base) if !chunks.is_empty() => base.distinct.to_vec(),
            _ => no_values(def),
        };
        Self { def: Arc::clone(def), chunks, distinct, missing: MissingSegments::default(), moved: Vec::new() }
    }

    /// Puts the chunks of a file in the place of others, which were read in this order and with these deleted rows: theirs are the first
    /// rows of the file. `since` has the rows that were deleted after they were read.
    pub(crate) fn replace(
        &mut self,
        gone: Vec<Arc<ChunkMeta>>,
        written: &WrittenChunks,
        first_chunk: u32,
        mut since: RowDeletes,
    ) {
        self.chunks.retain(|chunk| gone.iter().all(|gone| gone.id != chunk.id));
        if self.chunks.is_empty() {
            self.distinct = no_values(&self.def);
        }
        let successors: Vec<Successor> = written.chunks.iter().map(|_| Successor::default()).collect();
        let ids = (first_chunk..).map(ChunkId);
        let into = written.chunks.iter().zip(ids).zip(&successors);
        let into = into.map(|((chunk, id), successor)| (id, chunk.row_count, successor.clone()));
        let moved = MovedChunks::new(self.def.id, gone.iter().map(|chunk| chunk.gone()), into);
        moved.follow(&mut since);
        let deleted = |at: usize| since.get(&ChunkId(first_chunk + at as u32)).filter(|rows| !rows.is_empty());
        self.add_with(written, first_chunk, deleted, |at| successors[at].clone());
        if !moved.is_empty() {
            self.moved.push(moved);
        }
    }

    /// What was put in the place of others.
    pub(crate) fn take_moved(&mut self) -> Vec<MovedChunks> {
        std::mem::take(&mut self.moved)
    }

    /// Adds the chunks of a file, with consecutive numbers. `deleted` has the rows of a chunk that are left out, by its place.
    pub(super) fn add<'a>(
        &mut self,
        written: &WrittenChunks,
        first_chunk: u32,
        deleted: impl Fn(usize) -> Option<&'a DeletedRows>,
    ) {
        self.add_with(written, first_chunk, deleted, |_| Successor::default());
    }

    fn add_with<'a>(
        &mut self,
        written: &WrittenChunks,
        first_chunk: u32,
        deleted: impl Fn(usize) -> Option<&'a DeletedRows>,
        successor: impl Fn(usize) -> Successor,
    ) {
        self.unite_sketches(written);
        for ((at, chunk), id) in written.chunks.iter().enumerate().zip(first_chunk..) {
            let deleted = deleted(at);
            if deleted.is_some_and(DeletedRows::is_all) {
                continue;
            }
            let deleted = deleted.cloned().map(Arc::new);
            let (id, row_count, file) = (ChunkId(id), chunk.row_count, written.file.clone());
            let segments = self.missing.complete(&self.def, row_count, &chunk.segments);
            let (keys, successor) = (Arc::clone(&chunk.keys), successor(at));
            self.chunks.push(Arc::new(ChunkMeta { id, row_count, deleted, file, segments, keys, successor }));
        }
    }

    /// Adds a few rows in memory, merged with the last chunks in memory, in a chunk with this number.
    pub(super) fn add_in_memory(&mut self, rows: &ChunkRows, chunk: u32) -> Result<(), StoreError> {
        let in_memory: Vec<Arc<ChunkMeta>> =
            self.chunks.iter().filter(|chunk| chunk.file.is_none()).map(Arc::clone).collect();
        let sizes: Vec<ChunkSize> = in_memory.iter().rev().map(|chunk| ChunkSize::of(chunk)).collect();
        let merged = merge_count_in_memory(&sizes, ChunkSize { rows: rows.row_count, bytes: rows.bytes() });
        let earlier = in_memory[in_memory.len() - merged..].to_vec();
        let mut all: Vec<RecordBatch> = earlier.iter().map(|chunk| decode_in_memory(&self.def, chunk)).collect();
        all.extend(rows.batches.iter().cloned());
        let written = encode_in_memory(&self.def, &all)?;
        self.replace(earlier, &written, chunk, RowDeletes::new());
        Ok(())
    }

    fn unite_sketches(&mut self, written: &WrittenChunks) {
        let Some(first) = written.chunks.first() else { return };
        for (column, distinct) in self.def.columns.iter().zip(&mut self.distinct) {
            let Some(distinct) = distinct else { continue };
            match first.segments.binary_search_by_key(&column.id, |segment| segment.column) {
                Ok(at) => distinct.unite(&written.distinct[at]),
                Err(_) => distinct.unite(&distinct_missing(column)),
            }
        }
    }

    /// The files of its chunks.
    pub(crate) fn files(&self) -> HashSet<DataFileId> {
        self.chunks.iter().filter_map(|chunk| chunk.file.as_ref()).map(|file| file.id()).collect()
    }

    /// The chunks alone.
    pub(super) fn into_chunks(self) -> Vec<Arc<ChunkMeta>> {
        self.chunks
    }

    /// The version, with its number.
    pub(crate) fn version(self, sequence: u64) -> TableVersion {
        TableVersion::new(self.def, self.chunks.into(), sequence, self.distinct.into())
    }
}

fn no_values(def: &TableDef) -> Vec<Option<DistinctCount>> {
    vec![Some(DistinctCount::new(DistinctSketch::empty())); def.columns.len()]
}
