//! Constant rows as a source.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::ArrayRef;
use braid_exec::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use braid_exec::{Batch, ExecError, Vector};
use braid_sql::{SqlError, SqlState, Value};
use futures::future::BoxFuture;

use crate::values::Form;
use crate::values::arrays::ArrayBuilder;

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;

/// Rows of constants.
#[derive(Debug)]
pub(super) struct ConstantRows {
    batches: Arc<Vec<Batch>>,
    row_count: usize,
}

impl ConstantRows {
    /// Rows whose columns have these forms.
    pub fn new(forms: &[Form], rows: &[Vec<Value>]) -> Result<Self, SqlError> {
        let batches = rows.chunks(BATCH_ROWS).map(|rows| batch(forms, rows)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { batches: Arc::new(batches), row_count: rows.len() })
    }
}

impl Source for ConstantRows {
    fn worker_count_max(&self) -> usize {
        1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started::new({
            let batches = self.batches.clone();
            move || {
                let mut next = 0;
                let batches = batches.clone();
                Box::new(move || {
                    next += 1;
                    Ok(batches.get(next - 1).cloned())
                }) as NextBatch
            }
        }))
    }

    fn describe(&self) -> String {
        format!("{} constant rows", self.row_count)
    }

    fn row_count_max(&self) -> Option<u64> {
        Some(self.row_count as u64)
    }
}

/// The next rows of a source.
type NextBatch = Box<dyn FnMut() -> Result<Option<Batch>, ExecError> + Send>;

/// A source whose rows go to the first feed.
struct Started<F> {
    open: F,
    is_taken: AtomicBool,
}

impl<F: Fn() -> NextBatch + Send + Sync> Started<F> {
    fn new(open: F) -> Self {
        Self { open, is_taken: AtomicBool::new(false) }
    }
}

impl<F: Fn() -> NextBatch + Send + Sync> StartedSource for Started<F> {
    fn feed(&self) -> Box<dyn Feed> {
        let is_first = !self.is_taken.swap(true, Ordering::Relaxed);
        Box::new(OneFeed { batches: is_first.then(|| (self.open)()) })
    }
}

/// All rows are one morsel.
struct OneFeed {
    batches: Option<NextBatch>,
}

impl Feed for OneFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let morsel = self.batches.take().map(|batches| Box::new(Batches(batches)) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

struct Batches(NextBatch);

impl Morsel for Batches {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        (self.0)()
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Batches")
    }
}

/// Rows as a batch.
fn batch(forms: &[Form], rows: &[Vec<Value>]) -> Result<Batch, SqlError> {
    let columns = forms.iter().enumerate().map(|(at, form)| {
        let mut builder = ArrayBuilder::new(*form);
        for row in rows {
            builder.add(&row[at])?;
        }
        let array: ArrayRef = builder.finish();
        let vector = Vector::from_array(&array).ok_or_else(|| {
            SqlError::new(SqlState::InternalError, format!("an array of {} is no vector", array.data_type()))
        })?;
        Ok(Arc::new(vector))
    });
    let columns = columns.collect::<Result<Vec<_>, SqlError>>()?;
    Ok(Batch::of_vectors(rows.len(), columns))
}
