//! Rows on their way out: under the names the client sees, until something stops them, with our errors.
//!
//! Invariants: after an error nothing follows; the stream below is dropped the moment an error is reported, which
//! unregisters its scans and aborts its tasks, whether or not the client goes on holding this one.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use futures::future::BoxFuture;
use futures::stream::{Stream, StreamExt};

use super::Rows;
use crate::EngineError;
use crate::interrupt::{Interrupt, OnFailure};
use crate::outcome::RowBatches;

/// The rows of one statement.
pub(crate) struct ResultStream {
    schema: SchemaRef,
    /// `None` once it has ended or failed.
    rows: Option<Rows>,
    interrupted: BoxFuture<'static, EngineError>,
    on_failure: OnFailure,
    /// Held as long as the rows flow: what a shutdown waits for.
    _alive: Box<dyn Send>,
}

impl ResultStream {
    /// `rows`, shown with `schema` (same types, other names), until `interrupt`.
    pub fn guard(
        rows: Rows,
        schema: SchemaRef,
        interrupt: &Interrupt,
        on_failure: OnFailure,
        alive: impl Send + 'static,
    ) -> RowBatches {
        let interrupted = interrupt.wait();
        Box::pin(Self { schema, rows: Some(rows), interrupted, on_failure, _alive: Box::new(alive) })
    }

    fn fail(&mut self, error: EngineError) -> Poll<Option<Result<RecordBatch, EngineError>>> {
        self.rows = None;
        (self.on_failure)();
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for ResultStream {
    type Item = Result<RecordBatch, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(rows) = &mut this.rows else { return Poll::Ready(None) };
        if let Poll::Ready(error) = this.interrupted.as_mut().poll(context) {
            return this.fail(error);
        }
        match rows.poll_next_unpin(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                this.rows = None;
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => this.fail(error.into()),
            Poll::Ready(Some(Ok(batch))) => match with_schema(batch, &this.schema) {
                Ok(batch) => Poll::Ready(Some(Ok(batch))),
                Err(error) => this.fail(error),
            },
        }
    }
}

/// The same columns under other names.
fn with_schema(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, EngineError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
        .map_err(|error| EngineError::internal(format!("the rows differ from the planned types: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::Int32Array;
    use arrow::datatypes::{DataType, Field, Schema};
    use braid_exec::ExecError;
    use futures::stream;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn schema(name: &str) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new(name, DataType::Int32, true)]))
    }

    fn batch() -> RecordBatch {
        RecordBatch::try_new(schema("a"), vec![Arc::new(Int32Array::from(vec![1, 2]))]).unwrap()
    }

    fn guarded(
        items: Vec<Result<RecordBatch, ExecError>>,
        endless: bool,
        cancel: &CancellationToken,
        failures: &Arc<AtomicUsize>,
    ) -> RowBatches {
        let tail = if endless { stream::pending().boxed() } else { stream::empty().boxed() };
        let rows = Rows::new(schema("a"), stream::iter(items).chain(tail));
        let interrupt = Interrupt::new(cancel.clone(), CancellationToken::new(), None);
        let failures = failures.clone();
        let on_failure = Arc::new(move || {
            failures.fetch_add(1, Ordering::Relaxed);
        });
        ResultStream::guard(rows, schema("b"), &interrupt, on_failure, ())
    }

    #[tokio::test]
    async fn rows_get_their_names_and_errors_their_state() {
        let (cancel, failures) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let items = vec![Ok(batch()), Err(ExecError::SeveralRows), Ok(batch())];
        let mut rows = guarded(items, false, &cancel, &failures);
        assert_eq!(rows.next().await.unwrap().unwrap().schema(), schema("b"));
        let error = rows.next().await.unwrap().unwrap_err();
        assert_eq!(error.sqlstate(), "21000");
        assert!(rows.next().await.is_none());
        assert_eq!(failures.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_cancel_ends_a_stream_that_waits() {
        let (cancel, failures) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let mut rows = guarded(vec![Ok(batch())], true, &cancel, &failures);
        rows.next().await.unwrap().unwrap();
        let canceller = cancel.clone();
        tokio::spawn(async move { canceller.cancel() });
        let error = rows.next().await.unwrap().unwrap_err();
        assert_eq!(error.sqlstate(), "57014");
        assert!(rows.next().await.is_none());
    }
}
