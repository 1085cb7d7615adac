//! One start of the scheduler: a query alone, or the pass of several.
//!
//! A query alone gives its rows as its reader takes them. It holds its lane until its first rows: most queries have computed
//! nearly everything then, and a slow reader must not hold a lane.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::ByteSize;
use braid_df::operators::{PlanRun, QueryBudget, ResultCollector, order_joins};
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::{ExecError, MemoryBudget, PassError, QueryEnd, SharedPlan, SpillSpace};
use braid_share::{Ending, Form, Outcome, PassNumber, QueryTicket};
use braid_storage::Catalog;
use braid_storage::scalar::ScalarKey;
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::dispatcher::{Dispatcher, RunningQueries};
use super::query_handle::{BoundQuery, PassReport, QueryAnswer};
use crate::memory::QueryMemory;
use crate::templates::plan_template::ParameterRow;

/// Number of rows of a result's batch, as DataFusion's plans have them.
const BATCH_ROWS: usize = 8192;

/// Most bytes of a query's rows in one worker of a pass. Larger results run alone, as fast as their reader takes them.
const RESULT_BYTES_MAX: ByteSize = ByteSize(4 << 20);

/// A query of a pass.
pub(super) struct PassQuery {
    pub ticket: QueryTicket,
    pub query: BoundQuery,
    pub answer: oneshot::Sender<QueryAnswer>,
}

/// A start, on its way to its end.
pub(super) struct Pass {
    lane: LaneHold,
    form: Form,
    predicted: Duration,
    queries: Vec<PassQuery>,
    running: Arc<Mutex<RunningQueries>>,
}

/// A pass that the scheduler holds a lane for. Dropping it says that the pass has failed.
struct LaneHold {
    dispatcher: Arc<Dispatcher>,
    pass: PassNumber,
    ending: Option<Ending>,
    memory: Option<u64>,
}

impl LaneHold {
    fn end(mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}

impl Drop for LaneHold {
    fn drop(&mut self) {
        let ending = self.ending.unwrap_or(Ending::Failed);
        self.dispatcher.finished(self.pass, Outcome { ending, memory_bytes: self.memory, executed: None });
    }
}

impl Pass {
    pub fn new(
        dispatcher: Arc<Dispatcher>,
        pass: PassNumber,
        form: Form,
        predicted: Duration,
        queries: Vec<PassQuery>,
        running: Arc<Mutex<RunningQueries>>,
    ) -> Self {
        let lane = LaneHold { dispatcher, pass, ending: None, memory: None };
        Self { lane, form, predicted, queries, running }
    }

    pub fn number(&self) -> PassNumber {
        self.lane.pass
    }

    /// Runs it to its end.
    pub async fn run(self) {
        let Self { lane, form, predicted, queries, running } = self;
        let snapshot = lane.dispatcher.resources().store.snapshot();
        let reads_it = |query: &PassQuery| query.query.snapshot.is_none_or(|number| number == snapshot.sequence());
        let (mut queries, others): (Vec<PassQuery>, Vec<PassQuery>) = queries.into_iter().partition(reads_it);
        answer_all(others, || QueryAnswer::RunAlone);
        let Some(first) = queries.first() else { return lane.end(Ending::Cancelled) };
        let template = first.query.template.clone();
        let Some(plan) = template.on(&snapshot) else {
            answer_all(queries, || QueryAnswer::PlanAnew);
            return lane.end(Ending::Cancelled);
        };
        let schema = template.physical_schema.clone();
        if form == Form::Alone
            && queries.len() == 1
            && let Some(query) = queries.pop()
        {
            return run_alone(lane, &plan, schema, query);
        }
        let distinct = DistinctQueries::of(queries);
        distinct.register(&running);
        let shared = SharedRun { plan, schema, predicted, snapshot };
        shared.run(lane, distinct, &running).await;
    }
}

fn answer_all(queries: Vec<PassQuery>, answer: impl Fn() -> QueryAnswer) {
    for query in queries {
        // The statement may have ended.
        let _ = query.answer.send(answer());
    }
}

/// Starts a query on the plan without sets.
fn run_alone(lane: LaneHold, plan: &Plan, schema: SchemaRef, query: PassQuery) {
    let resources = lane.dispatcher.resources();
    let (memory, spill) = (resources.pass_memory(1), resources.spill.clone());
    let rows = start_alone(plan, &query.query.row, schema, AloneRun { workers: resources.worker_count, memory, spill });
    let rows = LaneStream { rows, lane: Some(lane), has_given_rows: false, has_given_up: false };
    let _ = query.answer.send(QueryAnswer::Stream(Box::pin(rows)));
}

/// What a query alone runs with.
pub(crate) struct AloneRun {
    pub workers: usize,
    pub memory: Arc<QueryMemory>,
    pub spill: Arc<SpillSpace>,
}

/// The rows of a plan with these parameters.
pub(crate) fn start_alone(
    plan: &Plan,
    row: &ParameterRow,
    schema: SchemaRef,
    run: AloneRun,
) -> SendableRecordBatchStream {
    let memory: Arc<dyn MemoryPool> = run.memory;
    let run = PlanRun {
        worker_count: run.workers,
        batch_rows: BATCH_ROWS,
        budget: QueryBudget::new(&memory),
        spill: Some(run.spill),
    };
    let plan = order_joins(plan, std::slice::from_ref(row)).bind(row).with_filters_in_scans();
    run.start(Arc::new(plan), schema, &ExecutionPlanMetricsSet::new(), 0)
}

/// All rows of a plan that reads few rows, computed without tasks of its own.
///
/// # Errors
/// When an operator fails; [`ExecError::Cancelled`] when the result is too large to be kept.
pub(crate) async fn run_in_place(
    plan: &Plan,
    row: &ParameterRow,
    schema: SchemaRef,
    run: AloneRun,
) -> Result<Vec<RecordBatch>, ExecError> {
    let memory: Arc<dyn MemoryPool> = run.memory;
    let budget = QueryBudget::new(&memory);
    let executor = Executor::new(run.workers, budget.clone()).with_spill_space(run.spill);
    let plan = order_joins(plan, std::slice::from_ref(row)).bind(row).with_filters_in_scans();
    let make_sink = || ResultCollector::new(schema.clone(), budget.clone(), RESULT_BYTES_MAX);
    let sinks = executor.run(&plan, make_sink).await?;
    let batches: Vec<Vec<RecordBatch>> =
        sinks.into_iter().map(ResultCollector::into_batches).collect::<Result<_, _>>()?;
    Ok(batches.into_iter().flatten().collect())
}

/// The rows of a query alone, which holds a lane until it gives rows.
struct LaneStream {
    rows: SendableRecordBatchStream,
    lane: Option<LaneHold>,
    has_given_rows: bool,
    has_given_up: bool,
}

impl Stream for LaneStream {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.poll_next_unpin(context);
        match &polled {
            Poll::Ready(None) => {
                if let Some(lane) = self.lane.take() {
                    lane.end(Ending::Answered);
                }
            }
            Poll::Ready(Some(Err(_))) => drop(self.lane.take()),
            Poll::Ready(Some(Ok(_))) if !self.has_given_rows => self.has_given_rows = true,
            // It has given rows, and the next are not the last: its reader may be slow.
            _ if self.has_given_rows && !self.has_given_up => {
                self.has_given_up = true;
                if let Some(lane) = &self.lane {
                    lane.dispatcher.give_up_lane(lane.pass);
                }
            }
            _ => {}
        }
        polled
    }
}

impl Drop for LaneStream {
    fn drop(&mut self) {
        if let Some(lane) = self.lane.take() {
            lane.end(Ending::Cancelled);
        }
    }
}

impl RecordBatchStream for LaneStream {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

/// The queries of a pass, by their parameters.
struct DistinctQueries {
    rows: Vec<ParameterRow>,
    queries: Vec<Vec<PassQuery>>,
}

impl DistinctQueries {
    fn of(queries: Vec<PassQuery>) -> Self {
        let places = places_of(&queries);
        let mut distinct = Self { rows: Vec::new(), queries: Vec::new() };
        for (query, place) in queries.into_iter().zip(places) {
            if place == distinct.rows.len() {
                distinct.rows.push(query.query.row.clone());
                distinct.queries.push(Vec::new());
            }
            distinct.queries[place].push(query);
        }
        distinct
    }

    fn register(&self, running: &Mutex<RunningQueries>) {
        let mut running = running.lock();
        for (place, queries) in self.queries.iter().enumerate() {
            running.staying.push(queries.len());
            running.distinct.extend(queries.iter().map(|query| (query.ticket, place)));
        }
    }

    fn query_count(&self) -> usize {
        self.queries.iter().map(Vec::len).sum()
    }

    fn answer_all(self, answer: impl Fn() -> QueryAnswer + Copy) {
        self.queries.into_iter().for_each(|queries| answer_all(queries, answer));
    }
}

/// The distinct query of each query, numbered in the order in which they occur.
fn places_of(queries: &[PassQuery]) -> Vec<usize> {
    let mut places: HashMap<Vec<ScalarKey<'_>>, usize> = HashMap::new();
    let mut of_queries = Vec::with_capacity(queries.len());
    for query in queries {
        let next = places.len();
        let key: Vec<ScalarKey<'_>> = query.query.row.iter().map(ScalarKey::of).collect();
        of_queries.push(*places.entry(key).or_insert(next));
    }
    of_queries
}

/// A pass on a plan with parameters.
struct SharedRun {
    plan: Plan,
    schema: SchemaRef,
    predicted: Duration,
    /// Held so that its tables stay until the pass has ended.
    snapshot: Arc<Catalog>,
}

impl SharedRun {
    async fn run(self, mut lane: LaneHold, distinct: DistinctQueries, running: &Mutex<RunningQueries>) {
        let started = Instant::now();
        let memory = lane.dispatcher.resources().pass_memory(distinct.rows.len());
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let budget: Arc<dyn MemoryBudget> = QueryBudget::new(&pool);
        let plan = order_joins(&self.plan, &distinct.rows);
        let shared = match SharedPlan::new(&plan, &distinct.rows, budget.clone()) {
            Ok(shared) => shared,
            Err(error) => {
                tracing::debug!(%error, "a pass could not start");
                distinct.answer_all(|| QueryAnswer::RunAlone);
                return lane.end(ending_of(&error));
            }
        };
        running.lock().set_members(shared.members().clone());
        let ends = self.execute(&lane, &shared, budget).await;
        lane.memory = Some(memory.peak().0);
        let ends = match ends {
            Ok(ends) => ends,
            Err(PassError::Other(ExecError::Cancelled)) => return lane.end(Ending::Cancelled),
            Err(error) => {
                tracing::debug!(%error, "a pass failed");
                distinct.answer_all(|| QueryAnswer::RunAlone);
                return lane.end(ending_of(&error.into_error()));
            }
        };
        let report = Arc::new(PassReport {
            query_count: distinct.query_count(),
            distinct_count: distinct.rows.len(),
            set_count: shared.set_count(),
            predicted: self.predicted,
            took: started.elapsed(),
        });
        // The lane is free before the answers are sent, so that the next pass starts while they are.
        let is_answered = ends.iter().any(|end| matches!(end, QueryEnd::Rows(_)));
        lane.end(if is_answered { Ending::Answered } else { Ending::Failed });
        for (queries, end) in distinct.queries.into_iter().zip(ends) {
            answer(queries, end, &report);
        }
        drop(self.snapshot);
    }

    async fn execute(
        &self,
        lane: &LaneHold,
        shared: &SharedPlan,
        budget: Arc<dyn MemoryBudget>,
    ) -> Result<Vec<QueryEnd<ResultCollector>>, PassError> {
        let resources = lane.dispatcher.resources();
        let executor = Executor::new(resources.worker_count, budget.clone()).with_spill_space(resources.spill.clone());
        let schema = self.schema.clone();
        let make_sink = move |_| ResultCollector::new(schema.clone(), budget.clone(), RESULT_BYTES_MAX);
        executor.run_pass(shared, make_sink).await
    }
}

/// Answers the tickets of one distinct query.
fn answer(queries: Vec<PassQuery>, end: QueryEnd<ResultCollector>, report: &Arc<PassReport>) {
    let batches = match end {
        QueryEnd::Rows(sinks) => {
            sinks.into_iter().map(ResultCollector::into_batches).collect::<Result<Vec<Vec<RecordBatch>>, _>>()
        }
        QueryEnd::Left | QueryEnd::SinkFailed(_) | QueryEnd::RunAlone => Err(ExecError::Cancelled),
    };
    match batches {
        Ok(batches) => {
            let batches: Vec<RecordBatch> = batches.into_iter().flatten().collect();
            answer_all(queries, || QueryAnswer::Rows(batches.clone(), report.clone()));
        }
        Err(_) => answer_all(queries, || QueryAnswer::RunAlone),
    }
}

fn ending_of(error: &ExecError) -> Ending {
    match error {
        ExecError::Memory(_) | ExecError::SpillSpace { .. } => Ending::OutOfMemory,
        _ => Ending::Failed,
    }
}
