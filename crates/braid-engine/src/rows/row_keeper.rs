//! Rows that a statement keeps until it has ended: in memory within a bound, then in a temporary file.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use braid_base::ByteSize;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;
use braid_exec::values::intervals::interval_vector;
use braid_exec::{Batch, ExecError, MemoryBudget, RowFile, SpillSpace, Vector};

use super::kept_rows::KeptRows;
use super::result_collector::ResultCollector;

/// Most bytes of the rows that stay in memory.
const KEPT_BYTES_MAX: ByteSize = ByteSize(4 << 20);

/// Rows that are being collected.
pub(crate) struct RowKeeper(ResultCollector);

impl RowKeeper {
    /// Keeps rows with the columns of `schema`. Those in memory are reserved from `budget`.
    pub fn new(schema: SchemaRef, budget: Arc<dyn MemoryBudget>, spill: Arc<SpillSpace>) -> Self {
        let file = RowFile::new(spill, budget.clone());
        Self(ResultCollector::new(schema, budget, KEPT_BYTES_MAX).with_file(file))
    }

    /// Adds rows: arrays of columns as tables store them, or as operators make them.
    ///
    /// # Errors
    /// When they can neither be kept in memory nor written.
    pub async fn add(&mut self, columns: &[ArrayRef], row_count: usize) -> Result<(), ExecError> {
        let columns = columns.iter().map(|column| vector_of(column).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        match self.0.consume(Batch::of_vectors(row_count, columns)) {
            Ok(()) => self.0.ready().await,
            Err(Stop::Failed(error)) => Err(error),
            Err(_) => Err(ExecError::Cancelled),
        }
    }

    /// The rows in their order.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn finish(self) -> Result<KeptRows, ExecError> {
        let rows = ResultCollector::into_kept_rows(vec![self.0])?;
        rows.until_written().await?;
        Ok(rows)
    }
}

/// The values of an array as operators hold them.
fn vector_of(array: &ArrayRef) -> Result<Vector, ExecError> {
    let vector = match array.data_type() {
        DataType::Time64(_) => {
            let counted = arrow::compute::cast(array, &DataType::Int64);
            Vector::from_array(&counted.map_err(|error| ExecError::Foreign(Box::new(error)))?)
        }
        DataType::Interval(_) => interval_vector(array),
        _ => Vector::from_array(array),
    };
    vector.ok_or_else(|| {
        let message = format!("an array of {} is no vector", array.data_type());
        ExecError::Foreign(message.into())
    })
}
