//! The rows that a transaction adds to one table and deletes from it, until they are committed.
//!
//! Full chunks are in synced files. Rows that fill no chunk are *recent*: they stay in memory until the commit, which adds them to
//! the table's chunks in memory, or merges them with its small chunks. If a statement of the transaction reads the table first, they are
//! also encoded: few rows in memory, more into a volatile file. Recent rows are merged as small chunks are ([`tail_merge`](crate::table_appender::tail_merge)), so that any number of statements
//! leaves few of these files. They are those of less than two chunks: larger parts become synced files.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use braid_base::{CHUNK_ROWS, ChunkId};

use super::altered_table::Altered;
use super::next_version::NextVersion;
use crate::catalog::Catalog;
use crate::store_shared::StoreShared;
use crate::table_appender::AppendedRows;
use crate::table_appender::chunk_writer::{ChunkWriter, Durability, WrittenChunks};
use crate::table_appender::memory_chunk::{encode_in_memory, stay_in_memory};
use crate::table_appender::row_buffer::{CHUNK_BYTES_MAX, ChunkRows};
use crate::table_appender::tail_merge::{ChunkSize, Place, merge_count};
use crate::{ChunkMeta, DeletedRows, RowDeletes, SeenRows, StoreError, TableDef};

/// What the rows are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// To what is committed when they are.
    Newest,
    /// To nothing: what is committed is removed.
    Emptied,
    /// To nothing: the transaction creates the table.
    New,
    /// The table is dropped.
    Dropped,
}

/// The changes of one table.
#[derive(Clone)]
pub(super) struct TableWrites {
    pub(super) def: Arc<TableDef>,
    pub(super) base: Base,
    /// What the definition was made of, if the transaction has altered a table of others.
    pub(super) altered: Option<Altered>,
    /// Whether it was altered when there may have been rows: those have not claimed the keys that it has now.
    pub(super) has_unclaimed: bool,
    full: Vec<OwnFile>,
    recent: Vec<Recent>,
    /// Deleted rows of chunks that are committed.
    deletes: SeenRows,
}

/// A file that only the transaction has.
#[derive(Clone)]
pub(super) struct OwnFile {
    pub(super) written: Arc<WrittenChunks>,
    /// The number of its first chunk in views; the others follow.
    pub(super) first_chunk: u32,
    /// Rows of its chunks that the transaction has deleted again, by the chunks' numbers in views.
    deleted: RowDeletes,
}

/// Rows that fill no chunk.
#[derive(Clone)]
struct Recent {
    rows: ChunkRows,
    /// Where the transaction's statements read them.
    file: Option<OwnFile>,
}

impl TableWrites {
    pub(super) fn new(def: Arc<TableDef>, base: Base) -> Self {
        Self {
            def,
            base,
            altered: None,
            has_unclaimed: false,
            full: Vec::new(),
            recent: Vec::new(),
            deletes: SeenRows::default(),
        }
    }

    /// Whether the table is created, altered or dropped.
    pub(super) fn is_of_definition(&self, newest: &Catalog) -> bool {
        self.base == Base::Dropped || newest.by_id(self.def.id).is_none_or(|version| version.def != self.def)
    }

    /// Whether some rows are in no file.
    pub(super) fn is_unsettled(&self) -> bool {
        self.recent.iter().any(|recent| recent.file.is_none())
    }

    /// The files with all rows that are in files.
    pub(super) fn own_files(&self) -> impl Iterator<Item = &OwnFile> {
        self.full.iter().chain(self.recent.iter().filter_map(|recent| recent.file.as_ref()))
    }

    /// The files of full chunks.
    pub(super) fn full_files(&self) -> impl Iterator<Item = &OwnFile> {
        self.full.iter()
    }

    /// Rows of committed chunks that are deleted.
    pub(super) fn deletes(&self) -> &SeenRows {
        &self.deletes
    }

    /// Deletes committed rows and rows of the transaction's own, none of which is deleted in its view.
    pub(super) fn delete(&mut self, committed: &SeenRows, own: &RowDeletes) {
        self.deletes.unite(committed);
        for (chunk, rows) in own.iter().filter(|(_, rows)| !rows.is_empty()) {
            let is_of = |own: &OwnFile| own.has(*chunk);
            if let Some(recent) = self.recent.iter_mut().find(|recent| recent.file.as_ref().is_some_and(is_of)) {
                // Its file is written again without them, if it is read again.
                (recent.rows, recent.file) = (recent.rows.without(rows), None);
            } else if let Some(own) = self.full.iter_mut().find(|own| is_of(own)) {
                let united = own.deleted.get(chunk).map_or_else(|| rows.clone(), |deleted| deleted.union(rows));
                own.deleted.insert(*chunk, united);
            }
        }
        self.recent.retain(|recent| recent.rows.row_count > 0);
    }

    /// The full chunks, with the rows that the transaction has deleted again.
    pub(super) fn full_chunks(&self) -> Vec<Arc<ChunkMeta>> {
        let mut next = NextVersion::of(None, &self.def);
        self.full.iter().for_each(|own| next.add(&own.written, own.first_chunk, |at| own.deleted_at(at)));
        next.into_chunks()
    }

    /// The rows that fill no chunk, in parts of less than one.
    pub(super) fn recent_batches(&self) -> impl Iterator<Item = &[RecordBatch]> {
        self.recent.iter().map(|recent| &recent.rows.batches[..])
    }

    /// The rows that fill no chunk.
    pub(super) fn recent_rows(&self) -> impl Iterator<Item = &RecordBatch> {
        self.recent.iter().flat_map(|recent| &recent.rows.batches)
    }

    /// Adds rows.
    pub(super) async fn add(&mut self, shared: &Arc<StoreShared>, rows: AppendedRows) -> Result<(), StoreError> {
        if let Some(full) = rows.full {
            self.full.push(OwnFile::of(shared, full));
        }
        if rows.rest.row_count == 0 {
            return Ok(());
        }
        match self.recent.pop() {
            Some(Recent { rows: mut last, file: None }) if fits(&last, &rows.rest) => {
                rows.rest.batches.into_iter().for_each(|batch| last.push(batch));
                last.unite_last(&self.def.arrow_schema());
                self.recent.push(Recent { rows: last, file: None });
            }
            last => {
                self.recent.extend(last);
                self.write_large(shared).await?;
                self.recent.push(Recent { rows: rows.rest, file: None });
            }
        }
        Ok(())
    }

    /// Puts all rows into files.
    pub(super) async fn settle(&mut self, shared: &Arc<StoreShared>) -> Result<(), StoreError> {
        while let Some(at) = self.recent.iter().position(|recent| recent.file.is_none()) {
            let later = self.recent.split_off(at + 1);
            let new = self.recent.pop().expect("it was found");
            let sizes: Vec<_> = self.recent.iter().rev().map(|recent| (recent.rows.size(), Place::InFile)).collect();
            let merged = self.recent.len() - merge_count(&sizes, new.rows.size());
            let mut all = ChunkRows::default();
            let earlier: Vec<Recent> = self.recent.drain(merged..).collect();
            earlier.iter().chain([&new]).flat_map(|part| &part.rows.batches).for_each(|batch| all.push(batch.clone()));
            let written = write(shared, &self.def, all.clone(), Durability::Volatile).await?;
            self.recent.push(Recent { rows: all, file: Some(OwnFile::of(shared, written)) });
            self.recent.extend(later);
        }
        self.write_large(shared).await
    }

    /// Writes all rows to synced files, which keep their columns when the definition changes.
    pub(super) async fn flush(&mut self, shared: &Arc<StoreShared>) -> Result<(), StoreError> {
        while let Some(recent) = self.recent.first() {
            let written = write(shared, &self.def, recent.rows.clone(), Durability::Synced).await?;
            self.recent.remove(0);
            self.full.push(OwnFile::of(shared, written));
        }
        Ok(())
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.full.clear();
        self.recent.clear();
        self.deletes.clear();
    }

    /// Writes parts of half a chunk and more to synced files, and forgets their rows.
    async fn write_large(&mut self, shared: &Arc<StoreShared>) -> Result<(), StoreError> {
        while let Some(at) = self.recent.iter().position(|recent| is_large(&recent.rows)) {
            let rows = self.recent[at].rows.clone();
            let written = write(shared, &self.def, rows, Durability::Synced).await?;
            self.recent.remove(at);
            self.full.push(OwnFile::of(shared, written));
        }
        Ok(())
    }
}

impl OwnFile {
    fn of(shared: &StoreShared, written: WrittenChunks) -> Self {
        let first_chunk = shared.next_private_chunks(written.chunks.len());
        Self { written: Arc::new(written), first_chunk, deleted: RowDeletes::new() }
    }

    fn has(&self, chunk: ChunkId) -> bool {
        chunk.0.checked_sub(self.first_chunk).is_some_and(|at| (at as usize) < self.written.chunks.len())
    }

    /// The deleted rows of its chunk at a place; `None` if there are none.
    pub(super) fn deleted_at(&self, at: usize) -> Option<&DeletedRows> {
        self.deleted.get(&ChunkId(self.first_chunk + at as u32))
    }
}

impl ChunkRows {
    /// The rows but these, by their numbers from 0.
    fn without(&self, deleted: &DeletedRows) -> Self {
        let mut left = Self::default();
        let mut first = 0;
        for batch in &self.batches {
            let numbers = first..first + batch.num_rows() as u32;
            first = numbers.end;
            let kept: BooleanArray = numbers.map(|row| Some(!deleted.contains(row))).collect();
            let batch = filter_record_batch(batch, &kept).expect("a mask has a value for each row");
            if batch.num_rows() > 0 {
                left.push(batch);
            }
        }
        left
    }

    fn size(&self) -> ChunkSize {
        ChunkSize { rows: self.row_count, bytes: self.bytes() }
    }
}

fn fits(last: &ChunkRows, more: &ChunkRows) -> bool {
    last.row_count + more.row_count <= CHUNK_ROWS && last.bytes() + more.bytes() <= CHUNK_BYTES_MAX
}

fn is_large(rows: &ChunkRows) -> bool {
    rows.row_count >= CHUNK_ROWS / 2 || rows.bytes() >= CHUNK_BYTES_MAX / 2
}

async fn write(
    shared: &Arc<StoreShared>,
    def: &Arc<TableDef>,
    rows: ChunkRows,
    durability: Durability,
) -> Result<WrittenChunks, StoreError> {
    if durability == Durability::Volatile && stay_in_memory(&rows, std::iter::empty()) {
        return encode_in_memory(def, &rows.batches);
    }
    let mut writer = ChunkWriter::new(Arc::clone(shared), Arc::clone(def));
    writer.push(rows).await?;
    Ok(writer.finish(durability).await?.expect("rows make a file"))
}
