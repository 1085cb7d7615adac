//! Push-based pipelines: a source, operators that each batch is pushed through, a sink.
//!
//! Workers pull *morsels* (a chunk of a table, a part of a materialised result) from the source and push their batches to the
//! sink. Each worker has its own operators and its own sink (morsel-driven parallelism: Leis et al., SIGMOD 2014). Only three
//! steps are asynchronous: the next morsel, a sink that waits (for its reader, or for its rows to spill), and the wait for
//! writes of temporary files. All other steps are synchronous calls.
//!
//! Rules:
//! 1. A worker yields after computing for [`QUANTUM`], so that the network's tasks run and a cancelled query stops.
//! 2. The first error of any worker ends the pipeline; the others are aborted.
//! 3. Dropping the pipeline's future aborts its workers when they yield. Workers also check for cancellation before each batch,
//!    and within operators. The reader of the rows sets the cancellation, because a worker that computes in the aborted task
//!    itself would not notice the abort.
//! 4. A batch that grows to very many rows blocks no thread from the runtime's other tasks ([`turn`]).

use std::fmt;
use std::sync::Arc;

use braid_base::TableId;
use braid_scan::ScanSpec;
use braid_storage::{ColumnPredicate, TableVersion};
use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};

use super::backpressure::Backpressure;
use super::stop::{Stop, StopFlag};
use crate::keys::key_filter::KeyFilter;
use crate::query_sets::index::indexed_predicates::IndexedPredicates;
use crate::runtime::turn::Turn;
use crate::values::integer_bounds::IntegerBounds;
use crate::{Batch, ExecError};

pub use crate::runtime::turn::QUANTUM;

/// A source of rows.
pub trait Source: Send + Sync + fmt::Debug {
    /// Maximum number of workers that the source keeps busy.
    fn worker_count_max(&self) -> usize;

    /// Starts the source. It may drop rows that `filters` exclude, but need not.
    fn start(&self, filters: &[RowFilter]) -> Arc<dyn StartedSource>;

    /// The description for EXPLAIN.
    fn describe(&self) -> String;

    /// The maximum number of rows, if it is known before the start. Such a source can be started repeatedly, with the same rows
    /// each time. `None` otherwise.
    fn row_count_max(&self) -> Option<u64> {
        None
    }

    /// Whether the source visibly drops rows that [`Self::row_count_max`] counts.
    fn is_narrowed(&self) -> bool {
        false
    }

    /// The table whose rows they are, if it is one.
    fn table(&self) -> Option<TableId> {
        None
    }

    /// The table version and the scan that it is, if it is one, for estimates.
    fn scan(&self) -> Option<(&Arc<TableVersion>, &ScanSpec)> {
        None
    }

    /// Bounds of a column's values; `None` if they are no integers, or the bounds are not known.
    fn integer_bounds(&self, column: usize) -> Option<IntegerBounds> {
        let _ = column;
        None
    }

    /// Whether a column is known to have no nulls.
    fn is_null_free(&self, column: usize) -> bool {
        let _ = column;
        false
    }

    /// All rows of its table, with some of its own columns; `None` if it is no table.
    fn of_whole_table(&self, columns: &[usize]) -> Option<Arc<dyn Source>> {
        let _ = columns;
        None
    }

    /// The same source of another version of its table; `None` if the version is of another table, or of one whose
    /// columns are others or have values of other types.
    fn at_version(&self, version: &Arc<TableVersion>) -> Option<Arc<dyn Source>> {
        let _ = version;
        None
    }

    /// The source of the rows that satisfy a predicate on a column; `None` if the source cannot evaluate it exactly.
    fn with_predicate(&self, column: usize, predicate: ColumnPredicate) -> Option<Arc<dyn Source>> {
        drop((column, predicate));
        None
    }

    /// The source of the rows with a non-empty query set, which is added as the last column; `None` if the source cannot compute
    /// sets.
    fn with_sets(&self, filters: Vec<SetFilter>) -> Option<Arc<dyn Source>> {
        drop(filters);
        None
    }

    /// The source without some rows that no query needs; `None` if it cannot drop any.
    fn without_unwanted(&self, filters: &[SetFilter]) -> Option<Arc<dyn Source>> {
        let _ = filters;
        None
    }
}

/// The conditions of many queries on a column.
#[derive(Clone, Debug)]
pub struct SetFilter {
    /// The source's column.
    pub column: usize,
    /// The indexed predicates, with the sets.
    pub predicates: Arc<IndexedPredicates>,
}

/// A running source.
pub trait StartedSource: Send + Sync {
    /// One worker's feed. Each morsel goes to one feed.
    fn feed(&self) -> Box<dyn Feed>;
}

/// One worker's stream of morsels.
pub trait Feed: Send {
    /// The next morsel; `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>>;
}

/// A unit of synchronous work.
pub trait Morsel: Send {
    /// The next rows, at least one and at most a vector; `None` at the end.
    ///
    /// # Errors
    /// When the read fails.
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError>;
}

/// A key filter on a source's rows.
#[derive(Clone)]
pub struct RowFilter {
    /// The key columns of the source.
    pub columns: Vec<usize>,
    /// The filter.
    pub keys: KeyFilter,
}

/// One worker's operator.
pub trait Operator: Send {
    /// Processes rows, and passes the results to `next` before it returns.
    ///
    /// # Errors
    /// The reason to stop, of this operator or of `next`.
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop>;

    /// Passes on more rows of what was pushed, if it has any left: so that an operator which makes very many rows of one lets its worker
    /// yield and wait between them. False if there were none left.
    ///
    /// # Errors
    /// As [`Self::push`].
    fn go_on(&mut self, next: &mut Next<'_>) -> Result<bool, Stop> {
        let _ = next;
        Ok(false)
    }
}

/// The operators after an operator.
pub type Next<'a> = dyn FnMut(Batch) -> Result<(), Stop> + 'a;

/// Creates an operator for each worker.
pub type OperatorFactory = Arc<dyn Fn() -> Box<dyn Operator> + Send + Sync>;

/// One worker's end of a pipeline.
pub trait Sink: Send + 'static {
    /// Consumes rows.
    ///
    /// # Errors
    /// The reason to stop.
    fn consume(&mut self, batch: Batch) -> Result<(), Stop>;

    /// Waits until it can consume more rows. Called after each of the source's batches.
    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether [`Self::ready`] would wait.
    fn is_ready(&self) -> bool {
        true
    }
}

/// The operators between a source and a sink, and the limits among them.
#[derive(Clone, Default)]
pub struct Branch {
    /// The operators.
    pub operators: Vec<OperatorFactory>,
    /// The limits among the operators. A branch is over when any of them is reached.
    pub limits: Vec<StopFlag>,
}

impl Branch {
    /// Whether a limit is reached.
    pub fn is_over(&self) -> bool {
        self.limits.iter().any(StopFlag::is_raised)
    }
}

/// A source and its operators.
#[derive(Clone)]
pub struct Pipeline {
    /// The source of rows.
    pub source: Arc<dyn Source>,
    /// The key filters for the source.
    pub filters: Vec<RowFilter>,
    /// Where they go.
    pub branch: Branch,
    /// The cancellation of the query.
    pub cancelled: StopFlag,
    /// The writes of temporary files that workers wait for.
    pub(crate) writes: Option<Arc<dyn Backpressure>>,
}

/// One worker.
struct Worker<S> {
    feed: Box<dyn Feed>,
    operators: Vec<Box<dyn Operator>>,
    branch: Branch,
    turn: Turn,
    writes: Option<Arc<dyn Backpressure>>,
    sink: S,
}

impl Pipeline {
    /// Runs the pipeline to its end, and returns the sinks. There is at most one worker per sink, and at most the source's
    /// `worker_count_max`.
    ///
    /// # Errors
    /// The first error of any worker. [`Stop::Restart`] is returned after the workers have ended; the query then continues
    /// in another join order.
    pub async fn run<S: Sink>(&self, sinks: Vec<S>) -> Result<Vec<S>, Stop> {
        let started = self.source.start(&self.filters);
        let worker_count = sinks.len().min(self.source.worker_count_max()).max(1);
        let mut idle = sinks;
        let mut busy: Vec<Worker<S>> = idle.drain(..worker_count).map(|sink| self.worker(&*started, sink)).collect();
        // Workers run as tasks, because the caller's task could not await other futures during a long call.
        if worker_count == 1 && self.branch.operators.is_empty() {
            let only = busy.pop().expect("one worker");
            idle.push(only.run().await?);
            return Ok(idle);
        }
        let mut tasks = JoinSet::new();
        busy.into_iter().for_each(|worker| {
            tasks.spawn(worker.run());
        });
        while let Some(ended) = tasks.join_next().await {
            let failed = match ended {
                Ok(Ok(sink)) => {
                    idle.push(sink);
                    continue;
                }
                Ok(Err(error)) => error,
                Err(error) => of_task(error).into(),
            };
            if matches!(failed, Stop::Failed(_)) {
                self.cancelled.raise();
            }
            // The other workers release their memory before the error is returned.
            tasks.shutdown().await;
            return Err(failed);
        }
        Ok(idle)
    }

    /// Runs the pipeline with one worker in the caller's task, which can await nothing else during a long call: for few rows
    /// and operators that return few rows.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) async fn run_in_place<S: Sink>(&self, sink: S) -> Result<S, Stop> {
        self.worker(&*self.source.start(&self.filters), sink).run().await
    }

    fn worker<S: Sink>(&self, started: &dyn StartedSource, sink: S) -> Worker<S> {
        let operators = self.branch.operators.iter().map(|factory| factory()).collect();
        let (branch, writes) = (self.branch.clone(), self.writes.clone());
        let turn = Turn::new(self.cancelled.clone());
        Worker { feed: started.feed(), operators, branch, turn, writes, sink }
    }
}

impl<S: Sink> Worker<S> {
    async fn run(mut self) -> Result<S, Stop> {
        match self.work().await {
            Ok(()) | Err(Stop::Enough) => Ok(self.sink),
            Err(error) => Err(error),
        }
    }

    async fn work(&mut self) -> Result<(), Stop> {
        let Self { feed, operators, branch, turn, writes, sink } = self;
        turn.begin();
        while let Some(mut morsel) = feed.next().await? {
            loop {
                let batch = morsel.next_batch()?;
                let is_last = batch.is_none();
                turn.check()?;
                if branch.is_over() {
                    return Ok(());
                }
                if let Some(batch) = batch {
                    push(operators, sink, turn, batch)?;
                }
                // Also after a morsel without remaining rows.
                rest(sink, writes.as_ref(), turn).await?;
                // A limit below these rows may be reached, one above them stops them itself.
                while go_on(operators, sink, turn)? {
                    rest(sink, writes.as_ref(), turn).await?;
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Waits for the sink and for writes, and yields after a turn.
async fn rest<S: Sink>(sink: &mut S, writes: Option<&Arc<dyn Backpressure>>, turn: &Turn) -> Result<(), ExecError> {
    if !sink.is_ready() {
        sink.ready().await?;
    }
    if let Some(writes) = writes.filter(|writes| writes.is_congested()) {
        writes.until_not_congested().await?;
    }
    if turn.is_over() {
        tokio::task::yield_now().await;
        turn.begin();
    }
    Ok(())
}

/// Runs one task per worker, and returns their results in order.
///
/// # Errors
/// The first error of any task. The other tasks are aborted.
pub(crate) async fn run_all<T, F>(tasks: impl Iterator<Item = F>) -> Result<Vec<T>, ExecError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, ExecError>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for (at, task) in tasks.enumerate() {
        running.spawn(async move { Ok::<_, ExecError>((at, task.await?)) });
    }
    let mut ended = Vec::with_capacity(running.len());
    while let Some(outcome) = running.join_next().await {
        match outcome.map_err(of_task).and_then(|result| result) {
            Ok(found) => ended.push(found),
            Err(error) => {
                // The other tasks release their memory before the error is returned.
                running.shutdown().await;
                return Err(error);
            }
        }
    }
    ended.sort_unstable_by_key(|(at, _)| *at);
    Ok(ended.into_iter().map(|(_, found)| found).collect())
}

/// The error of an aborted task. Resumes the panic of a task that panicked.
fn of_task(error: JoinError) -> ExecError {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => ExecError::Foreign(Box::new(error)),
    }
}

/// Pushes rows through operators into a sink, with checks for cancellation, because a batch may grow to a million rows.
fn push(operators: &mut [Box<dyn Operator>], sink: &mut dyn Sink, turn: &Turn, batch: Batch) -> Result<(), Stop> {
    turn.go_on(|| match operators.split_first_mut() {
        None => sink.consume(batch),
        Some((first, rest)) => first.push(batch, &mut |batch| push(rest, &mut *sink, turn, batch)),
    })
}

/// Lets the last operator that has rows left pass some of them on; false if none has any.
fn go_on(operators: &mut [Box<dyn Operator>], sink: &mut dyn Sink, turn: &Turn) -> Result<bool, Stop> {
    for at in (0..operators.len()).rev() {
        let (upto, rest) = operators.split_at_mut(at + 1);
        if turn.go_on(|| upto[at].go_on(&mut |batch| push(rest, &mut *sink, turn, batch)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
pub(crate) mod tests;
