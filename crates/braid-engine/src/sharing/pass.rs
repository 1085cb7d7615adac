//! One start of the scheduler: a query alone ([`super::alone_run`]), or the pass of several.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_df::operators::{QueryBudget, ResultCollector};
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::{ExecError, MemoryBudget, PassError, QueryEnd, SharedPlan};
use braid_share::{Ending, Form, PassNumber, QueryTicket};
use braid_storage::Catalog;
use braid_storage::scalar::ScalarKey;
use datafusion::execution::memory_pool::MemoryPool;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::alone_run::{RESULT_BYTES_MAX, run_alone};
use super::dispatcher::{Dispatcher, RunningQueries};
use super::lane_hold::LaneHold;
use super::query_handle::{BoundQuery, PassReport, PassStart, QueryAnswer, Wanted};
use crate::templates::plan_template::ParameterRow;

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

impl Pass {
    pub fn new(
        dispatcher: Arc<Dispatcher>,
        pass: PassNumber,
        form: Form,
        predicted: Duration,
        queries: Vec<PassQuery>,
        running: Arc<Mutex<RunningQueries>>,
    ) -> Self {
        Self { lane: LaneHold::new(dispatcher, pass), form, predicted, queries, running }
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
        let start = PassStart { number: lane.pass, predicted };
        if form == Form::Alone
            && queries.len() == 1
            && let Some(query) = queries.pop()
        {
            let row = std::slice::from_ref(&query.query.row);
            let plan = lane.dispatcher.resources().order_joins(&plan, row).await;
            return run_alone(lane, start, &plan, schema, query);
        }
        let distinct = DistinctQueries::of(queries);
        distinct.register(&running);
        let shared = SharedRun { plan, schema, start, snapshot };
        shared.run(lane, distinct, &running).await;
    }
}

fn answer_all(queries: Vec<PassQuery>, answer: impl Fn() -> QueryAnswer) {
    for query in queries {
        // The statement may have ended.
        let _ = query.answer.send(answer());
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

    /// Whether a statement wants to know the plan.
    fn is_plan_wanted(&self) -> bool {
        self.queries.iter().flatten().any(|query| query.query.wanted == Wanted::RowsAndPlan)
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
    start: PassStart,
    /// Held so that its tables stay until the pass has ended.
    snapshot: Arc<Catalog>,
}

impl SharedRun {
    async fn run(self, mut lane: LaneHold, distinct: DistinctQueries, running: &Mutex<RunningQueries>) {
        let started = Instant::now();
        let memory = lane.dispatcher.resources().pass_memory(distinct.rows.len());
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let budget: Arc<dyn MemoryBudget> = QueryBudget::new(&pool);
        let plan = lane.dispatcher.resources().order_joins(&self.plan, &distinct.rows).await;
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
        lane.memory_bytes = Some(memory.peak().0);
        lane.size.set_count = Some(shared.set_count());
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
            start: self.start,
            took: started.elapsed(),
            plan: distinct.is_plan_wanted().then(|| shared.describe()),
        });
        lane.size.row_count = Some(row_count(&ends));
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

/// Rows of the distinct queries' results.
fn row_count(ends: &[QueryEnd<ResultCollector>]) -> u64 {
    let of_query = |end: &QueryEnd<ResultCollector>| match end {
        QueryEnd::Rows(sinks) => sinks.iter().map(ResultCollector::row_count).sum(),
        QueryEnd::Left | QueryEnd::SinkFailed(_) | QueryEnd::RunAlone => 0,
    };
    ends.iter().map(of_query).sum()
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
