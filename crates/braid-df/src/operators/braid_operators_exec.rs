//! The physical operator that runs a plan of Braid's operators: a leaf with one partition for DataFusion, pipelines on all
//! cores inside.
//!
//! Rows pass through a channel of a few batches, so that a slow reader slows the pipelines down. Dropping the stream stops the
//! pipelines. Memory is reserved from the query's pool.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_base::BATCH_BYTES_MAX;
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::{Stop, StopFlag};
use braid_exec::{Batch, ExecError, MemoryBudget, SpillSpace};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
};
use futures::StreamExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::Sender;

use super::row_converter::RowConverter;
use crate::bounded::batch_bytes;

/// Batches per worker in the channel to the reader.
const CHANNEL_BATCHES: usize = 2;

/// Batches that a worker may hold back before it blocks its thread: one vector of rows can become very many.
const HELD_BACK_MAX: usize = 16;

/// Runs a plan.
pub struct BraidOperatorsExec {
    plan: Arc<Plan>,
    worker_count: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl BraidOperatorsExec {
    /// The plan's rows, as batches of `schema`.
    pub fn new(plan: Arc<Plan>, schema: SchemaRef, worker_count: usize) -> Self {
        assert_eq!(plan.column_count(), schema.fields().len(), "a plan has the columns of its schema");
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Both,
            Boundedness::Bounded,
        )
        // Workers yield themselves, and the stream waits for its channel.
        .with_scheduling_type(SchedulingType::Cooperative);
        Self { plan, worker_count, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same, with the metrics of a run of its plan ([`PlanRun::start`]).
    #[must_use]
    pub fn with_metrics(self, metrics: ExecutionPlanMetricsSet) -> Self {
        Self { metrics, ..self }
    }
}

impl fmt::Debug for BraidOperatorsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BraidOperatorsExec").field("worker_count", &self.worker_count).finish_non_exhaustive()
    }
}

impl DisplayAs for BraidOperatorsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tree = String::new();
        self.plan.describe(1, &mut tree)?;
        write!(f, "BraidOperatorsExec: workers={}\n{}", self.worker_count, tree.trim_end())
    }
}

impl ExecutionPlan for BraidOperatorsExec {
    fn name(&self) -> &'static str {
        "BraidOperatorsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let run = PlanRun {
            worker_count: self.worker_count,
            batch_rows: context.session_config().batch_size(),
            budget: QueryBudget::new(context.memory_pool()),
            spill: context.session_config().get_extension::<SpillSpace>(),
        };
        Ok(run.start(self.plan.clone(), self.schema(), &self.metrics, partition))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// What a plan runs with.
#[derive(Debug)]
pub struct PlanRun {
    /// Number of workers.
    pub worker_count: usize,
    /// Number of rows of a result's batch.
    pub batch_rows: usize,
    /// The memory that operators may hold.
    pub budget: Arc<QueryBudget>,
    /// Where operators spill; without it, exceeding the budget is an error.
    pub spill: Option<Arc<SpillSpace>>,
}

impl PlanRun {
    /// Starts a plan. Its rows are batches of `schema`, which has the plan's columns.
    pub fn start(
        self,
        plan: Arc<Plan>,
        schema: SchemaRef,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> SendableRecordBatchStream {
        let Self { worker_count, batch_rows, budget, spill } = self;
        let mut builder = RecordBatchReceiverStream::builder(schema.clone(), CHANNEL_BATCHES * worker_count);
        let sender = builder.tx();
        let baseline = BaselineMetrics::new(metrics, partition);
        let mut executor = Executor::new(worker_count, budget);
        if let Some(space) = spill {
            executor = executor.with_spill_space(space);
        }
        let cancel = CancelOnDrop(executor.cancellation());
        let changes = PlanChanges::new(metrics);
        let of_rows = schema.clone();
        builder.spawn(async move {
            let make_sink = || OutputSink::new(of_rows.clone(), batch_rows, sender.clone(), baseline.clone());
            let sinks = executor.run(&plan, make_sink).await.map_err(datafusion_error)?;
            changes.note(&executor);
            for mut sink in sinks {
                sink.flush().map_err(datafusion_error)?;
                sink.ready().await.map_err(datafusion_error)?;
            }
            Ok(())
        });
        // A worker that computes in the stream's own task cannot be aborted. It checks this signal.
        let rows = builder.build().map(move |batch| {
            let _held = &cancel;
            batch
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}

/// The run-time corrections of the plan, as EXPLAIN ANALYZE shows them.
struct PlanChanges {
    joins_swapped: Count,
    joins_reordered: Count,
}

impl PlanChanges {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        Self { joins_swapped: counter("joins_swapped"), joins_reordered: counter("joins_reordered") }
    }

    fn note(&self, executor: &Executor) {
        self.joins_swapped.add(executor.swapped_join_count() as usize);
        self.joins_reordered.add(executor.reordering_count() as usize);
    }
}

/// Ends a run when its rows are not read any more.
struct CancelOnDrop(StopFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// An error of the operators as a DataFusion error.
pub fn datafusion_error(error: ExecError) -> DataFusionError {
    match error {
        ExecError::Foreign(error) => match error.downcast::<DataFusionError>() {
            Ok(error) => *error,
            Err(error) => DataFusionError::External(error),
        },
        ExecError::Memory(exceeded) => DataFusionError::ResourcesExhausted(ExecError::Memory(exceeded).to_string()),
        error => DataFusionError::External(Box::new(error)),
    }
}

/// Whether the reader has another thread. On a single-threaded runtime, it runs only after the operator.
fn may_block() -> bool {
    Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread
}

/// A query's memory pool as a budget of the operators.
#[derive(Debug)]
pub struct QueryBudget {
    pool: Arc<dyn MemoryPool>,
    reservation: Mutex<MemoryReservation>,
}

impl QueryBudget {
    /// The budget of a query with this pool.
    pub fn new(pool: &Arc<dyn MemoryPool>) -> Arc<Self> {
        let reservation = MemoryConsumer::new("Braid's operators").register(pool);
        Arc::new(Self { pool: pool.clone(), reservation: Mutex::new(reservation) })
    }
}

impl MemoryBudget for QueryBudget {
    fn try_grow(&self, bytes: usize) -> Result<(), String> {
        self.reservation.lock().try_grow(bytes).map_err(|error| error.to_string())
    }

    fn shrink(&self, bytes: usize) {
        self.reservation.lock().shrink(bytes);
    }

    fn free(&self) -> usize {
        match self.pool.memory_limit() {
            MemoryLimit::Finite(limit) => limit.saturating_sub(self.pool.reserved()),
            MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
        }
    }
}

/// One worker's sink, which sends rows to the stream.
struct OutputSink {
    rows: RowConverter,
    held_back: HeldBack,
}

/// Batches on their way to the stream.
struct HeldBack {
    batches: Vec<RecordBatch>,
    sender: Sender<Result<RecordBatch>>,
    baseline: BaselineMetrics,
}

impl OutputSink {
    fn new(
        schema: SchemaRef,
        batch_rows: usize,
        sender: Sender<Result<RecordBatch>>,
        baseline: BaselineMetrics,
    ) -> Self {
        let held_back = HeldBack { batches: Vec::new(), sender, baseline };
        Self { rows: RowConverter::new(schema, batch_rows), held_back }
    }

    /// Makes batches of the rows there are.
    fn flush(&mut self) -> Result<(), ExecError> {
        let Self { rows, held_back } = self;
        rows.flush(&mut |batch| held_back.take(batch))
    }
}

impl HeldBack {
    fn take(&mut self, batch: RecordBatch) -> Result<(), ExecError> {
        self.baseline.record_output(batch.num_rows());
        // A long row is counted until it is read. No other is made meanwhile.
        let is_long = batch_bytes(&batch) > BATCH_BYTES_MAX;
        self.batches.push(batch);
        if (self.batches.len() > HELD_BACK_MAX || is_long) && may_block() {
            let batches = std::mem::take(&mut self.batches);
            let sender = &self.sender;
            let send = async {
                for batch in batches {
                    sender.send(Ok(batch)).await.map_err(|_| ExecError::Cancelled)?;
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
                let _ = self.held_back.sender.send(Ok(batch)).await;
            }
            Ok(())
        })
    }
}
