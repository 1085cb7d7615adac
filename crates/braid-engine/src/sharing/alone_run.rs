//! A query alone, on the plan without sets.
//!
//! It gives its rows as its reader takes them. In a lane it holds the lane until its first rows: most queries have computed
//! nearly everything then, and a slow reader must not hold a lane.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::ByteSize;
use braid_df::operators::{BraidOperatorsExec, PlanRun, QueryBudget, ResultCollector};
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::{ExecError, SpillSpace};
use braid_share::Ending;
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::{Stream, StreamExt};
use tokio::task::JoinSet;

use super::lane_hold::LaneHold;
use super::pass::PassQuery;
use super::query_handle::{PassStart, QueryAnswer};
use crate::memory::QueryMemory;
use crate::templates::plan_template::ParameterRow;

/// Number of rows of a result's batch, as DataFusion's plans have them.
const BATCH_ROWS: usize = 8192;

/// Most bytes of a query's rows in one worker, where rows are kept until the query's end. Queries with larger results give their
/// rows as fast as their reader takes them.
pub(super) const RESULT_BYTES_MAX: ByteSize = ByteSize(4 << 20);

/// The plan of a query alone, and what it measures.
#[derive(Clone, Debug)]
pub(crate) struct AlonePlan {
    plan: Arc<Plan>,
    schema: SchemaRef,
    workers: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl AlonePlan {
    /// A plan, whose joins are ordered, with these parameters, for a number of workers. Its rows are batches of `schema`.
    pub fn new(plan: &Plan, row: &ParameterRow, schema: SchemaRef, workers: usize) -> Self {
        let plan = plan.bind(row).with_filters_in_scans();
        Self { plan: Arc::new(plan), schema, workers, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Its rows.
    pub fn start(&self, memory: Arc<QueryMemory>, spill: Arc<SpillSpace>) -> SendableRecordBatchStream {
        let memory: Arc<dyn MemoryPool> = memory;
        let run = PlanRun {
            worker_count: self.workers,
            batch_rows: BATCH_ROWS,
            budget: QueryBudget::new(&memory),
            spill: Some(spill),
        };
        run.start(self.plan.clone(), self.schema.clone(), &self.metrics, 0)
    }

    /// All its rows, for a plan that reads few: in this task if it reads no table, else in one task of its own, since the calls
    /// of a deep plan need a stack that nobody else has used.
    ///
    /// # Errors
    /// When an operator fails; [`ExecError::Cancelled`] when the result is too large to be kept.
    pub async fn run_in_place(
        &self,
        memory: Arc<QueryMemory>,
        spill: Arc<SpillSpace>,
    ) -> Result<Vec<RecordBatch>, ExecError> {
        let run = collect(self.plan.clone(), self.schema.clone(), self.workers, memory, spill);
        if self.plan.tables().is_empty() {
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

    /// What EXPLAIN shows of it, with what it has measured.
    pub fn shown(&self) -> Arc<dyn ExecutionPlan> {
        let shown = BraidOperatorsExec::new(self.plan.clone(), self.schema.clone(), self.workers);
        Arc::new(shown.with_metrics(self.metrics.clone()))
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
    let memory: Arc<dyn MemoryPool> = memory;
    let budget = QueryBudget::new(&memory);
    let executor = Executor::new(workers, budget.clone()).with_spill_space(spill);
    let make_sink = || ResultCollector::new(schema.clone(), budget.clone(), RESULT_BYTES_MAX);
    let sinks = executor.run(&plan, make_sink).await?;
    let batches: Vec<Vec<RecordBatch>> =
        sinks.into_iter().map(ResultCollector::into_batches).collect::<Result<_, _>>()?;
    Ok(batches.into_iter().flatten().collect())
}

/// Starts a query in a lane, on a plan whose joins are ordered for it.
pub(super) fn run_alone(lane: LaneHold, start: PassStart, plan: &Plan, schema: SchemaRef, query: PassQuery) {
    let resources = lane.dispatcher.resources();
    let (memory, spill) = (resources.pass_memory(1), resources.spill.clone());
    let plan = AlonePlan::new(plan, &query.query.row, schema, resources.worker_count);
    let rows = plan.start(memory.clone(), spill);
    let rows = LaneStream { rows, memory, lane: Some(lane), row_count: 0, has_given_rows: false, has_given_up: false };
    // The statement may have ended.
    let _ = query.answer.send(QueryAnswer::Stream(Box::pin(rows), plan, start));
}

/// The rows of a query alone, which holds a lane until it gives rows.
struct LaneStream {
    rows: SendableRecordBatchStream,
    memory: Arc<QueryMemory>,
    lane: Option<LaneHold>,
    row_count: u64,
    has_given_rows: bool,
    has_given_up: bool,
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
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(batch))) = &polled {
            self.row_count += batch.num_rows() as u64;
        }
        match &polled {
            Poll::Ready(None) => self.end(Ending::Answered),
            Poll::Ready(Some(Err(_))) => self.end(Ending::Failed),
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
        self.end(Ending::Cancelled);
    }
}

impl RecordBatchStream for LaneStream {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
