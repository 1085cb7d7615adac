//! Plans of few rows without joins, groups and sorts (`SELECT 1`, a look-up by key).
//!
//! One worker computes the rows in the caller's task. To start a task costs several times as much as one row, and few rows do not
//! keep the caller from other work.

use super::rows::{Stage, StageSource};
use super::{Executor, Wanted};
use crate::Expression;
use crate::plan::Plan;
use crate::runtime::pipeline::{Pipeline, Sink};
use crate::runtime::stop::Stop;

/// Most rows of a source that are computed in the caller's task: four batches, of some tens of microseconds each.
const FEW_ROWS: u64 = 4096;

/// Most operators above such a source. The caller's stack has room for them.
const OPERATORS_MAX: usize = 16;

/// Whether the rows of a plan are computed in the caller's task.
pub(super) fn is_of_few_rows(plan: &Plan) -> bool {
    is_of_one_row(plan) || is_of_few_cheap_rows(plan, OPERATORS_MAX)
}

/// Whether a plan computes at most one row, from one row of a source.
fn is_of_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Source { source, .. } => source.row_count_max().is_some_and(|count| count <= 1),
        Plan::Filter { input, .. } | Plan::Project { input, .. } | Plan::Limit { input, .. } => is_of_one_row(input),
        _ => false,
    }
}

/// Whether a plan computes few rows, none of which takes long.
fn is_of_few_cheap_rows(plan: &Plan, operators_left: usize) -> bool {
    let Some(left) = operators_left.checked_sub(1) else { return false };
    match plan {
        Plan::Source { source, .. } => source.row_count_max().is_some_and(|count| count <= FEW_ROWS),
        Plan::Filter { input, condition } => !condition.may_take_long() && is_of_few_cheap_rows(input, left),
        Plan::Project { input, expressions } => {
            !expressions.iter().any(Expression::may_take_long) && is_of_few_cheap_rows(input, left)
        }
        Plan::Limit { input, .. } => is_of_few_cheap_rows(input, left),
        _ => false,
    }
}

impl Executor {
    /// Whether [`Self::run`] computes the rows of this plan in the caller's task, which can await nothing else meanwhile.
    pub fn runs_in_place(plan: &Plan) -> bool {
        is_of_few_rows(plan)
    }

    /// Runs a plan for which [`is_of_few_rows`] holds.
    pub(super) async fn run_few_rows<S: Sink>(&self, plan: &Plan, mut sink: S) -> Result<Vec<S>, Stop> {
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
