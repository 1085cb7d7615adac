//! Operators that multiply rows give way now and then.
//!
//! DataFusion's leaves yield to the scheduler after some batches, and with them everything above that reads on. A join
//! can make a billion rows of one batch from each side without reading on: nothing yields, and a cancel is not noticed
//! before the end. So joins, and what unrolls arrays, yield on what they produce.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, SymmetricHashJoinExec,
};
use datafusion::physical_plan::unnest::UnnestExec;

/// Puts DataFusion's cooperative operator over every operator that multiplies rows.
#[derive(Debug)]
pub(crate) struct Cooperation;

impl PhysicalOptimizerRule for Cooperation {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let wrapped = plan.transform_up(|plan| {
            let multiplies = plan.is::<CrossJoinExec>()
                || plan.is::<NestedLoopJoinExec>()
                || plan.is::<HashJoinExec>()
                || plan.is::<SortMergeJoinExec>()
                || plan.is::<SymmetricHashJoinExec>()
                || plan.is::<UnnestExec>();
            Ok(if multiplies {
                Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>)
            } else {
                Transformed::no(plan)
            })
        })?;
        Ok(wrapped.data)
    }

    fn name(&self) -> &str {
        "cooperation"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
