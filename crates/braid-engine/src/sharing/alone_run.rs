//! A query alone, on the plan without sets, and the queries that equal it.
//!
//! In a lane a task of its own takes the rows, so that no reader holds the lane or the others up. Within a bound the rows are kept
//! until their end, and are the answer of all queries. Beyond the bound no more queries are attached and the lane is given up:
//! the oldest query gets what was kept and then the rest as it reads. Each of the others gets a run of its own, one started
//! after the other, since readers of one stream would wait for the slowest.
//!
//! ```text
//! rows --> kept --end--> all queries
//!            |
//!            +--too many--> first query: kept, then the rest      second query: a new run      third ...
//! ```

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::ByteSize;
use braid_exec::executor::Executor;
use braid_exec::plan::{Plan, PlanText};
use braid_exec::{ExecError, SpillSpace};
use braid_plan::optimization::estimated_text;
use braid_share::Ending;
use futures::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::lane_hold::LaneHold;
use super::query_handle::{AloneRows, PassStart, QueryAnswer};
use super::rows_in_memory::RowsInMemory;
use super::running_queries::{RunningQueries, answer_all};
use crate::memory::QueryMemory;
use crate::rows::{PlanRun, ResultCollector, Rows, RunFigures};
use crate::templates::plan_template::ParameterRow;

/// Most bytes of a query's rows that one worker keeps in memory, where rows are kept until the query's end. Further rows of a pass
/// go to a temporary file. A query alone with a larger result gives its rows as fast as its reader takes them.
pub(super) const RESULT_BYTES_MAX: ByteSize = ByteSize(4 << 20);

/// The plan of a query alone, and what it measures.
#[derive(Clone, Debug)]
pub(crate) struct AlonePlan {
    plan: Arc<Plan>,
    schema: SchemaRef,
    workers: usize,
    figures: Arc<RunFigures>,
}

impl AlonePlan {
    /// A plan, whose joins are ordered, with these parameters, for a number of workers. Its rows are batches of `schema`.
    pub fn new(plan: &Plan, row: &ParameterRow, schema: SchemaRef, workers: usize) -> Self {
        let plan = plan.bind(row).with_filters_in_scans();
        Self { plan: Arc::new(plan), schema, workers, figures: Arc::default() }
    }

    /// Its rows.
    pub fn start(&self, memory: Arc<QueryMemory>, spill: Arc<SpillSpace>) -> Rows {
        let run = PlanRun { worker_count: self.workers, budget: memory, spill };
        run.start(self.plan.clone(), self.schema.clone(), &self.figures)
    }

    /// The same plan, to be run again.
    fn again(&self) -> Self {
        Self { figures: Arc::default(), ..self.clone() }
    }

    /// All its rows, for a plan that reads few: in this task if it reads no table or is a look-up, else in one task of its own, since
    /// the calls of a deep plan need a stack that nobody else has used.
    ///
    /// # Errors
    /// When an operator fails; [`ExecError::Cancelled`] when the result is too large to be kept.
    pub async fn run_in_place(
        &self,
        memory: Arc<QueryMemory>,
        spill: Arc<SpillSpace>,
    ) -> Result<Vec<RecordBatch>, ExecError> {
        let run = collect(self.plan.clone(), self.schema.clone(), self.workers, memory, spill);
        if self.plan.tables().is_empty() || Executor::runs_in_place(&self.plan) {
            return run.await;
        }
        // The task ends when this future is dropped.
        let mut task = JoinSet::new();
        task.spawn(run);
        match task.join_next().await {
            Some(Ok(rows)) => rows,
            Some(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => Err(ExecError::Foreign(Box::new(error))),
            },
            None => Err(ExecError::Cancelled),
        }
    }

    /// How it runs, for EXPLAIN; `with_figures` with what its runs have done.
    pub fn course(&self, with_figures: bool) -> String {
        let mut text = format!("workers={}", self.workers);
        if with_figures {
            text.push_str(&format!(", {}", self.figures));
        }
        text
    }

    /// Its operators with their estimates, as EXPLAIN shows them.
    pub fn text(&self) -> PlanText {
        estimated_text(&self.plan)
    }
}

/// All rows of a plan.
async fn collect(
    plan: Arc<Plan>,
    schema: SchemaRef,
    workers: usize,
    memory: Arc<QueryMemory>,
    spill: Arc<SpillSpace>,
) -> Result<Vec<RecordBatch>, ExecError> {
    let executor = Executor::new(workers, memory.clone()).with_spill_space(spill);
    let make_sink = || ResultCollector::new(schema.clone(), memory.clone(), RESULT_BYTES_MAX);
    let sinks = executor.run(&plan, make_sink).await?;
    let batches: Vec<Vec<RecordBatch>> =
        sinks.into_iter().map(ResultCollector::into_batches).collect::<Result<_, _>>()?;
    Ok(batches.into_iter().flatten().collect())
}

/// A query in a lane, on a plan whose joins are ordered for it.
pub(super) struct AloneRun {
    pub lane: LaneHold,
    pub start: PassStart,
    pub plan: AlonePlan,
    pub running: Arc<Mutex<RunningQueries>>,
}

/// What became of the rows of a query.
enum Collected {
    All,
    Failed(ExecError),
    /// They are too many, from this batch on.
    TooMany(RecordBatch),
    /// All queries have left.
    Cancelled,
}

impl AloneRun {
    /// Runs it to its end, or until a reader takes its rows.
    pub async fn run(mut self) {
        let memory = self.lane.dispatcher.resources().pass_memory(1);
        let mut rows = self.start_plan(&self.plan, memory.clone());
        let mut kept = RowsInMemory::new(&memory);
        let none_left = self.running.lock().none_left();
        let collected = tokio::select! {
            collected = collect_kept(&mut rows, &mut kept) => collected,
            () = none_left.cancelled() => Collected::Cancelled,
        };
        self.lane.memory_bytes = Some(memory.peak().0);
        self.lane.size.row_count = Some(kept.row_count());
        match collected {
            Collected::All => {
                drop(rows);
                self.lane.end(Ending::Answered);
                let (queries, versions) = {
                    let mut running = self.running.lock();
                    (running.take_all(), running.versions())
                };
                let rows = AloneRows { rows: Arc::new(kept), query_count: queries.len(), versions };
                answer_all(queries, || QueryAnswer::RowsAlone(rows.clone(), self.plan.clone(), self.start));
            }
            Collected::Failed(error) => {
                drop(rows);
                self.lane.end(Ending::Failed);
                let error = Arc::new(error);
                let queries = self.running.lock().take_all();
                answer_all(queries, || QueryAnswer::Failed(error.clone()));
            }
            Collected::TooMany(batch) => self.stream(memory, kept, batch, rows).await,
            Collected::Cancelled => {
                drop(rows);
                self.lane.end(Ending::Cancelled);
            }
        }
    }

    fn start_plan(&self, plan: &AlonePlan, memory: Arc<QueryMemory>) -> Rows {
        plan.start(memory, self.lane.dispatcher.resources().spill.clone())
    }

    /// The oldest query reads these rows, each of the others those of a run of its own.
    async fn stream(self, memory: Arc<QueryMemory>, kept: RowsInMemory, next: RecordBatch, rows: Rows) {
        let (dispatcher, start) = (self.lane.dispatcher.clone(), self.start);
        let mut queries = dispatcher.stream_to_first(self.lane.pass).into_iter();
        let Some(first) = queries.next() else { return self.lane.end(Ending::Cancelled) };
        let schema = rows.schema();
        let rows = Arc::new(kept).stream(schema.clone()).chain(stream::iter([Ok(next)])).chain(rows);
        let rows = LaneStream { rows: Rows::new(schema.clone(), rows), memory, lane: Some(self.lane), row_count: 0 };
        first.answer(QueryAnswer::Stream(Rows::new(schema, rows), self.plan.clone(), start));
        for mut query in queries {
            let resources = dispatcher.resources();
            let plan = self.plan.again();
            let mut rows = plan.start(resources.pass_memory(1), resources.spill.clone());
            let first = tokio::select! {
                first = rows.next() => first,
                () = query.answer.closed() => continue,
            };
            let rows = Rows::new(rows.schema(), stream::iter(first).chain(rows));
            query.answer(QueryAnswer::Stream(rows, plan, start));
        }
    }
}

/// Keeps rows up to their end.
async fn collect_kept(rows: &mut Rows, kept: &mut RowsInMemory) -> Collected {
    while let Some(batch) = rows.next().await {
        match batch.map(|batch| kept.add(batch)) {
            Ok(Ok(())) => {}
            Ok(Err(batch)) => return Collected::TooMany(batch),
            Err(error) => return Collected::Failed(error),
        }
    }
    Collected::All
}

/// The rows of a query alone that has given its lane up. Their end is that of its pass.
struct LaneStream {
    rows: Rows,
    memory: Arc<QueryMemory>,
    lane: Option<LaneHold>,
    row_count: u64,
}

impl LaneStream {
    fn end(&mut self, ending: Ending) {
        if let Some(mut lane) = self.lane.take() {
            lane.memory_bytes = Some(self.memory.peak().0);
            lane.size.row_count = Some(self.row_count);
            lane.end(ending);
        }
    }
}

impl Stream for LaneStream {
    type Item = Result<RecordBatch, ExecError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.poll_next_unpin(context);
        match &polled {
            Poll::Ready(None) => self.end(Ending::Answered),
            Poll::Ready(Some(Err(_))) => self.end(Ending::Failed),
            Poll::Ready(Some(Ok(batch))) => self.row_count += batch.num_rows() as u64,
            Poll::Pending => {}
        }
        polled
    }
}

impl Drop for LaneStream {
    fn drop(&mut self) {
        self.end(Ending::Cancelled);
    }
}
