//! Plans of at most one row without joins, groups and sorts (`SELECT 1`).
//!
//! One worker computes the row in the caller's task. To start a task costs several times as much as the row, and one row
//! does not keep the caller from other work.

use super::rows::{Stage, StageSource};
use super::{Executor, Wanted};
use crate::plan::Plan;
use crate::runtime::pipeline::{Pipeline, Sink};
use crate::runtime::stop::Stop;

/// Whether a plan computes at most one row, from one row of a source.
pub(super) fn is_of_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Source { source, .. } => source.row_count_max().is_some_and(|count| count <= 1),
        Plan::Filter { input, .. } | Plan::Project { input, .. } | Plan::Limit { input, .. } => is_of_one_row(input),
        _ => false,
    }
}

impl Executor {
    /// Runs a plan for which [`is_of_one_row`] holds.
    pub(super) async fn run_one_row<S: Sink>(&self, plan: &Plan, mut sink: S) -> Result<Vec<S>, Stop> {
        let rows = self.rows(plan, Wanted::columns(vec![true; plan.column_count()])).await?;
        for Stage { source, filters, branch, .. } in rows.stages {
            let StageSource::Source(source) = source else { unreachable!("only joins have partitions") };
            if branch.is_over() {
                continue;
            }
            let pipeline = Pipeline { source, filters, branch, cancelled: self.cancelled.clone(), writes: None };
            sink = pipeline.run_in_place(sink).await?;
        }
        Ok(vec![sink])
    }
}
