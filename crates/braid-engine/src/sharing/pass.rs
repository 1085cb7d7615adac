//! One start of the scheduler: a query alone ([`super::alone_run`]), or the pass of several.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::{ExecError, MemoryBudget, PassError, QueryEnd, QueryNumber, RowFile, SharedPlan};
use braid_plan::optimization::{OrderedPlan, estimated_text};
use braid_share::{Ending, Form};
use braid_storage::Catalog;
use parking_lot::Mutex;

use super::alone_run::{AlonePlan, AloneRun, RESULT_BYTES_MAX};
use super::lane_hold::LaneHold;
use super::query_handle::{PassReport, PassStart, QueryAnswer};
use super::running_queries::{RunningQueries, answer_all};
use crate::rows::{KeptRows, ResultCollector};
use crate::templates::plan_template::{ParameterRow, PlanTemplate};

/// A start, on its way to its end.
pub(super) struct Pass {
    pub lane: LaneHold,
    pub form: Form,
    pub predicted: Duration,
    pub template: Arc<PlanTemplate>,
    /// What it reads.
    pub snapshot: Arc<Catalog>,
    pub running: Arc<Mutex<RunningQueries>>,
}

impl Pass {
    /// Runs it to its end.
    pub async fn run(self) {
        let Self { lane, form, predicted, template, snapshot, running } = self;
        let rows = running.lock().rows();
        if rows.is_empty() {
            return lane.end(Ending::Cancelled);
        }
        let Some(plan) = template.on(&snapshot) else {
            lane.end(Ending::Cancelled);
            let queries = running.lock().take_all();
            return answer_all(queries, || QueryAnswer::PlanAnew);
        };
        let schema = template.physical_schema.clone();
        let start = PassStart { number: lane.pass, predicted };
        if let (Form::Alone, [row]) = (form, &rows[..]) {
            let ordered = lane.dispatcher.resources().order_joins(&plan, &rows);
            let Some(plan) = unless_all_leave(&running, ordered).await.map(|ordered| ordered.plan) else {
                return lane.end(Ending::Cancelled);
            };
            let plan = AlonePlan::new(&plan, row, schema, lane.dispatcher.resources().worker_count);
            return AloneRun { lane, start, plan, running }.run().await;
        }
        SharedRun { plan, schema, start, snapshot }.run(lane, rows, &running).await;
    }
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
    async fn run(self, mut lane: LaneHold, rows: Vec<ParameterRow>, running: &Mutex<RunningQueries>) {
        let started = Instant::now();
        let dispatcher = lane.dispatcher.clone();
        let memory = dispatcher.resources().pass_memory(rows.len());
        let budget: Arc<dyn MemoryBudget> = memory.clone();
        let ordered = dispatcher.resources().order_pass(&self.plan, &rows);
        let Some((OrderedPlan { plan, .. }, explode)) = unless_all_leave(running, ordered).await else {
            return lane.end(Ending::Cancelled);
        };
        if dispatcher.run_explosions_apart(lane.pass, &explode) {
            return lane.end(Ending::Cancelled);
        }
        let distinct_count = explode.iter().filter(|explodes| !**explodes).count();
        let shared = match SharedPlan::new(&plan, &rows, budget.clone()) {
            Ok(shared) => shared,
            Err(error) => {
                tracing::debug!(%error, "a pass could not start");
                lane.end(ending_of(&error));
                let queries = running.lock().take_all();
                return dispatcher.run_apart(queries);
            }
        };
        running.lock().set_members(shared.members().clone());
        let ends = self.execute(&lane, &shared, budget).await;
        lane.memory_bytes = Some(memory.peak().0);
        lane.size.set_count = Some(shared.set_count());
        let ends = match ends {
            Ok(ends) => ends,
            Err(error) => {
                tracing::debug!(%error, "a pass failed");
                lane.end(match error {
                    PassError::Other(ExecError::Cancelled) => Ending::Cancelled,
                    error => ending_of(&error.into_error()),
                });
                let queries = running.lock().take_all();
                return dispatcher.run_apart(queries);
            }
        };
        lane.size.row_count = Some(row_count(&ends));
        // The lane is free before the answers are sent, so that the next pass starts while they are.
        lane.end(ending_of_queries(&ends));
        let (queries, versions, is_plan_wanted) = {
            let mut running = running.lock();
            let (versions, is_plan_wanted) = (running.versions(), running.is_plan_wanted());
            (running.take(), versions, is_plan_wanted)
        };
        let report = Arc::new(PassReport {
            query_count: queries.iter().map(Vec::len).sum(),
            distinct_count,
            set_count: shared.set_count(),
            start: self.start,
            took: started.elapsed(),
            versions,
            plan: is_plan_wanted.then(|| estimated_text(shared.plan())),
        });
        // Nobody waits for the file of another query.
        let (mut unanswered, mut in_files) = (Vec::new(), Vec::new());
        for (queries, end) in queries.into_iter().zip(ends) {
            match kept_rows(end) {
                Some(rows) if !rows.is_in_memory() => in_files.push((queries, rows)),
                Some(rows) => answer_all(queries, || QueryAnswer::Rows(rows.clone(), report.clone())),
                None => unanswered.extend(queries),
            }
        }
        dispatcher.run_apart(unanswered);
        for (queries, rows) in in_files {
            match rows.until_written().await {
                Ok(()) => answer_all(queries, || QueryAnswer::Rows(rows.clone(), report.clone())),
                Err(_) => dispatcher.run_apart(queries),
            }
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
        let file = |_| RowFile::new(resources.spill.clone(), budget.clone());
        let files: Vec<Arc<RowFile>> = (0..shared.query_count()).map(file).collect();
        let (schema, kept) = (self.schema.clone(), resources.results.within(budget.clone()));
        let make_sink = move |query: QueryNumber| {
            let collector = ResultCollector::new(schema.clone(), kept.clone(), RESULT_BYTES_MAX);
            collector.with_file(files[query.index()].clone())
        };
        executor.run_pass(shared, make_sink).await
    }
}

/// What becomes of joins that are being ordered; `None` if all queries have left meanwhile, since keys of large tables may be
/// observed for it.
async fn unless_all_leave<T>(running: &Mutex<RunningQueries>, ordered: impl Future<Output = T>) -> Option<T> {
    let none_left = running.lock().none_left();
    tokio::select! {
        ordered = ordered => Some(ordered),
        () = none_left.cancelled() => None,
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

/// The rows of a distinct query; `None` if the pass has none for it.
fn kept_rows(end: QueryEnd<ResultCollector>) -> Option<KeptRows> {
    match end {
        QueryEnd::Rows(sinks) => ResultCollector::into_kept_rows(sinks).ok(),
        QueryEnd::Left | QueryEnd::SinkFailed(_) | QueryEnd::RunAlone => None,
    }
}

/// How a pass ended whose queries ended so.
fn ending_of_queries(ends: &[QueryEnd<ResultCollector>]) -> Ending {
    if ends.iter().any(|end| matches!(end, QueryEnd::Rows(_))) {
        Ending::Answered
    } else if ends.iter().all(|end| matches!(end, QueryEnd::Left)) {
        Ending::Cancelled
    } else {
        Ending::Failed
    }
}

fn ending_of(error: &ExecError) -> Ending {
    match error {
        ExecError::Memory(_) | ExecError::SpillSpace { .. } => Ending::OutOfMemory,
        _ => Ending::Failed,
    }
}
