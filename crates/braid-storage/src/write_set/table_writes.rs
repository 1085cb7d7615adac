//! The rows that a transaction adds to one table, until they are committed.
//!
//! Full chunks are in synced files. Rows that fill no chunk are *recent*: they stay in memory until the commit, which merges them
//! with the table's small chunks. If a statement of the transaction reads the table first, they are also written to a volatile file.
//! Recent rows are merged as small chunks are ([`tail_merge`](crate::table_appender::tail_merge)), so that any number of statements
//! leaves few of these files. They are those of less than two chunks: larger parts become synced files.

use std::sync::Arc;

use arrow::array::RecordBatch;
use braid_base::CHUNK_ROWS;

use crate::store_shared::StoreShared;
use crate::table_appender::AppendedRows;
use crate::table_appender::chunk_writer::{ChunkWriter, Durability, WrittenFile};
use crate::table_appender::row_buffer::{CHUNK_BYTES_MAX, ChunkRows};
use crate::table_appender::tail_merge::{ChunkSize, merge_count};
use crate::{StoreError, TableDef};

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
    full: Vec<OwnFile>,
    recent: Vec<Recent>,
}

/// A file that only the transaction has.
#[derive(Clone)]
pub(super) struct OwnFile {
    pub(super) written: Arc<WrittenFile>,
    /// The number of its first chunk in views; the others follow.
    pub(super) first_chunk: u32,
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
        Self { def, base, full: Vec::new(), recent: Vec::new() }
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
    pub(super) fn full_files(&self) -> impl Iterator<Item = &Arc<WrittenFile>> {
        self.full.iter().map(|own| &own.written)
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
            let sizes: Vec<ChunkSize> = self.recent.iter().rev().map(|recent| recent.rows.size()).collect();
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
    fn of(shared: &StoreShared, written: WrittenFile) -> Self {
        let first_chunk = shared.next_private_chunks(written.chunks.len());
        Self { written: Arc::new(written), first_chunk }
    }
}

impl ChunkRows {
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
) -> Result<WrittenFile, StoreError> {
    let mut writer = ChunkWriter::new(Arc::clone(shared), Arc::clone(def));
    writer.push(rows).await?;
    Ok(writer.finish(durability).await?.expect("rows make a file"))
}
