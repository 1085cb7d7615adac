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
use crate::bounded::batch_bytes;

/// Number of rows of a batch.
const BATCH_ROWS: usize = 8192;

/// One worker's rows of one query.
pub struct ResultCollector {
    rows: RowConverter,
    kept: KeptBatches,
}

/// Batches within a bound.
struct KeptBatches {
    batches: Vec<RecordBatch>,
    reservation: Reservation,
    bytes: usize,
    bytes_max: usize,
}

impl fmt::Debug for ResultCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultCollector").field("bytes", &self.kept.bytes).finish_non_exhaustive()
    }
}

impl ResultCollector {
    /// Keeps at most `bytes_max` bytes of rows, which are reserved from `budget`.
    pub fn new(schema: SchemaRef, budget: Arc<dyn MemoryBudget>, bytes_max: ByteSize) -> Self {
        let bytes_max = usize::try_from(bytes_max.0).unwrap_or(usize::MAX);
        let reservation = Reservation::new(budget, "rows of a pass");
        let kept = KeptBatches { batches: Vec::new(), reservation, bytes: 0, bytes_max };
        Self { rows: RowConverter::new(schema, BATCH_ROWS), kept }
    }

    /// Number of rows so far.
    pub fn row_count(&self) -> u64 {
        let in_batches: usize = self.kept.batches.iter().map(RecordBatch::num_rows).sum();
        (in_batches + self.rows.row_count()) as u64
    }

    /// The rows.
    ///
    /// # Errors
    /// When a value does not fit its type, or the rows exceed the bound.
    pub fn into_batches(mut self) -> Result<Vec<RecordBatch>, ExecError> {
        let Self { rows, kept } = &mut self;
        rows.flush(&mut |batch| kept.take(batch))?;
        Ok(self.kept.batches)
    }
}

impl KeptBatches {
    fn take(&mut self, batch: RecordBatch) -> Result<(), ExecError> {
        self.bytes += batch_bytes(&batch);
        if self.bytes > self.bytes_max {
            return Err(ExecError::Cancelled);
        }
        self.reservation.resize(self.bytes)?;
        self.batches.push(batch);
        Ok(())
    }
}

impl Sink for ResultCollector {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        let Self { rows, kept } = self;
        Ok(rows.add(batch, &mut |batch| kept.take(batch))?)
    }
}
