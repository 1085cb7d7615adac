//! Rows that DataFusion's window functions hold, under the statement's memory budget.
//!
//! DataFusion counts none of them: an operator of window functions keeps the rows of a partition, or all rows, until it has
//! the results that belong to them. One operator below it adds up what goes in, and one above it takes off what comes out. For
//! each row that goes in one comes out, so what is held is the share of the rows that have not come out.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;
use parking_lot::Mutex;

use super::counted_array::value_bytes;

/// Bytes of a value beside what it holds: a view, or a number.
const VALUE_HEAD_BYTES: usize = 16;

/// The physical rule that counts windows' rows.
#[derive(Debug)]
pub struct CountedWindows;

impl PhysicalOptimizerRule for CountedWindows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let counted = plan.transform_up(|plan| {
            // The rows, and the same once more where they are put together for the functions.
            let copies = match (plan.is::<WindowAggExec>(), plan.is::<BoundedWindowAggExec>()) {
                (true, _) => 2,
                (_, true) => 1,
                _ => return Ok(Transformed::no(plan)),
            };
            let inputs: Vec<_> = plan.children().into_iter().cloned().collect();
            let held: Arc<[Arc<HeldRows>]> =
                (0..plan.output_partitioning().partition_count()).map(|_| HeldRows::new(copies)).collect();
            let below = |input| Arc::new(WindowEdge { edge: Edge::In, input, held: held.clone() }) as Arc<_>;
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            let input = plan.replace_children(inputs.into_iter().map(below).collect(), options)?;
            Ok(Transformed::yes(Arc::new(WindowEdge { edge: Edge::Out, input, held }) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(counted.data)
    }

    fn name(&self) -> &'static str {
        "counted_windows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What one partition of a window operator holds.
#[derive(Debug)]
struct HeldRows {
    copies: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    rows_in: usize,
    rows_out: usize,
    bytes_in: usize,
    reservation: Option<MemoryReservation>,
}

impl HeldRows {
    fn new(copies: usize) -> Arc<Self> {
        Arc::new(Self { copies, counts: Mutex::default() })
    }

    /// Counts rows that go in.
    ///
    /// # Errors
    /// When the statement may not hold them.
    fn add(&self, batch: &RecordBatch, pool: &Arc<dyn MemoryPool>) -> Result<()> {
        let heads = batch.num_columns() * batch.num_rows() * VALUE_HEAD_BYTES;
        let bytes = heads + batch.columns().iter().map(|column| value_bytes(column)).sum::<usize>();
        let counts = &mut *self.counts.lock();
        counts.rows_in += batch.num_rows();
        counts.bytes_in += bytes * self.copies;
        let held = counts.held();
        let register = || MemoryConsumer::new("window functions").register(pool);
        counts.reservation.get_or_insert_with(register).try_resize(held)
    }

    /// Counts rows that come out.
    fn take_off(&self, batch: &RecordBatch) {
        let counts = &mut *self.counts.lock();
        counts.rows_out += batch.num_rows();
        let held = counts.held();
        if let Some(reservation) = &counts.reservation {
            reservation.resize(held.min(reservation.size()));
        }
    }
}

impl Counts {
    fn held(&self) -> usize {
        let left = self.rows_in.saturating_sub(self.rows_out) as f64 / self.rows_in.max(1) as f64;
        (self.bytes_in as f64 * left) as usize
    }
}

/// Gives the memory back when the rows are not read any more.
struct Released(Arc<HeldRows>);

impl Drop for Released {
    fn drop(&mut self) {
        *self.0.counts.lock() = Counts::default();
    }
}

/// On which side of the window operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    In,
    Out,
}

/// An operator that hands on what it gets, and counts it.
#[derive(Debug)]
struct WindowEdge {
    edge: Edge,
    input: Arc<dyn ExecutionPlan>,
    /// For each partition.
    held: Arc<[Arc<HeldRows>]>,
}

impl DisplayAs for WindowEdge {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.edge {
            Edge::In => f.write_str("CountedRowsExec: in"),
            Edge::Out => f.write_str("CountedRowsExec: out"),
        }
    }
}

impl ExecutionPlan for WindowEdge {
    fn name(&self) -> &'static str {
        "CountedRowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().unwrap_or_else(|| self.input.clone());
        Ok(Arc::new(Self { edge: self.edge, input, held: self.held.clone() }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (edge, held, pool) = (self.edge, self.held[partition].clone(), context.memory_pool().clone());
        let released = (edge == Edge::Out).then(|| Released(held.clone()));
        let rows = self.input.execute(partition, context)?.map(move |batch| {
            let _released = &released;
            let batch = batch?;
            match edge {
                Edge::In => held.add(&batch, &pool)?,
                Edge::Out => held.take_off(&batch),
            }
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, StringViewArray};
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    #[test]
    fn what_has_not_come_out_is_held() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1000));
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(["x".repeat(34), "y".repeat(34)]));
        let batch = RecordBatch::try_from_iter([("a", texts)]).unwrap();
        let held = HeldRows::new(2);
        let released = Released(held.clone());
        // Two rows of 34 + 16 bytes, twice.
        (0..5).for_each(|_| held.add(&batch, &pool).unwrap());
        assert_eq!(pool.reserved(), 1000);
        held.take_off(&batch.slice(0, 1));
        assert_eq!(pool.reserved(), 900);
        assert!(held.add(&batch, &pool).is_err(), "over the budget");
        drop(released);
        assert_eq!(pool.reserved(), 0);
    }
}
