//! Adding rows to a table: COPY, INSERT, CREATE TABLE AS.
//!
//! Rows become full chunks as they come and are written at once. What is left at the end fills no chunk, and stays in memory
//! until the [write set](crate::WriteSet) of its transaction is read or committed.
//!
//! An append has no place in the table until it is committed, so that any number of them can go on beside each other;
//! the first to commit comes first.
//!
//! Memory: the rows of at most four chunks (one being filled, two being encoded, one being written).
//!
//! Dropped without [`TableAppender::finish`], or failed, it deletes what it wrote.

pub(crate) mod chunk_writer;
mod constraints;
pub(crate) mod memory_chunk;
pub(crate) mod row_buffer;
pub(crate) mod tail_merge;

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::future::BoxFuture;

use crate::store_shared::StoreShared;
use crate::{StoreError, TableDef};

use chunk_writer::{ChunkWriter, Durability, WrittenChunks};
use row_buffer::{ChunkRows, RowBuffer};

/// Rows on their way into a table.
pub struct TableAppender {
    pub(crate) shared: Arc<StoreShared>,
    def: Arc<TableDef>,
    target: Target,
    rows: RowBuffer,
    writer: ChunkWriter,
    chunks_pushed: usize,
    row_count: u64,
    /// Whether an `append` failed, or was abandoned before it ended.
    incomplete: bool,
}

/// What an append fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A table that exists.
    Existing,
    /// A table that appears with the rows.
    New,
}

impl TableAppender {
    pub(crate) fn to_existing(shared: Arc<StoreShared>, def: Arc<TableDef>) -> Self {
        Self::new(shared, def, Target::Existing)
    }

    pub(crate) fn to_new(shared: Arc<StoreShared>, def: Arc<TableDef>) -> Self {
        Self::new(shared, def, Target::New)
    }

    fn new(shared: Arc<StoreShared>, def: Arc<TableDef>, target: Target) -> Self {
        let writer = ChunkWriter::new(Arc::clone(&shared), Arc::clone(&def));
        let rows = RowBuffer::default();
        Self { shared, def, target, rows, writer, chunks_pushed: 0, row_count: 0, incomplete: false }
    }

    /// The table's definition.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// Rows taken so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Takes the rows of `batch`, whose columns have the table's names and types; waits while the encoders or the disk
    /// are behind. After an error, or if the future is dropped before it is ready, only dropping the appender is left.
    ///
    /// # Errors
    /// [`StoreError::SchemaMismatch`], [`StoreError::NullViolation`], [`StoreError::TooLong`],
    /// [`StoreError::NumericOverflow`] for rows that do not fit the table; [`StoreError::DiskFull`],
    /// [`StoreError::Io`] and [`StoreError::Encode`] for trouble with these or earlier rows.
    pub fn append(&mut self, batch: RecordBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.append_unboxed(batch))
    }

    async fn append_unboxed(&mut self, batch: RecordBatch) -> Result<(), StoreError> {
        if self.incomplete {
            return Err(StoreError::IncompleteAppend { table: self.def.name.clone() });
        }
        self.incomplete = true;
        constraints::check_batch(&self.def, &batch)?;
        self.rows.push(&batch);
        self.row_count += batch.num_rows() as u64;
        drop(batch);
        while let Some(rows) = self.rows.pop_full() {
            self.chunks_pushed += 1;
            self.writer.push(rows).await?;
        }
        self.writer.advance()?;
        self.incomplete = false;
        Ok(())
    }

    /// Writes the full chunks to the end, and returns all rows for a [`WriteSet`]. They are not visible.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn finish(self) -> BoxFuture<'static, Result<AppendedRows, StoreError>> {
        Box::pin(self.finish_unboxed())
    }

    async fn finish_unboxed(mut self) -> Result<AppendedRows, StoreError> {
        if self.incomplete {
            return Err(StoreError::IncompleteAppend { table: self.def.name.clone() });
        }
        let rest = self.rows.take_rest();
        let full = self.writer.finish(Durability::Synced).await?;
        assert_eq!(full.as_ref().map_or(0, |b| b.chunks.len()), self.chunks_pushed, "every chunk pushed is written");
        Ok(AppendedRows { def: self.def, target: self.target, full, rest, row_count: self.row_count })
    }
}

/// Rows that are to be added to a table: full chunks in a file, and the rows that fill none.
#[derive(Debug)]
pub struct AppendedRows {
    pub(crate) def: Arc<TableDef>,
    pub(crate) target: Target,
    pub(crate) full: Option<WrittenChunks>,
    pub(crate) rest: ChunkRows,
    pub(crate) row_count: u64,
}

impl AppendedRows {
    /// Whether their table appears with them.
    pub fn is_of_new_table(&self) -> bool {
        matches!(self.target, Target::New)
    }

    /// How many they are.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }
}
