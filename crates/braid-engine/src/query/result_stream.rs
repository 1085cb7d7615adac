//! Rows on their way out: under the names the client sees, until something stops them, with our errors.
//!
//! Invariants: after an error nothing follows; the stream below is dropped the moment an error is reported, which
//! unregisters its scans and aborts its tasks, whether or not the client goes on holding this one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::execution::SendableRecordBatchStream;
use futures::future::BoxFuture;
use futures::stream::{Stream, StreamExt};

use crate::EngineError;
use crate::arrow_cast::strict_cast;
use crate::interrupt::Interrupt;
use crate::outcome::RowBatches;
use crate::semantics::padded_texts::pad_texts;
use crate::statement_context::OnFailure;

/// The rows of one statement.
pub(crate) struct ResultStream {
    schema: SchemaRef,
    /// The lengths that columns of type `char(n)` are padded to.
    lengths: Vec<Option<u32>>,
    /// `None` once it has ended or failed.
    rows: Option<SendableRecordBatchStream>,
    interrupted: BoxFuture<'static, EngineError>,
    on_failure: OnFailure,
    /// Held as long as the rows flow: what a shutdown waits for.
    _alive: Box<dyn Send>,
}

impl ResultStream {
    /// `rows`, shown with `schema` (same types, other names) and padded to `lengths`, until `interrupt`.
    pub fn guard(
        rows: SendableRecordBatchStream,
        schema: SchemaRef,
        lengths: Vec<Option<u32>>,
        interrupt: &Interrupt,
        on_failure: OnFailure,
        alive: impl Send + 'static,
    ) -> RowBatches {
        let interrupted = interrupt.wait();
        Box::pin(Self { schema, lengths, rows: Some(rows), interrupted, on_failure, _alive: Box::new(alive) })
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
            Poll::Ready(Some(Err(error))) => this.fail(EngineError::from_datafusion(&error)),
            Poll::Ready(Some(Ok(batch))) => match with_schema(batch, &this.schema, &this.lengths) {
                Ok(batch) => Poll::Ready(Some(Ok(batch))),
                Err(error) => this.fail(error),
            },
        }
    }
}

/// The schema with the session's time zone on its instants: in which they are shown.
pub(crate) fn in_zone(schema: &SchemaRef, zone_name: &str) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(|field| field_in_zone(field, zone_name)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The field, also of an array or a row, with the time zone.
fn field_in_zone(field: &FieldRef, zone_name: &str) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if **zone != *zone_name => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone_name.into()))
        }
        DataType::List(element) => DataType::List(field_in_zone(element, zone_name)),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| field_in_zone(field, zone_name)).collect())
        }
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The column with the time zone of its field.
fn shown_as(column: &ArrayRef, field: &Field) -> Result<ArrayRef, EngineError> {
    match (column.data_type(), field.data_type()) {
        (DataType::Timestamp(TimeUnit::Microsecond, Some(from)), DataType::Timestamp(_, Some(to))) if from != to => {
            Ok(Arc::new(column.as_primitive::<TimestampMicrosecondType>().clone().with_timezone(to.clone())))
        }
        (DataType::List(_) | DataType::Struct(_), to) if column.data_type() != to => Ok(strict_cast(column, to)?),
        _ => Ok(column.clone()),
    }
}

/// The same columns under other names, instants in the session's time zone.
fn with_schema(batch: RecordBatch, schema: &SchemaRef, lengths: &[Option<u32>]) -> Result<RecordBatch, EngineError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let shown = batch.columns().iter().zip(schema.fields()).enumerate();
    let columns = shown.map(|(at, (column, field))| match lengths.get(at) {
        Some(Some(length)) => Ok(strict_cast(&pad_texts(column, *length)?, field.data_type())?),
        _ => shown_as(column, field),
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, EngineError>>()?;
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| EngineError::internal(format!("the rows differ from the planned types: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::Int32Array;
    use datafusion::common::DataFusionError;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
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
        items: Vec<datafusion::common::Result<RecordBatch>>,
        endless: bool,
        cancel: &CancellationToken,
        failures: &Arc<AtomicUsize>,
    ) -> RowBatches {
        let tail = if endless { stream::pending().boxed() } else { stream::empty().boxed() };
        let rows = RecordBatchStreamAdapter::new(schema("a"), stream::iter(items).chain(tail));
        let interrupt = Interrupt::new(cancel.clone(), CancellationToken::new(), None);
        let failures = failures.clone();
        let on_failure = Arc::new(move || {
            failures.fetch_add(1, Ordering::Relaxed);
        });
        ResultStream::guard(Box::pin(rows), schema("b"), Vec::new(), &interrupt, on_failure, ())
    }

    #[tokio::test]
    async fn rows_get_their_names_and_errors_their_state() {
        let (cancel, failures) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let items = vec![Ok(batch()), Err(DataFusionError::ResourcesExhausted("x".to_owned())), Ok(batch())];
        let mut rows = guarded(items, false, &cancel, &failures);
        assert_eq!(rows.next().await.unwrap().unwrap().schema(), schema("b"));
        let error = rows.next().await.unwrap().unwrap_err();
        assert_eq!(error.sqlstate(), "53200");
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
