//! Projections and filters that take as many rows of a batch at a time as their values are short.
//!
//! In the place of DataFusion's operators wherever these call bounded functions, or make columns of long constants. What they
//! hand on of a batch in pieces is long, and DataFusion's operators further on may gather as many such rows as a
//! batch has otherwise: so it is held under the statement's memory budget.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use braid_base::BATCH_BYTES_MAX;
use braid_exec::expression::PieceRows;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions};
use futures::{Stream, StreamExt};

use super::bounded_function::BoundedFunction;
use super::counted_array::{counted_array, value_bytes};
use super::division::{batch_too_long, constant_bytes, divisible, is_batch_too_long, literal_bytes};

/// Bytes of a row's constants from which on a full batch of DataFusion's has too many.
const ROW_BYTES_MANY: usize = BATCH_BYTES_MAX / braid_scan::spec::BATCH_ROWS;

/// Bytes of a column from which on it is worth being counted.
const COUNTED_BYTES_MIN: usize = 64 << 10;

/// The physical rule that puts these operators into plans; to be the last but those that only wrap operators.
#[derive(Debug)]
pub struct BoundedRows;

impl PhysicalOptimizerRule for BoundedRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = plan.transform_up(|plan| {
            if let Some(work) = work_of(&plan) {
                return Ok(Transformed::yes(BoundedRowsExec::of(work, plan)));
            }
            let Some(aggregation) = plan.downcast_ref::<AggregateExec>() else { return Ok(Transformed::no(plan)) };
            let row_bytes = argument_bytes(aggregation);
            if row_bytes <= ROW_BYTES_MANY {
                return Ok(Transformed::no(plan));
            }
            // The delimiter of `string_agg` is added for each row of a batch before anything is counted.
            let rows_max = (BATCH_BYTES_MAX / row_bytes).max(1);
            let input = BoundedRowsExec::of(Work::Pass(rows_max), aggregation.input().clone());
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Ok(Transformed::yes(plan.replace_children(vec![input], options)?))
        })?;
        Ok(replaced.data)
    }

    fn name(&self) -> &'static str {
        "bounded_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What is done with rows.
#[derive(Clone, Debug)]
enum Work {
    /// Expressions become columns.
    Project(Arc<[Arc<dyn PhysicalExpr>]>),
    /// Rows for which a condition is true stay, with some of their columns.
    Filter(Arc<dyn PhysicalExpr>, Option<Arc<[usize]>>),
    /// All rows pass unchanged, in batches of at most this number: the next operator has constants for each row.
    Pass(usize),
}

/// The work of an operator that may make long values; `None` of any other.
fn work_of(plan: &Arc<dyn ExecutionPlan>) -> Option<Work> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let exprs: Arc<[Arc<dyn PhysicalExpr>]> = projection.expr().iter().map(|column| column.expr.clone()).collect();
        return exprs.iter().any(may_be_long).then_some(Work::Project(exprs));
    }
    let filter = plan.downcast_ref::<FilterExec>().filter(|filter| filter.fetch().is_none())?;
    let columns = filter.projection().as_ref().map(|columns| columns.iter().copied().collect());
    may_be_long(filter.predicate()).then(|| Work::Filter(filter.predicate().clone(), columns))
}

/// Bytes of the constants among the arguments of aggregate functions.
fn argument_bytes(aggregation: &AggregateExec) -> usize {
    aggregation.aggr_expr().iter().flat_map(|aggregate| aggregate.expressions()).map(|expr| literal_bytes(&expr)).sum()
}

fn may_be_long(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = literal_bytes(expr) > ROW_BYTES_MANY;
    let looked = expr.apply(|expr| {
        let function = expr.downcast_ref::<ScalarFunctionExpr>();
        found |= function.is_some_and(|function| function.fun().inner().is::<BoundedFunction>());
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    let _: Result<TreeNodeRecursion> = looked;
    found
}

/// Work on rows, piece by piece.
struct BoundedRowsExec {
    work: Work,
    /// DataFusion's operator, whose properties and description this one has; the input itself where rows only pass.
    replaced: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl BoundedRowsExec {
    fn of(work: Work, replaced: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { work, replaced, metrics: ExecutionPlanMetricsSet::new() })
    }
}

impl fmt::Debug for BoundedRowsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedRowsExec").field("replaced", &self.replaced).finish_non_exhaustive()
    }
}

impl DisplayAs for BoundedRowsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.work {
            Work::Pass(rows_max) => write!(f, "BoundedRowsExec: rows_max={rows_max}"),
            _ => self.replaced.fmt_as(format, f),
        }
    }
}

impl ExecutionPlan for BoundedRowsExec {
    fn name(&self) -> &'static str {
        "BoundedRowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.replaced.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        match self.work {
            Work::Pass(_) => vec![true],
            _ => self.replaced.maintains_input_order(),
        }
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        match self.work {
            Work::Pass(_) => vec![&self.replaced],
            _ => self.replaced.children(),
        }
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        match self.work {
            Work::Pass(_) => Ok(TreeNodeRecursion::Continue),
            _ => self.replaced.apply_expressions(f),
        }
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = match (&self.work, &children[..]) {
            (Work::Pass(_), [input]) => input.clone(),
            _ => self.replaced.clone().replace_children(children, options)?,
        };
        Ok(Self::of(self.work.clone(), replaced))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let children = self.children();
        let [input] = children[..] else {
            return Err(DataFusionError::Internal(format!("{} has {} inputs", self.name(), children.len())));
        };
        let rows_of = |row_bytes: usize| (BATCH_BYTES_MAX / row_bytes.max(1)).max(1);
        let rows_max = match &self.work {
            Work::Project(exprs) => rows_of(exprs.iter().map(literal_bytes).max().unwrap_or(0)),
            Work::Filter(predicate, _) => rows_of(literal_bytes(predicate)),
            Work::Pass(rows_max) => *rows_max,
        };
        Ok(Box::pin(BoundedRowsStream {
            work: self.work.clone(),
            schema: self.schema(),
            input: input.execute(partition, context.clone())?,
            pending: None,
            piece_rows: PieceRows::default(),
            rows_max,
            gave_way: false,
            pool: context.memory_pool().clone(),
            baseline: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The rows of one partition.
struct BoundedRowsStream {
    work: Work,
    schema: SchemaRef,
    input: SendableRecordBatchStream,
    /// A batch, and the first of its rows that is still to be looked at.
    pending: Option<(RecordBatch, usize)>,
    piece_rows: PieceRows,
    /// Most rows of a piece, from the constants alone.
    rows_max: usize,
    /// Whether other tasks have had their turn since the last piece.
    gave_way: bool,
    pool: Arc<dyn MemoryPool>,
    baseline: BaselineMetrics,
}

impl BoundedRowsStream {
    /// The result for the next rows of a batch that has some left; empty where a filter leaves none.
    fn next_piece(&mut self, batch: &RecordBatch, first: usize) -> Result<(RecordBatch, usize)> {
        loop {
            let remaining = batch.num_rows() - first;
            let rows = self.piece_rows.of(remaining).min(self.rows_max);
            let piece = if rows == batch.num_rows() { batch.clone() } else { batch.slice(first, rows) };
            let done = if rows > 1 { divisible(|| self.done(&piece)) } else { self.done(&piece) };
            match done {
                Err(error) if rows > 1 && is_batch_too_long(&error) => self.piece_rows.exceeded(rows),
                done => {
                    self.piece_rows.fitted();
                    let done = done?;
                    let is_cut = rows < batch.num_rows() && matches!(self.work, Work::Project(_));
                    return Ok((if is_cut { self.counted(done)? } else { done }, first + rows));
                }
            }
        }
    }

    fn done(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        match &self.work {
            Work::Pass(_) => Ok(rows.clone()),
            Work::Project(exprs) => {
                let columns: Result<Vec<ArrayRef>> = exprs.iter().map(|expr| column(expr, rows)).collect();
                let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
                Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns?, &options)?)
            }
            Work::Filter(predicate, columns) => {
                let selected = predicate.evaluate(rows)?.into_array(rows.num_rows())?;
                let selected = selected
                    .as_boolean_opt()
                    .ok_or_else(|| DataFusionError::Internal(format!("{predicate} is not a condition")))?;
                let shown = match columns {
                    Some(columns) => rows.project(columns)?,
                    None => rows.clone(),
                };
                Ok(filter_record_batch(&shown, selected)?)
            }
        }
    }

    /// The rows, held under the statement's memory.
    fn counted(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let column = |array: &ArrayRef| {
            let bytes = value_bytes(array);
            if !(COUNTED_BYTES_MIN..=BATCH_BYTES_MAX).contains(&bytes) {
                // Larger ones are counted by the function that made them.
                return Ok(array.clone());
            }
            let reservation = MemoryConsumer::new("long rows").register(&self.pool);
            reservation.try_grow(bytes)?;
            Ok(counted_array(array, reservation)?)
        };
        let columns: Vec<ArrayRef> = batch.columns().iter().map(column).collect::<Result<_>>()?;
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }
}

/// An expression's values as a column.
fn column(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef> {
    let value = expr.evaluate(rows)?;
    if let ColumnarValue::Scalar(constant) = &value
        && rows.num_rows() > 1
        && constant_bytes(constant).saturating_mul(rows.num_rows()) > BATCH_BYTES_MAX
    {
        return Err(batch_too_long());
    }
    value.into_array(rows.num_rows())
}

impl Stream for BoundedRowsStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            let Some((batch, first)) = this.pending.take() else {
                match futures::ready!(this.input.poll_next_unpin(context)) {
                    Some(Ok(batch)) if batch.num_rows() > 0 => this.pending = Some((batch, 0)),
                    Some(Ok(_)) => {}
                    ended => return Poll::Ready(ended),
                }
                continue;
            };
            // A batch in many pieces takes long. Yielding lets a cancellation take effect.
            if first > 0 && !this.gave_way {
                (this.gave_way, this.pending) = (true, Some((batch, first)));
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            this.gave_way = false;
            let timer = this.baseline.elapsed_compute().clone();
            let timer = timer.timer();
            let piece = this.next_piece(&batch, first);
            drop(timer);
            match piece {
                Ok((done, next)) => {
                    if next < batch.num_rows() {
                        this.pending = Some((batch, next));
                    }
                    if done.num_rows() > 0 {
                        return this.baseline.record_poll(Poll::Ready(Some(Ok(done))));
                    }
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl RecordBatchStream for BoundedRowsStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
