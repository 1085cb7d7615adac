//! The rows of an operator, of what is thought of the rows of its inputs: the rules of the optimizer, one for each operator.
//!
//! The same rules decide about joins, while a plan is ordered ([`join_ordering`](super::join_ordering)), and are shown by EXPLAIN, of a plan
//! as it runs ([`plan_estimates`](super::plan_estimates)).

use braid_exec::plan::{Plan, SharedOperator};
use braid_exec::runtime::peers::KeptPeers;

use super::common_tables::of_recursion;
use super::estimate::{Estimate, SELECTIVITY_OF_GROUPS, SELECTIVITY_UNKNOWN};
use super::join_ordering::Ordering;
use super::row_rules::{
    limited, of_expansion, of_join, of_scalars, of_source, of_union, projected, with_further_columns,
};

/// Rows that a function returns for a row, which is not known.
const ROWS_OF_FUNCTION: f64 = 10.0;

impl Ordering<'_> {
    /// What is thought of the rows of an operator. `inputs` are in the order of [`Plan::inputs`]; those of common tables are known.
    pub(super) fn of_operator(&self, plan: &Plan, inputs: Vec<Estimate>) -> Estimate {
        match plan {
            Plan::Source { source, column_count } => of_source(&**source, *column_count),
            Plan::CteScan { cte, column_count } => self.of_table_scan(*cte, *column_count),
            Plan::Filter { input, condition } if matches!(**input, Plan::Source { .. }) => {
                self.of_filtered_scan(input, condition)
            }
            Plan::Union(_) => of_union(inputs),
            Plan::Join { condition, .. } => {
                let [probe, build] = taken(inputs);
                of_join(&probe, &build, condition)
            }
            Plan::Recursion { spec, .. } => {
                let [start, step, body] = taken(inputs);
                let explodes = of_recursion(spec, start, &step).explodes;
                Estimate { explodes: explodes || body.explodes, ..body }
            }
            Plan::With { .. } => {
                let [definition, body] = taken(inputs);
                Estimate { explodes: definition.explodes || body.explodes, ..body }
            }
            Plan::WithScalars { .. } => of_scalars(inputs),
            Plan::Shared(operator) => self.of_shared(plan, operator, inputs),
            _ => {
                let [input] = taken(inputs);
                self.of_rows(plan, input)
            }
        }
    }

    /// Of an operator over the rows of one input.
    fn of_rows(&self, plan: &Plan, mut input: Estimate) -> Estimate {
        match plan {
            Plan::Filter { input: of, .. } => {
                let share = if self.is_groups(of) { SELECTIVITY_OF_GROUPS } else { SELECTIVITY_UNKNOWN };
                input.scaled(share)
            }
            Plan::Project { expressions, .. } => projected(&input, expressions),
            Plan::Aggregate { input: of, spec } => self.of_groups(of, &input, spec),
            Plan::Accumulate { input: of, spec, .. } => {
                let groups = self.of_groups(of, &input, spec);
                with_further_columns(groups, plan.column_count())
            }
            Plan::Expand { lists, .. } => of_expansion(&input, lists),
            Plan::Window { .. } => with_further_columns(input, plan.column_count()),
            Plan::Peers { keys, kept, .. } => {
                let rows = match kept {
                    KeptPeers::First => input.distinct_of(keys),
                    KeptPeers::WithTies { limit, .. } => *limit as f64,
                };
                input.limited(rows)
            }
            Plan::ProjectSet { .. } => {
                input.rows *= ROWS_OF_FUNCTION;
                with_further_columns(input, plan.column_count())
            }
            Plan::Sort { spec, .. } => limited(input, spec.limit.map(|limit| limit as u64)),
            Plan::Limit { limit, .. } => limited(input, *limit),
            _ => input,
        }
    }

    /// Of an operator in the plan of a pass: the rows that any of its queries needs. Limits are those of each query.
    fn of_shared(&self, plan: &Plan, operator: &SharedOperator, inputs: Vec<Estimate>) -> Estimate {
        let mut estimate = match operator {
            SharedOperator::Join { condition, .. } => {
                let [probe, build] = taken(inputs);
                of_join(&probe, &build, condition)
            }
            SharedOperator::Scalars { .. } => of_scalars(inputs),
            SharedOperator::Aggregate { input: of, spec, .. } | SharedOperator::Accumulate { input: of, spec, .. } => {
                let [input] = taken(inputs);
                self.of_groups(of, &input, spec)
            }
            SharedOperator::Step { .. }
            | SharedOperator::Window { .. }
            | SharedOperator::Peers { .. }
            | SharedOperator::Sort { .. }
            | SharedOperator::Limit { .. } => {
                let [input] = taken(inputs);
                input
            }
        };
        // The set is a column, too.
        estimate.distinct.truncate(plan.column_count());
        with_further_columns(estimate, plan.column_count())
    }
}

fn taken<const COUNT: usize>(inputs: Vec<Estimate>) -> [Estimate; COUNT] {
    let count = inputs.len();
    inputs.try_into().unwrap_or_else(|_| panic!("an operator with {count} inputs in place of {COUNT}"))
}
