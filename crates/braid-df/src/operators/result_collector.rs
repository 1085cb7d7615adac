//! A sink that keeps a query's rows until its pass has ended, within a bound.
//!
//! A pass does not wait for readers, and a query whose expression fails late is run again alone. So the rows of a pass stay here
//! until its end. A result beyond the bound ends the query's part in the pass; the query is then run alone, and waits for
//! its reader.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::ByteSize;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, MemoryBudget, Reservation};

use super::row_converter::RowConverter;
use crate::bounded::value_bytes;

/// Number of rows of a batch.
const BATCH_ROWS: usize = 8192;

/// One worker's rows of one query.
pub struct ResultCollector {
    rows: RowConverter,
    reservation: Reservation,
    /// Number and bytes of the batches that are counted.
    counted: usize,
    bytes: usize,
    bytes_max: usize,
}

impl fmt::Debug for ResultCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultCollector").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl ResultCollector {
    /// Keeps at most `bytes_max` bytes of rows, which are reserved from `budget`.
    pub fn new(schema: SchemaRef, budget: Arc<dyn MemoryBudget>, bytes_max: ByteSize) -> Self {
        let bytes_max = usize::try_from(bytes_max.0).unwrap_or(usize::MAX);
        let reservation = Reservation::new(budget, "rows of a pass");
        Self { rows: RowConverter::new(schema, BATCH_ROWS), reservation, counted: 0, bytes: 0, bytes_max }
    }

    /// Number of rows so far.
    pub fn row_count(&self) -> u64 {
        self.rows.row_count_of_all()
    }

    /// The rows.
    ///
    /// # Errors
    /// When a value does not fit its type, or the rows exceed the bound.
    pub fn into_batches(mut self) -> Result<Vec<RecordBatch>, ExecError> {
        self.rows.flush()?;
        self.count()?;
        Ok(self.rows.batches)
    }

    /// Counts the batches that were made since the last call.
    fn count(&mut self) -> Result<(), ExecError> {
        let made = &self.rows.batches[self.counted..];
        if made.is_empty() {
            return Ok(());
        }
        let columns = made.iter().flat_map(RecordBatch::columns);
        self.bytes += columns.map(|column| value_bytes(column)).sum::<usize>();
        self.counted = self.rows.batches.len();
        if self.bytes > self.bytes_max {
            return Err(ExecError::Cancelled);
        }
        self.reservation.resize(self.bytes)
    }
}

impl Sink for ResultCollector {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.rows.add(batch)?;
        Ok(self.count()?)
    }
}
