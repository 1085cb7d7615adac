//! The bytes of a row in memory, column by column, as EXPLAIN shows them.
//!
//! A table's columns have the bytes of its statistics: exact widths, and for texts 16 bytes of view and what their encoded bytes suggest. All
//! else follows from the columns below. A result whose type an operator does not know has 8 bytes. No decision depends on these numbers.

use std::sync::Arc;

use braid_exec::Expression;
use braid_exec::plan::{AggregateCall, AggregateFunction, AggregationSpec, JoinCondition, Plan, SharedOperator};
use braid_exec::runtime::expand::ColumnLists;
use braid_exec::runtime::pipeline::Source;
use braid_scan::prune;
use braid_storage::{ColumnType, PhysicalType, Scalar};

use crate::statistics::{ColumnStatistics, ScanStatistics};

/// The bytes of each column.
pub(super) type Widths = Vec<f64>;

/// A value whose type is not known, and most numbers.
const VALUE_BYTES: f64 = 8.0;

/// A boolean.
const BOOLEAN_BYTES: f64 = 1.0;

/// A numeric, an interval, a uuid.
const WIDE_BYTES: f64 = 16.0;

/// A text of a table without rows, as PostgreSQL assumes.
const TEXT_BYTES_UNKNOWN: f64 = 32.0;

/// The columns of an operator, of those of its inputs in the order of [`Plan::inputs`]. Those of common tables are known elsewhere.
pub(super) fn of_operator(plan: &Plan, inputs: &[&[f64]]) -> Widths {
    let column_count = plan.column_count();
    let mut widths = match plan {
        Plan::Source { source, .. } => of_source(source),
        Plan::Project { expressions, .. } => {
            expressions.iter().map(|expression| of_expression(expression, inputs[0])).collect()
        }
        Plan::Join { condition, .. } => of_join(condition, inputs),
        Plan::Aggregate { spec, .. } | Plan::Accumulate { spec, .. } => of_groups(spec, inputs[0]),
        Plan::Expand { lists, .. } => of_expansion(lists, inputs[0]),
        Plan::Union(_) => of_union(inputs),
        Plan::With { .. } | Plan::Recursion { .. } => inputs[inputs.len() - 1].to_vec(),
        Plan::Shared(operator) => match &**operator {
            SharedOperator::Join { condition, .. } => of_join(condition, inputs),
            SharedOperator::Aggregate { spec, .. } | SharedOperator::Accumulate { spec, .. } => {
                of_groups(spec, inputs[0])
            }
            _ => inputs[0].to_vec(),
        },
        _ => inputs.first().map_or_else(Vec::new, |input| input.to_vec()),
    };
    // Further columns are results of functions, marks and sets.
    widths.resize(column_count, VALUE_BYTES);
    widths
}

fn of_source(source: &Arc<dyn Source>) -> Widths {
    let Some((version, spec)) = source.scan() else { return Vec::new() };
    let statistics = ScanStatistics::of(version, &spec.projection, &prune(version, &spec.predicates), &[]);
    let rows = statistics.row_count.value() as f64;
    let of_column = |column: &ColumnStatistics| match rows > 0.0 {
        true => column.decoded_bytes as f64 / rows,
        false => of_type(column.column_type),
    };
    statistics.columns.iter().map(of_column).map(|bytes| bytes.max(BOOLEAN_BYTES)).collect()
}

fn of_type(column_type: ColumnType) -> f64 {
    match (column_type, column_type.physical()) {
        (_, PhysicalType::Bool) => BOOLEAN_BYTES,
        (ColumnType::SmallInt, _) => 2.0,
        (ColumnType::Integer | ColumnType::Date, _) | (_, PhysicalType::Float32) => 4.0,
        (ColumnType::Numeric { .. } | ColumnType::Uuid, _) | (_, PhysicalType::Int128 | PhysicalType::Interval) => {
            WIDE_BYTES
        }
        (_, PhysicalType::Int | PhysicalType::Float64) => VALUE_BYTES,
        (_, PhysicalType::Bytes) => TEXT_BYTES_UNKNOWN,
    }
}

fn of_expression(expression: &Expression, input: &[f64]) -> f64 {
    match expression {
        Expression::Column(column) => input.get(*column).copied().unwrap_or(VALUE_BYTES),
        Expression::Constant(Some(constant)) => of_constant(constant),
        Expression::Compare { .. }
        | Expression::And(_)
        | Expression::Or(_)
        | Expression::Not(_)
        | Expression::IsNull(_)
        | Expression::In { .. }
        | Expression::Like { .. } => BOOLEAN_BYTES,
        Expression::Case { branches, otherwise } => {
            let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
            results.map(|result| of_expression(result, input)).fold(BOOLEAN_BYTES, f64::max)
        }
        Expression::Substring { value, .. } => of_expression(value, input),
        _ => VALUE_BYTES,
    }
}

fn of_constant(constant: &Scalar) -> f64 {
    match constant {
        Scalar::Bool(_) => BOOLEAN_BYTES,
        Scalar::Int(_) | Scalar::Float(_) => VALUE_BYTES,
        Scalar::Int128(_) | Scalar::Interval(..) => WIDE_BYTES,
        Scalar::Bytes(bytes) => bytes.len() as f64,
    }
}

fn of_join(condition: &JoinCondition, inputs: &[&[f64]]) -> Widths {
    let columns = condition.kind.columns();
    let (probe, build) = (inputs[0], inputs[1]);
    let mut widths = if columns.probe { probe.to_vec() } else { Vec::new() };
    widths.extend(columns.mark.then_some(BOOLEAN_BYTES));
    if columns.build {
        widths.extend(build);
    }
    widths
}

fn of_groups(spec: &AggregationSpec, input: &[f64]) -> Widths {
    let of_column = |column: usize| input.get(column).copied().unwrap_or(VALUE_BYTES);
    let of_call = |call: &AggregateCall| match (call.function, call.argument) {
        (AggregateFunction::Minimum | AggregateFunction::Maximum, Some(argument)) => of_column(argument),
        (AggregateFunction::BoolAnd | AggregateFunction::BoolOr, _) => BOOLEAN_BYTES,
        _ => VALUE_BYTES,
    };
    spec.keys.iter().map(|key| of_column(*key)).chain(spec.aggregates.iter().map(of_call)).collect()
}

fn of_expansion(lists: &ColumnLists, input: &[f64]) -> Widths {
    let width = lists.first().map_or(0, Vec::len);
    let of_column = |at: usize| {
        let columns = lists.iter().filter_map(|list| list[at]);
        columns.filter_map(|column| input.get(column).copied()).fold(BOOLEAN_BYTES, f64::max)
    };
    (0..width).map(of_column).collect()
}

/// The widest of each column.
fn of_union(inputs: &[&[f64]]) -> Widths {
    let mut widths = Vec::new();
    for input in inputs {
        widths.resize(input.len().max(widths.len()), 0.0);
        widths.iter_mut().zip(input.iter()).for_each(|(widest, bytes)| *widest = bytes.max(*widest));
    }
    widths
}
