//! A sink that keeps a query's rows until its pass has ended: in memory within a bound, then in a temporary file.
//!
//! A pass does not wait for readers, and a query whose expression fails late is run again alone. So the rows of a pass stay here
//! until its end, and their readers take them afterwards, each at its own pace ([`KeptRows`]). The first rows stay in memory up
//! to the bound of one worker, as far as the budget allows; all later ones go to the file of the query. Without a file, a result
//! beyond the bound fails.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::ByteSize;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, MemoryBudget, Reservation, RowFile, RowWriter};
use futures::future::BoxFuture;

use super::kept_rows::{FileRows, KeptBatches, KeptPart, KeptRows};
use super::row_converter::RowConverter;

/// Number of rows of a batch.
const BATCH_ROWS: usize = 8192;

/// One worker's rows of one query.
pub(crate) struct ResultCollector {
    schema: SchemaRef,
    rows: RowConverter,
    row_count: u64,
    kept: Vec<Arc<KeptBatches>>,
    kept_bytes: usize,
    kept_bytes_max: usize,
    budget: Arc<dyn MemoryBudget>,
    file: Option<Arc<RowFile>>,
    /// There after the first rows that did not fit into memory. It gets all rows after them.
    writer: Option<RowWriter>,
}

impl fmt::Debug for ResultCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultCollector").field("kept_bytes", &self.kept_bytes).finish_non_exhaustive()
    }
}

impl ResultCollector {
    /// Keeps at most `bytes_max` bytes of rows, which are reserved from `budget`.
    pub fn new(schema: SchemaRef, budget: Arc<dyn MemoryBudget>, bytes_max: ByteSize) -> Self {
        Self {
            rows: RowConverter::new(schema.clone(), BATCH_ROWS),
            schema,
            row_count: 0,
            kept: Vec::new(),
            kept_bytes: 0,
            kept_bytes_max: usize::try_from(bytes_max.0).unwrap_or(usize::MAX),
            budget,
            file: None,
            writer: None,
        }
    }

    /// Writes the rows that exceed the bound, or that the budget refuses, to the file of the query.
    #[must_use]
    pub fn with_file(mut self, file: Arc<RowFile>) -> Self {
        self.file = Some(file);
        self
    }

    /// Number of rows so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// The rows, of a collector without a file.
    ///
    /// # Errors
    /// When a value does not fit its type, or the rows exceed the bound or the budget.
    pub fn into_batches(mut self) -> Result<Vec<RecordBatch>, ExecError> {
        self.seal()?;
        Ok(self.kept.iter().flat_map(|kept| kept.batches()).cloned().collect())
    }

    /// The rows of all workers, which hold their memory until they are read.
    ///
    /// # Errors
    /// When a value does not fit its type, or rows cannot be written.
    pub fn into_kept_rows(workers: Vec<Self>) -> Result<KeptRows, ExecError> {
        let schema = workers.first().ok_or(ExecError::Cancelled)?.schema.clone();
        let parts: Result<Vec<KeptPart>, ExecError> = workers.into_iter().map(Self::into_part).collect();
        Ok(KeptRows::new(schema, parts?))
    }

    fn into_part(mut self) -> Result<KeptPart, ExecError> {
        self.seal()?;
        let in_file = match (self.file, self.writer) {
            (Some(file), Some(writer)) => Some(FileRows { file, blocks: writer.finish()? }),
            _ => None,
        };
        Ok(KeptPart { in_memory: self.kept, in_file })
    }

    /// Keeps the rows that are in no batch yet, or writes them.
    fn seal(&mut self) -> Result<(), ExecError> {
        if self.rows.row_count() == 0 || self.keep()? {
            return Ok(());
        }
        let mut rows = self.rows.take();
        self.write(&mut rows)
    }

    /// Keeps the rows that are in no batch yet in memory; false if they must be written.
    fn keep(&mut self) -> Result<bool, ExecError> {
        let mut pieces = self.rows.pieces()?;
        let bytes = pieces.bytes();
        if self.kept_bytes + bytes > self.kept_bytes_max {
            return Ok(false);
        }
        let mut reservation = Reservation::new(self.budget.clone(), "rows of a pass");
        match reservation.resize(bytes) {
            Err(ExecError::Memory(_)) if self.file.is_some() => return Ok(false),
            reserved => reserved?,
        }
        self.rows.clear();
        let batches = pieces.by_ref().collect::<Result<Vec<RecordBatch>, ExecError>>()?;
        self.kept_bytes += bytes;
        self.kept.push(Arc::new(KeptBatches::new(batches, reservation)));
        Ok(true)
    }

    fn write(&mut self, rows: &mut Batch) -> Result<(), ExecError> {
        let file = self.file.as_ref().ok_or(ExecError::Cancelled)?;
        self.writer.get_or_insert_with(|| file.writer(rows.column_count())).add(rows)
    }
}

impl Sink for ResultCollector {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        self.row_count += batch.row_count() as u64;
        if self.writer.is_some() {
            return Ok(self.write(&mut batch)?);
        }
        self.rows.append(batch);
        if self.rows.is_full() {
            self.seal()?;
        }
        Ok(())
    }

    /// Waits for writes to the file, never for a reader.
    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(async move {
            match &self.file {
                Some(file) => file.until_not_congested().await,
                None => Ok(()),
            }
        })
    }

    fn is_ready(&self) -> bool {
        self.writer.is_none() || self.file.as_ref().is_none_or(|file| !file.is_congested())
    }
}
