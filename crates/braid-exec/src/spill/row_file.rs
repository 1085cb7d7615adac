//! The rows of one query's result in a temporary file of its own, until its readers take them.
//!
//! All workers of a pass write to the same file, and keep the places of their own blocks. After the pass each reader reads them
//! at its own pace, one block ahead. The file is created with its first block, and its space is released with the last
//! reference. A full disk or a failed write concerns only the queries of this file.

use std::fmt;
use std::sync::{Arc, OnceLock};

use braid_base::VECTOR_ROWS;

use super::{BlockAhead, BlockPlace, QuerySpill, SpillFile, SpillSpace};
use crate::runtime::backpressure::Backpressure;
use crate::runtime::collected_rows::CollectedRows;
use crate::{Batch, ExecError, MemoryBudget, Reservation};

/// The operator's name in errors.
const OPERATOR: &str = "rows of a pass";

/// Most rows that are collected for a block, for rows that take few bytes or none.
const BLOCK_ROWS_MAX: usize = 32 * VECTOR_ROWS;

/// A file for rows.
pub struct RowFile {
    spill: Arc<QuerySpill>,
    file: OnceLock<Arc<SpillFile>>,
}

/// The place of consecutive rows in a [`RowFile`].
#[derive(Clone, Copy, Debug)]
pub struct RowBlock(BlockPlace);

/// One worker's rows on their way to a [`RowFile`], written a block at a time.
pub struct RowWriter {
    file: Arc<RowFile>,
    column_count: usize,
    rows: CollectedRows,
    blocks: Vec<RowBlock>,
}

/// One reader of some blocks of a file.
pub struct RowReader {
    file: Arc<RowFile>,
    blocks: Arc<[RowBlock]>,
    next: usize,
    ahead: Option<BlockAhead>,
}

impl fmt::Debug for RowFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowFile").field("spill", &self.spill).finish_non_exhaustive()
    }
}

impl fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowWriter").field("blocks", &self.blocks.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for RowReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowReader")
            .field("next", &self.next)
            .field("blocks", &self.blocks.len())
            .finish_non_exhaustive()
    }
}

impl RowFile {
    /// A file in this space, which is created with the first rows. The blocks on their way to and from the disk are reserved from
    /// `budget`.
    pub fn new(space: Arc<SpillSpace>, budget: Arc<dyn MemoryBudget>) -> Arc<Self> {
        Arc::new(Self { spill: QuerySpill::new(space, budget), file: OnceLock::new() })
    }

    /// One worker's writer of rows with so many columns.
    pub fn writer(self: &Arc<Self>, column_count: usize) -> RowWriter {
        let rows = self.no_rows(column_count);
        RowWriter { file: self.clone(), column_count, rows, blocks: Vec::new() }
    }

    /// Whether so many bytes are being written that workers are to wait.
    pub fn is_congested(&self) -> bool {
        self.spill.is_congested()
    }

    /// Waits until fewer bytes are being written.
    ///
    /// # Errors
    /// When a write failed.
    pub async fn until_not_congested(&self) -> Result<(), ExecError> {
        self.spill.until_not_congested().await
    }

    /// Waits until all rows are written.
    ///
    /// # Errors
    /// When a write failed.
    pub async fn until_written(&self) -> Result<(), ExecError> {
        self.spill.until_all_written().await
    }

    /// A reader of these blocks, in their order.
    pub fn read(self: &Arc<Self>, blocks: Arc<[RowBlock]>) -> RowReader {
        RowReader { file: self.clone(), blocks, next: 0, ahead: None }
    }

    fn block_bytes(&self) -> usize {
        self.spill.settings().block_bytes
    }

    fn no_rows(&self, column_count: usize) -> CollectedRows {
        CollectedRows::new(column_count, Reservation::new(self.spill.budget().clone(), OPERATOR))
    }

    fn file(&self) -> Result<&Arc<SpillFile>, ExecError> {
        if self.file.get().is_none() {
            // Another worker may have created the file meanwhile.
            drop(self.file.set(self.spill.create_file()?));
        }
        Ok(self.file.get().expect("there is one by now"))
    }
}

impl RowWriter {
    /// Adds rows.
    ///
    /// # Errors
    /// When the file cannot be created, this or an earlier write failed, or the space is used up.
    pub fn add(&mut self, batch: &mut Batch) -> Result<(), ExecError> {
        match self.rows.consume(batch) {
            Ok(()) if self.rows.row_count() < BLOCK_ROWS_MAX && self.rows.bytes() < self.file.block_bytes() => Ok(()),
            Ok(()) | Err(ExecError::Memory(_)) => self.flush(),
            Err(error) => Err(error),
        }
    }

    /// Writes what is left, and returns where the rows are.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn finish(mut self) -> Result<Arc<[RowBlock]>, ExecError> {
        self.flush()?;
        Ok(self.blocks.into())
    }

    fn flush(&mut self) -> Result<(), ExecError> {
        let rows = std::mem::replace(&mut self.rows, self.file.no_rows(self.column_count)).into_result();
        if rows.row_count() > 0 {
            let spill = &self.file.spill;
            let blocks = spill.write_in_blocks(self.file.file()?, rows.row_count(), rows.columns())?;
            self.blocks.extend(blocks.into_iter().map(RowBlock));
        }
        Ok(())
    }
}

impl RowReader {
    /// The rows of the next block; `None` at the end. They hold their memory until they are dropped.
    ///
    /// # Errors
    /// When a write failed, the read fails, or it returns other bytes than were written.
    pub async fn next(&mut self) -> Result<Option<Batch>, ExecError> {
        let block = match (self.ahead.take(), self.blocks.get(self.next).copied()) {
            (Some(block), _) => block,
            (None, Some(RowBlock(place))) => {
                self.next += 1;
                BlockAhead::begin(&self.file.spill, self.file.file()?, place, OPERATOR)
            }
            (None, None) => return Ok(None),
        };
        let rows = Arc::new(block.rows().await?);
        if let Some(RowBlock(place)) = self.blocks.get(self.next).copied() {
            self.ahead = BlockAhead::begin_if_free(&self.file.spill, self.file.file()?, place, OPERATOR);
            self.next += usize::from(self.ahead.is_some());
        }
        let numbers: Vec<u32> = (0..rows.row_count() as u32).collect();
        let (mut batch, columns) = (Batch::new(numbers.len()), 0..rows.columns().len());
        batch.push_deferred(rows, numbers, columns);
        Ok(Some(batch))
    }
}

#[cfg(test)]
mod tests;
