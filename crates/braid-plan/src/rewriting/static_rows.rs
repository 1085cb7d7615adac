//! Relations of at most one row; values of aggregates without rows.

use braid_sql::expression::Node;
use braid_sql::pg_catalog::{AggregateKind, TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, Aggregation, JoinKind, Relation};
use braid_sql::{Expression, Value};

/// Aggregates that are 0 without rows; all other ordinary ones are null.
const COUNTS: &[&str] = &["count", "regr_count"];

/// Whether it is one group of all rows, which exists without rows: an aggregation without GROUP BY.
pub(super) fn is_static(aggregation: &Aggregation) -> bool {
    matches!(&aggregation.sets[..], [set] if set.is_empty())
        && aggregation.keys.is_empty()
        && aggregation.groupings.is_empty()
}

/// An aggregate's value without rows; `None` if it depends on its arguments.
pub(super) fn value_without_rows(call: &AggregateCall) -> Option<Value> {
    let entry = pg_catalog().function(call.function);
    if call.is_within_group || pg_catalog().aggregate(call.function)?.kind != AggregateKind::Ordinary {
        return None;
    }
    Some(if COUNTS.contains(&entry.name) { Value::Int8(0) } else { Value::Null })
}

/// Whether a relation has one row at most.
pub(super) fn has_at_most_one_row(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow => true,
        Relation::Values { rows, .. } => rows.len() <= 1,
        Relation::Aggregate(aggregation) => is_static(aggregation),
        Relation::Filter { input, .. }
        | Relation::Map { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Distinct { input, .. }
        | Relation::DistinctOn { input, .. } => has_at_most_one_row(input),
        Relation::Window(windowing) => has_at_most_one_row(&windowing.input),
        Relation::Limit { input, limit, ties, .. } => {
            let is_one = ties.is_none() && limit.as_ref().and_then(count).is_some_and(|limit| limit <= 1);
            is_one || has_at_most_one_row(input)
        }
        Relation::Join { kind: JoinKind::Inner | JoinKind::Left | JoinKind::Single, left, right, .. } => {
            has_at_most_one_row(left) && has_at_most_one_row(right)
        }
        Relation::Join { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_), left, .. } => {
            has_at_most_one_row(left)
        }
        Relation::With { body, .. } => has_at_most_one_row(body),
        Relation::Recursive(recursion) => has_at_most_one_row(&recursion.body),
        _ => false,
    }
}

/// A constant number of rows, not negative.
pub(super) fn count(expression: &Expression) -> Option<i64> {
    let count = match &expression.node {
        Node::Constant(Value::Int8(count)) => *count,
        // The cast of a literal.
        Node::Call(call) if pg_catalog().function(call.function.id).symbol == Some("int48") => {
            match call.arguments[0].node {
                Node::Constant(Value::Int4(count)) => i64::from(count),
                _ => return None,
            }
        }
        _ => return None,
    };
    (count >= 0).then_some(count)
}

/// A constant `bigint`.
pub(super) fn bigint(value: i64) -> Expression {
    Expression::of(Value::Int8(value), TypeId::INT8)
}

/// The rows whose existence is asked for: order, columns and repetitions do not matter.
pub(super) fn existing(mut relation: Relation) -> Relation {
    loop {
        relation = match relation {
            Relation::Map { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Distinct { input, .. }
            | Relation::DistinctOn { input, .. } => *input,
            Relation::Limit { input, offset: None, limit: Some(limit), .. }
                if count(&limit).is_some_and(|limit| limit > 0) =>
            {
                *input
            }
            other => return other,
        }
    }
}
