//! The rows of a query, kept for all who ask for them, within a bound.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_exec::Reservation;
use futures::stream;

use super::alone_run::RESULT_BYTES_MAX;
use crate::memory::QueryMemory;
use crate::rows::{Rows, batch_bytes};

/// Rows within [`RESULT_BYTES_MAX`], and their memory.
pub(crate) struct RowsInMemory {
    batches: Vec<RecordBatch>,
    bytes: usize,
    reservation: Reservation,
}

impl RowsInMemory {
    /// No rows yet. Their memory is reserved from `memory`.
    pub fn new(memory: &Arc<QueryMemory>) -> Self {
        Self { batches: Vec::new(), bytes: 0, reservation: Reservation::new(memory.clone(), "rows of a query") }
    }

    /// Keeps a batch.
    ///
    /// # Errors
    /// Gives the batch back if the rows exceed their bound or the memory.
    pub fn add(&mut self, batch: RecordBatch) -> Result<(), RecordBatch> {
        let bytes = self.bytes + batch_bytes(&batch);
        if bytes as u64 > RESULT_BYTES_MAX.0 || self.reservation.resize(bytes).is_err() {
            return Err(batch);
        }
        self.bytes = bytes;
        self.batches.push(batch);
        Ok(())
    }

    /// The batches.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Number of rows.
    pub fn row_count(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// The rows. They are kept until all who read them have ended.
    pub fn stream(self: Arc<Self>, schema: SchemaRef) -> Rows {
        let batches = (0..self.batches.len()).map(move |at| Ok(self.batches[at].clone()));
        Rows::new(schema, stream::iter(batches))
    }
}
