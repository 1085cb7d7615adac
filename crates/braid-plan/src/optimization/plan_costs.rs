//! What an operator costs, of the rows that are expected and of what its inputs cost, in PostgreSQL's form: the cost up to the first row, and
//! that of all rows.
//!
//! Clients read these numbers (`postgres_fdw` with `use_remote_estimate` compares plans by them). Braid itself decides by rows alone: joins are
//! ordered by the same three weights of rows ([`join_order`]), groups and build sides by counts. So the model says how the work of a plan grows,
//! not how long it takes. Units are PostgreSQL's with its default settings:
//!
//! | cost | of | in PostgreSQL |
//! |---|---|---|
//! | 1 | 8 KiB of the scanned columns, decoded | `seq_page_cost` |
//! | 0.01 | a row that a scan reads, or that leaves a grouping or a join | `cpu_tuple_cost` |
//! | 0.0025 | a value computed, a condition checked, a row compared or entered into a table | `cpu_operator_cost` |
//!
//! Invariants: startup ≤ total, and an operator costs at least what its inputs cost, but for a limit, which costs the part of its input that it
//! reads, as in PostgreSQL.

use braid_exec::Expression;
use braid_exec::plan::join_order::{BUILD_ROW_COST, PROBE_ROW_COST};
use braid_exec::plan::{AggregationSpec, JoinCondition, Plan, SharedOperator};
use braid_exec::runtime::pipeline::Source;
use braid_scan::prune;

use super::common_tables::STEPS;
use crate::statistics::ScanStatistics;

/// Cost of [`PAGE_BYTES`] of a scan.
const PAGE_COST: f64 = 1.0;

/// The bytes that cost [`PAGE_COST`].
const PAGE_BYTES: f64 = 8192.0;

/// Cost of a row that an operator makes.
const ROW_COST: f64 = 0.01;

/// Cost of a computation for a row.
const STEP_COST: f64 = 0.0025;

/// What rows cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    /// Up to the first row.
    pub startup: f64,
    /// Of all rows.
    pub total: f64,
}

/// An input: its rows and what they cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostedRows {
    /// Rows.
    pub rows: f64,
    /// What they cost.
    pub cost: Cost,
}

/// The cost of an operator with this many rows. `inputs` are in the order of [`Plan::inputs`].
pub(super) fn of_operator(plan: &Plan, rows: f64, inputs: &[CostedRows]) -> Cost {
    match plan {
        Plan::Source { source, .. } => of_source(&**source, rows),
        Plan::CteScan { .. } => streamed(Cost::default(), rows * ROW_COST),
        Plan::Filter { condition, .. } => {
            streamed(inputs[0].cost, inputs[0].rows * STEP_COST * condition_count(condition) as f64)
        }
        Plan::Project { expressions, .. } => {
            let computed = expressions.iter().filter(|expression| expression.as_column().is_none()).count();
            streamed(inputs[0].cost, rows * STEP_COST * computed as f64)
        }
        Plan::Join { condition, .. } => of_join(condition, rows, inputs),
        Plan::Aggregate { spec, .. } => of_groups(spec, 0, rows, inputs[0]),
        Plan::Accumulate { spec, foreign, .. } => of_groups(spec, foreign.len(), rows, inputs[0]),
        Plan::Expand { .. } | Plan::Peers { .. } => streamed(inputs[0].cost, rows.max(inputs[0].rows) * STEP_COST),
        Plan::ProjectSet { .. } => streamed(inputs[0].cost, rows * ROW_COST),
        Plan::Window { spec, .. } => {
            let sorted = of_sort(rows, inputs[0], None);
            streamed(sorted, rows * STEP_COST * spec.calls.len() as f64)
        }
        Plan::Sort { spec, .. } => of_sort(rows, inputs[0], spec.limit.map(|limit| limit as f64)),
        Plan::Limit { offset, limit, .. } => of_limit(inputs[0], *offset as f64, limit.map(|limit| limit as f64)),
        Plan::Union(_) => of_union(inputs),
        Plan::WithScalars { .. } => after(total_of(&inputs[1..]), inputs[0].cost),
        Plan::With { .. } => after(inputs[0].cost.total, inputs[1].cost),
        Plan::Recursion { .. } => after(inputs[0].cost.total + STEPS * inputs[1].cost.total, inputs[2].cost),
        Plan::Shared(operator) => of_shared(operator, rows, inputs),
    }
}

/// As the same operator of one query.
fn of_shared(operator: &SharedOperator, rows: f64, inputs: &[CostedRows]) -> Cost {
    match operator {
        SharedOperator::Join { condition, .. } => of_join(condition, rows, inputs),
        SharedOperator::Aggregate { spec, .. } => of_groups(spec, 0, rows, inputs[0]),
        SharedOperator::Accumulate { spec, foreign, .. } => of_groups(spec, foreign.len(), rows, inputs[0]),
        SharedOperator::Scalars { .. } => after(total_of(&inputs[1..]), inputs[0].cost),
        SharedOperator::Window { spec, .. } => {
            streamed(of_sort(rows, inputs[0], None), rows * STEP_COST * spec.calls.len() as f64)
        }
        SharedOperator::Sort { .. } => of_sort(rows, inputs[0], None),
        SharedOperator::Step { .. } | SharedOperator::Peers { .. } | SharedOperator::Limit { .. } => {
            streamed(inputs[0].cost, inputs[0].rows * STEP_COST)
        }
    }
}

/// Rows that pass one by one, with further work for all.
fn streamed(input: Cost, work: f64) -> Cost {
    Cost { startup: input.startup, total: input.total + work }
}

/// Rows that come after other work.
fn after(work: f64, input: Cost) -> Cost {
    Cost { startup: work + input.startup, total: work + input.total }
}

fn total_of(inputs: &[CostedRows]) -> f64 {
    inputs.iter().map(|input| input.cost.total).sum()
}

/// A scan reads the rows of the chunks that its zone maps leave, and checks its predicates.
fn of_source(source: &dyn Source, rows: f64) -> Cost {
    let Some((version, spec)) = source.scan() else {
        return streamed(Cost::default(), rows * ROW_COST);
    };
    let statistics = ScanStatistics::of(version, &spec.projection, &prune(version, &spec.predicates), &[]);
    let (pages, read) = (statistics.decoded_bytes as f64 / PAGE_BYTES, statistics.row_count.value() as f64);
    let of_row = ROW_COST + STEP_COST * spec.predicates.len() as f64;
    streamed(Cost::default(), pages * PAGE_COST + read * of_row)
}

fn condition_count(condition: &Expression) -> usize {
    match condition {
        Expression::And(parts) | Expression::Or(parts) => parts.iter().map(condition_count).sum(),
        _ => 1,
    }
}

/// The build side is read before the first pair, and each row of the probe side is looked up. Without keys all pairs are made.
fn of_join(condition: &JoinCondition, rows: f64, inputs: &[CostedRows]) -> Cost {
    let (probe, build) = (inputs[0], inputs[1]);
    let startup = build.cost.total + build.rows * BUILD_ROW_COST * STEP_COST + probe.cost.startup;
    let pairs = if condition.build_keys.is_empty() { rows.max(probe.rows * build.rows) } else { rows };
    let checks = condition.residual.as_ref().map_or(0, condition_count) as f64;
    let probing = probe.rows * PROBE_ROW_COST * STEP_COST + pairs * STEP_COST * checks + rows * ROW_COST;
    Cost { startup, total: startup + (probe.cost.total - probe.cost.startup) + probing }
}

/// Groups come when all rows were read.
fn of_groups(spec: &AggregationSpec, foreign_count: usize, rows: f64, input: CostedRows) -> Cost {
    let steps = (spec.keys.len() + spec.aggregates.len() + foreign_count).max(1) as f64;
    let startup = input.cost.total + input.rows * steps * STEP_COST;
    Cost { startup, total: startup + rows * ROW_COST }
}

/// Two comparisons for each level of a tree over the rows, or over those that a limit keeps.
fn of_sort(rows: f64, input: CostedRows, limit: Option<f64>) -> Cost {
    let kept = limit.unwrap_or(input.rows).min(input.rows).max(2.0);
    let startup = input.cost.total + 2.0 * STEP_COST * input.rows * kept.log2();
    Cost { startup, total: startup + rows * STEP_COST }
}

/// The part of the input that is read.
fn of_limit(input: CostedRows, offset: f64, limit: Option<f64>) -> Cost {
    let Cost { startup, total } = input.cost;
    let part = |rows: f64| startup + (total - startup) * (rows / input.rows.max(1.0)).clamp(0.0, 1.0);
    Cost { startup: part(offset), total: limit.map_or(total, |limit| part(offset + limit)) }
}

fn of_union(inputs: &[CostedRows]) -> Cost {
    let startup = inputs.first().map_or(0.0, |input| input.cost.startup);
    Cost { startup, total: total_of(inputs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(rows: f64, startup: f64, total: f64) -> CostedRows {
        CostedRows { rows, cost: Cost { startup, total } }
    }

    #[test]
    fn a_limit_costs_the_part_that_it_reads() {
        let rows = input(100.0, 10.0, 110.0);
        assert_eq!(of_limit(rows, 0.0, Some(10.0)), Cost { startup: 10.0, total: 20.0 });
        assert_eq!(of_limit(rows, 50.0, Some(1000.0)), Cost { startup: 60.0, total: 110.0 });
        assert_eq!(of_limit(rows, 50.0, None), Cost { startup: 60.0, total: 110.0 });
    }

    #[test]
    fn a_sort_of_few_is_cheaper() {
        let rows = input(1e6, 0.0, 1e4);
        let (all, few) = (of_sort(1e6, rows, None), of_sort(10.0, rows, Some(10.0)));
        assert!(few.total < all.total && few.startup > 1e4 && few.startup <= few.total);
    }
}
