//! The rows of queries: made by a plan's operators, kept after a pass, and on their way to the client.
//!
//! | module | contents |
//! |---|---|
//! | [`plan_run`] | a plan that runs: its rows as a stream, made on all cores |
//! | [`row_converter`] | rows of the operators as Arrow's batches |
//! | [`result_collector`] | a sink that keeps a query's rows until its pass has ended |
//! | [`kept_rows`] | these rows for their readers |
//! | [`row_keeper`], [`kept_table`] | rows that a statement keeps until its end; the same as a table that another part of it reads |
//! | [`result_stream`] | rows on their way out: under the client's names, interruptible, with our errors |
//! | [`value_bytes`] | bytes of values |

mod kept_rows;
mod kept_table;
mod plan_run;
mod result_collector;
pub(crate) mod result_stream;
mod row_converter;
mod row_keeper;
mod value_bytes;

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_exec::ExecError;
use futures::stream::{BoxStream, Stream, StreamExt};

pub(crate) use kept_rows::KeptRows;
pub(crate) use kept_table::KeptTable;
pub(crate) use plan_run::{PlanRun, RunFigures};
pub(crate) use result_collector::ResultCollector;
pub(crate) use row_keeper::RowKeeper;
pub(crate) use value_bytes::batch_bytes;

/// The rows of a query as batches of one schema, made as they are taken. Dropping them ends what makes them.
pub(crate) struct Rows {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, ExecError>>,
}

impl Rows {
    /// Batches of this schema. They may be asked for after their end, and there are none.
    pub fn new(
        schema: SchemaRef,
        batches: impl Stream<Item = Result<RecordBatch, ExecError>> + Send + 'static,
    ) -> Self {
        Self { schema, batches: batches.fuse().boxed() }
    }

    /// Their columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch, ExecError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_next_unpin(context)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("schema", &self.schema).finish_non_exhaustive()
    }
}
