//! A plan of the operators that runs: pipelines on all cores, whose rows pass through a channel of a few batches, so that a slow
//! reader slows them down. Dropping the rows stops the pipelines.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::BATCH_BYTES_MAX;
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::{Stop, StopFlag};
use braid_exec::{Batch, ExecError, MemoryBudget, SpillSpace};
use futures::future::BoxFuture;
use futures::stream;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

use super::row_converter::RowConverter;
use super::{Rows, batch_bytes};

/// Number of rows of a batch.
const BATCH_ROWS: usize = 8192;

/// Batches per worker in the channel to the reader.
const CHANNEL_BATCHES: usize = 2;

/// Batches that a worker may hold back before it blocks its thread: one vector of rows can become very many.
const HELD_BACK_MAX: usize = 16;

/// What a plan runs with.
#[derive(Debug)]
pub(crate) struct PlanRun {
    /// Number of workers.
    pub worker_count: usize,
    /// The memory that operators may hold.
    pub budget: Arc<dyn MemoryBudget>,
    /// Where operators spill.
    pub spill: Arc<SpillSpace>,
}

impl PlanRun {
    /// Starts a plan. Its rows are batches of `schema`, which has the plan's columns.
    pub fn start(self, plan: Arc<Plan>, schema: SchemaRef, figures: &Arc<RunFigures>) -> Rows {
        let Self { worker_count, budget, spill } = self;
        let (sender, batches) = mpsc::channel(CHANNEL_BATCHES * worker_count);
        let executor = Executor::new(worker_count, budget).with_spill_space(spill);
        let cancel = CancelOnDrop(executor.cancellation());
        let (of_rows, figures) = (schema.clone(), figures.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let make_sink = || OutputSink::new(of_rows.clone(), sender.clone(), figures.clone());
            let sinks = executor.run(&plan, make_sink).await?;
            figures.joins_swapped.fetch_add(executor.swapped_join_count(), Ordering::Relaxed);
            figures.joins_reordered.fetch_add(executor.reordering_count().into(), Ordering::Relaxed);
            for mut sink in sinks {
                sink.flush()?;
                sink.ready().await?;
            }
            Ok(())
        });
        let run = Running { batches, task, _cancel: cancel };
        Rows::new(schema, stream::unfold(Some(run), |run| async move { run?.next().await }))
    }
}

/// A run and what it has made.
struct Running {
    batches: Receiver<RecordBatch>,
    /// The run, which ends when this is dropped.
    task: JoinSet<Result<(), ExecError>>,
    /// A worker that computes in the run's own task cannot be aborted. It checks this signal.
    _cancel: CancelOnDrop,
}

impl Running {
    /// The next batch; after the last one how the run has ended, if it failed.
    async fn next(mut self) -> Option<(Result<RecordBatch, ExecError>, Option<Self>)> {
        if let Some(batch) = self.batches.recv().await {
            return Some((Ok(batch), Some(self)));
        }
        match self.task.join_next().await? {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some((Err(error), None)),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Some((Err(ExecError::Cancelled), None)),
            },
        }
    }
}

/// What a run has done, as EXPLAIN ANALYZE shows it: its rows, and the corrections of its plan.
#[derive(Debug, Default)]
pub(crate) struct RunFigures {
    rows: AtomicU64,
    joins_swapped: AtomicU64,
    joins_reordered: AtomicU64,
}

impl fmt::Display for RunFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(f, "rows={}", of(&self.rows))?;
        write!(f, ", joins_swapped={}, joins_reordered={}", of(&self.joins_swapped), of(&self.joins_reordered))
    }
}

/// Ends a run when its rows are not read any more.
struct CancelOnDrop(StopFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Whether the reader has another thread. On a single-threaded runtime, it runs only after the operator.
fn may_block() -> bool {
    Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread
}

/// One worker's sink, which sends rows to the stream.
struct OutputSink {
    rows: RowConverter,
    held_back: HeldBack,
}

/// Batches on their way to the stream.
struct HeldBack {
    batches: Vec<RecordBatch>,
    sender: Sender<RecordBatch>,
    figures: Arc<RunFigures>,
}

impl OutputSink {
    fn new(schema: SchemaRef, sender: Sender<RecordBatch>, figures: Arc<RunFigures>) -> Self {
        let held_back = HeldBack { batches: Vec::new(), sender, figures };
        Self { rows: RowConverter::new(schema, BATCH_ROWS), held_back }
    }

    /// Makes batches of the rows there are.
    fn flush(&mut self) -> Result<(), ExecError> {
        let Self { rows, held_back } = self;
        rows.flush(&mut |batch| held_back.take(batch))
    }
}

impl HeldBack {
    fn take(&mut self, batch: RecordBatch) -> Result<(), ExecError> {
        self.figures.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        // A long row is counted until it is read. No other is made meanwhile.
        let is_long = batch_bytes(&batch) > BATCH_BYTES_MAX;
        self.batches.push(batch);
        if (self.batches.len() > HELD_BACK_MAX || is_long) && may_block() {
            let batches = std::mem::take(&mut self.batches);
            let sender = &self.sender;
            let send = async {
                for batch in batches {
                    sender.send(batch).await.map_err(|_| ExecError::Cancelled)?;
                }
                if is_long {
                    // All places are free when all batches are read.
                    let all_places = sender.reserve_many(sender.max_capacity()).await;
                    drop(all_places.map_err(|_| ExecError::Cancelled)?);
                }
                Ok(())
            };
            // Synchronous code of an operator can only block.
            return tokio::task::block_in_place(|| Handle::current().block_on(send));
        }
        Ok(())
    }
}

impl Sink for OutputSink {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        let Self { rows, held_back } = self;
        Ok(rows.add(batch, &mut |batch| held_back.take(batch))?)
    }

    fn is_ready(&self) -> bool {
        self.held_back.batches.is_empty()
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(async move {
            for batch in std::mem::take(&mut self.held_back.batches) {
                // The stream was dropped, and the run is about to stop.
                let _ = self.held_back.sender.send(batch).await;
            }
            Ok(())
        })
    }
}
