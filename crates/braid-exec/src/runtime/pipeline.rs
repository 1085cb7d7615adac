//! Push-based pipelines: a source, operators that each batch is pushed through, a sink.
//!
//! Workers pull *morsels* (a chunk of a table, a piece of a materialised result) from the source and push their batches
//! through to the sink, each with operators and a sink of its own (morsel-driven parallelism: Leis et al., SIGMOD 2014).
//! Work that could block is asynchronous at three places only: the next morsel, a sink that waits (for its reader, for
//! its own rows to leave memory), and writes of temporary files when too much is on its way.
//! Between them everything is plain calls.
//!
//! Rules:
//! 1. A worker gives way to other tasks when it has computed for [`QUANTUM`], so that the network's tasks run and a
//!    cancelled query stops there.
//! 2. The first error of any worker ends the pipeline; the others are aborted.
//! 3. Dropping the pipeline's future aborts its workers where they give way. Before each batch, on its way too, they look
//!    whether the query was cancelled: whoever reads the rows says so, since a worker that computes in the very task that is
//!    aborted would not notice.
//! 4. A batch that becomes very many on its way keeps no thread from the runtime's other tasks ([`turn`]).

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinSet};

use super::backpressure::Backpressure;
use super::stop::{Stop, StopFlag};
use crate::keys::key_filter::KeyFilter;
use crate::query_sets::index::indexed_predicates::IndexedPredicates;
use crate::runtime::turn::Turn;
use crate::{Batch, ExecError};

pub use crate::runtime::turn::QUANTUM;

/// Where rows come from.
pub trait Source: Send + Sync + fmt::Debug {
    /// Most workers that it keeps busy.
    fn worker_count_max(&self) -> usize;

    /// Starts it. What `filters` say about columns may be used to leave out rows; nothing needs to be.
    fn start(&self, filters: &[RowFilter]) -> Arc<dyn StartedSource>;

    /// What EXPLAIN says.
    fn describe(&self) -> String;

    /// Most rows that it has, where that is known before it is started; then it can be started as often as one likes, and
    /// has the same rows each time. `None` otherwise.
    fn row_count_max(&self) -> Option<u64> {
        None
    }

    /// Whether it leaves out rows of what [`Self::row_count_max`] counts, as far as one can see.
    fn is_narrowed(&self) -> bool {
        false
    }

    /// Its rows that any query wants, with the set of the queries that do as one more column behind the others; `None`
    /// when it cannot find sets by itself.
    fn with_sets(&self, filters: Vec<SetFilter>) -> Option<Arc<dyn Source>> {
        drop(filters);
        None
    }

    /// Its rows, perhaps without some that no query wants; `None` when it cannot leave any out.
    fn without_unwanted(&self, filters: &[SetFilter]) -> Option<Arc<dyn Source>> {
        let _ = filters;
        None
    }
}

/// What many queries want of a column.
#[derive(Clone, Debug)]
pub struct SetFilter {
    /// The source's column.
    pub column: usize,
    /// Which of its values each query wants, and the sets.
    pub predicates: Arc<IndexedPredicates>,
}

/// A source that runs.
pub trait StartedSource: Send + Sync {
    /// One worker's share: each morsel goes to one of them.
    fn feed(&self) -> Box<dyn Feed>;
}

/// One worker's stream of morsels.
pub trait Feed: Send {
    /// The next one; `None` at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>>;
}

/// Work that needs no waiting.
pub trait Morsel: Send {
    /// The next rows, at most a vector's, never none; `None` at the end.
    ///
    /// # Errors
    /// When they cannot be read.
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError>;
}

/// What the keys of a join's build side say about a source's rows: which of them cannot have partners.
#[derive(Clone)]
pub struct RowFilter {
    /// The source's columns that are the join's keys.
    pub columns: Vec<usize>,
    /// The keys.
    pub keys: KeyFilter,
}

/// One worker's operator.
pub trait Operator: Send {
    /// Takes rows and hands on what becomes of them, at once.
    ///
    /// # Errors
    /// Why it takes no more rows: its own reasons, and those of `next`.
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop>;
}

/// What is behind an operator.
pub type Next<'a> = dyn FnMut(Batch) -> Result<(), Stop> + 'a;

/// Makes an operator for each worker.
pub type OperatorFactory = Arc<dyn Fn() -> Box<dyn Operator> + Send + Sync>;

/// One worker's end of a pipeline.
pub trait Sink: Send + 'static {
    /// Takes rows.
    ///
    /// # Errors
    /// Why it takes no more.
    fn consume(&mut self, batch: Batch) -> Result<(), Stop>;

    /// Waits until it can take more; called after each of the source's batches.
    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether [`Self::ready`] would wait.
    fn is_ready(&self) -> bool {
        true
    }
}

/// What the rows of a source go through on their way to a sink, and what ends that.
#[derive(Clone, Default)]
pub struct Branch {
    /// What rows are pushed through.
    pub operators: Vec<OperatorFactory>,
    /// Limits on the way. A branch is over when any of them is reached.
    pub limits: Vec<StopFlag>,
}

impl Branch {
    /// Whether a limit is reached.
    pub fn is_over(&self) -> bool {
        self.limits.iter().any(StopFlag::is_raised)
    }
}

/// A source and the operators behind it.
#[derive(Clone)]
pub struct Pipeline {
    /// Where rows come from.
    pub source: Arc<dyn Source>,
    /// What the source may leave out.
    pub filters: Vec<RowFilter>,
    /// Where they go.
    pub branch: Branch,
    /// Whether the query was cancelled.
    pub cancelled: StopFlag,
    /// Writes of temporary files that rows on the way may go to.
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
    /// Runs to the end with at most `worker_count_max` workers, one for each of the sinks at most, which are handed back.
    ///
    /// # Errors
    /// The first of any worker. When a join is to be avoided ([`Stop::BeginAnew`]) the workers have ended, and the query
    /// goes on.
    pub async fn run<S: Sink>(&self, sinks: Vec<S>) -> Result<Vec<S>, Stop> {
        let started = self.source.start(&self.filters);
        let worker_count = sinks.len().min(self.source.worker_count_max()).max(1);
        let mut idle = sinks;
        let mut busy: Vec<Worker<S>> = idle.drain(..worker_count).map(|sink| self.worker(&*started, sink)).collect();
        // In the caller's task nothing else that it waits for would be noticed during a long call.
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
            // What the others hold is given back before the error is told.
            tasks.shutdown().await;
            return Err(failed);
        }
        Ok(idle)
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
        self.turn.begin();
        while let Some(mut morsel) = self.feed.next().await? {
            loop {
                let batch = morsel.next_batch()?;
                let is_last = batch.is_none();
                self.turn.check()?;
                if self.branch.is_over() {
                    return Ok(());
                }
                if let Some(batch) = batch {
                    push(&mut self.operators, &mut self.sink, &self.turn, batch)?;
                }
                if !self.sink.is_ready() {
                    self.sink.ready().await?;
                }
                if let Some(writes) = self.writes.as_ref().filter(|writes| writes.is_congested()) {
                    writes.until_not_congested().await?;
                }
                // Also after a morsel of which nothing was left.
                if self.turn.is_over() {
                    tokio::task::yield_now().await;
                    self.turn.begin();
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Runs one task for each worker; what they give, in their order.
///
/// # Errors
/// The first of any task; the others are aborted.
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
                // What the others hold is given back before the error is told.
                running.shutdown().await;
                return Err(error);
            }
        }
    }
    ended.sort_unstable_by_key(|(at, _)| *at);
    Ok(ended.into_iter().map(|(_, found)| found).collect())
}

/// Why a task did not end by itself. Its panic goes on here.
fn of_task(error: JoinError) -> ExecError {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => ExecError::Foreign(Box::new(error)),
    }
}

/// Pushes rows through operators into a sink. A batch that becomes a million is noticed to be cancelled on the way.
fn push(operators: &mut [Box<dyn Operator>], sink: &mut dyn Sink, turn: &Turn, batch: Batch) -> Result<(), Stop> {
    turn.go_on(|| match operators.split_first_mut() {
        None => sink.consume(batch),
        Some((first, rest)) => first.push(batch, &mut |batch| push(rest, &mut *sink, turn, batch)),
    })
}

#[cfg(test)]
pub(crate) mod tests;
