//! The rules of the optimizer as pure functions of estimates: what is thought of the rows of joins, unions, projections and sources.
//!
//! They have no parameters of queries and no common tables; [`operator_rules`](super::operator_rules) has.

use braid_exec::Expression;
use braid_exec::plan::join_order::join_graph::JoinGraph;
use braid_exec::plan::{JoinCondition, JoinKind};
use braid_exec::runtime::expand::ColumnLists;
use braid_exec::runtime::pipeline::Source;

use super::estimate::{Estimate, SELECTIVITY_UNKNOWN};

/// Assumed rows of a source that is no table.
const ROWS_UNKNOWN: f64 = 1000.0;

/// The rows of a source.
pub(super) fn of_source(source: &dyn Source, column_count: usize) -> Estimate {
    let Some((version, spec)) = source.scan() else {
        let rows = source.row_count_max().map_or(ROWS_UNKNOWN, |rows| rows as f64);
        return unknown(column_count).limited(rows);
    };
    let mut estimate = Estimate::of_scan(version, spec);
    estimate.distinct.resize(column_count, 1.0);
    estimate
}

/// The same rows with more columns, which have another value in each row.
pub(super) fn with_further_columns(mut estimate: Estimate, column_count: usize) -> Estimate {
    estimate.distinct.resize(column_count, estimate.rows.max(1.0));
    estimate
}

/// The first rows, if there is a limit.
pub(super) fn limited(input: Estimate, limit: Option<u64>) -> Estimate {
    match limit {
        Some(limit) => input.limited(limit as f64),
        None => input,
    }
}

/// Of new columns of rows.
pub(super) fn projected(input: &Estimate, expressions: &[Expression]) -> Estimate {
    let distinct = |expression: &Expression| match expression.as_column() {
        Some(column) => input.distinct[column],
        None => input.rows.max(1.0),
    };
    Estimate { rows: input.rows, distinct: expressions.iter().map(distinct).collect(), explodes: input.explodes }
}

pub(super) fn of_expansion(input: &Estimate, lists: &ColumnLists) -> Estimate {
    let of_column = |at: usize| {
        let columns = lists.iter().filter_map(|list| list[at]);
        columns.map(|column| input.distinct[column]).fold(1.0, f64::max)
    };
    let width = lists.first().map_or(0, Vec::len);
    let distinct = (0..width).map(of_column).chain([lists.len() as f64]).collect();
    Estimate { rows: input.rows * lists.len() as f64, distinct, explodes: input.explodes }
}

/// Inputs have no more values together than the one with the most: equal ones, or few, as the levels of groups.
pub(super) fn of_union(inputs: Vec<Estimate>) -> Estimate {
    let rows = inputs.iter().map(|estimate| estimate.rows).sum();
    let explodes = inputs.iter().any(|estimate| estimate.explodes);
    let mut inputs = inputs.into_iter();
    let mut estimate = inputs.next().unwrap_or_else(|| unknown(0));
    for other in inputs {
        let columns = estimate.distinct.iter_mut().zip(other.distinct);
        columns.for_each(|(distinct, other)| *distinct = distinct.max(other));
    }
    (estimate.rows, estimate.explodes) = (rows, explodes);
    estimate
}

/// Of a plan and the subqueries whose values it reads.
pub(super) fn of_scalars(inputs: Vec<Estimate>) -> Estimate {
    let explodes = inputs.iter().any(|estimate| estimate.explodes);
    let input = inputs.into_iter().next().unwrap_or_else(|| unknown(0));
    Estimate { explodes, ..input }
}

/// The rows of a join.
pub(super) fn of_join(probe: &Estimate, build: &Estimate, condition: &JoinCondition) -> Estimate {
    match JoinGraph::takes(condition) {
        true => of_inner_join(probe, build, condition),
        false => of_other_join(probe, build, condition),
    }
}

/// The rows of an inner join.
pub(super) fn of_inner_join(probe: &Estimate, build: &Estimate, condition: &JoinCondition) -> Estimate {
    let JoinCondition { build_keys, probe_keys, residual, .. } = condition;
    let share = if build_keys.is_empty() { 1.0 } else { probe.equal_share(probe_keys, build, build_keys) };
    let conditions = match residual {
        None => 0,
        Some(Expression::And(parts)) => parts.len(),
        Some(_) => 1,
    };
    let pairs = build.rows * probe.rows * share;
    let rows = pairs * SELECTIVITY_UNKNOWN.powi(conditions as i32);
    probe.clone().with_columns_of(build, rows).joined(pairs, probe, build)
}

/// The rows of a join that is not inner, in the columns of its kind.
pub(super) fn of_other_join(probe: &Estimate, build: &Estimate, condition: &JoinCondition) -> Estimate {
    let JoinCondition { kind, build_keys, probe_keys, residual, .. } = condition;
    let pairs = probe.rows * build.rows * probe.equal_share(probe_keys, build, build_keys);
    let met_share = |side: &Estimate, keys: &[usize], other: &Estimate, other_keys: &[usize]| {
        let values = side.distinct_of(keys);
        other.distinct_of(other_keys).min(values) / values.max(1.0)
    };
    let probe_met = met_share(probe, probe_keys, build, build_keys);
    let build_met = met_share(build, build_keys, probe, probe_keys);
    let both = |rows: f64| probe.clone().with_columns_of(build, rows);
    // Without a further condition, keys alone tell whether a row has a partner.
    let made = if kind.makes_pairs() || residual.is_some() { pairs } else { 0.0 };
    let of_kind = match kind {
        JoinKind::Inner => both(pairs),
        JoinKind::ProbeSingle => both(probe.rows),
        JoinKind::ProbeOuter => both(pairs.max(probe.rows)),
        JoinKind::BuildOuter => both(pairs.max(build.rows)),
        JoinKind::FullOuter => both(pairs.max(probe.rows).max(build.rows)),
        JoinKind::ProbeSemi => probe.clone().scaled(probe_met),
        JoinKind::ProbeAnti => probe.clone().scaled((1.0 - probe_met).max(0.1)),
        JoinKind::ProbeMark | JoinKind::ProbeTruth => {
            let mut estimate = probe.clone();
            estimate.distinct.push(2.0);
            estimate
        }
        JoinKind::BuildSemi => build.clone().scaled(build_met),
        JoinKind::BuildAnti => build.clone().scaled((1.0 - build_met).max(0.1)),
    };
    of_kind.joined(made, probe, build)
}

pub(super) fn unknown(column_count: usize) -> Estimate {
    Estimate { rows: ROWS_UNKNOWN, distinct: vec![ROWS_UNKNOWN; column_count], explodes: false }
}
