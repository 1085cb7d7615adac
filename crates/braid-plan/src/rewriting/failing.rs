//! Which expressions may fail with an error for some row.
//!
//! A rule that evaluates an expression for rows for which it was not evaluated before asks this. The answer is exact for what is known
//! here and "it may" for all else. Errors that only values beyond all storage can raise (131072 digits, 1 GiB) are not counted.

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::pg_catalog::{FunctionId, pg_catalog};
use braid_sql::relation::Relation;

/// Operators whose functions never fail, on any type that has them in this list's types.
const COMPARISONS: &[&str] = &["=", "<>", "<", "<=", ">", ">="];

/// Functions that never fail, by `prosrc`.
const TOTAL: &[&str] = &[
    "numeric_add",
    "numeric_sub",
    "numeric_mul",
    "numeric_uminus",
    "numeric_abs",
    "int48",
    "int24",
    "int28",
    "int4_numeric",
    "int8_numeric",
    "int2_numeric",
    "i2tod",
    "i4tod",
    "i8tod",
    "i4tof",
    "i2tof",
    "i8tof",
    "ftod",
    "textcat",
    "upper",
    "lower",
    "textlen",
    "date_timestamp",
    "date_mi",
];

/// Aggregates that never fail. Sums are of wider types than their arguments, except those of floats.
const TOTAL_AGGREGATES: &[&str] = &["count", "min", "max", "bool_and", "bool_or", "every", "array_agg"];

/// Whether a relation may fail other than by what its inputs' rows are.
pub(super) fn relation_may_fail(relation: &Relation) -> bool {
    let own = match relation {
        Relation::Expand(_) => true,
        Relation::Aggregate(aggregation) => aggregation.aggregates.iter().any(|(_, call)| {
            let entry = pg_catalog().function(call.function);
            let is_exact_sum = ["sum", "avg"].contains(&entry.name)
                && entry.symbol.is_some()
                && entry
                    .arguments
                    .iter()
                    .all(|id| ["int2", "int4", "int8", "numeric"].contains(&pg_catalog().type_entry(*id).name));
            !is_exact_sum && !TOTAL_AGGREGATES.contains(&entry.name)
        }),
        Relation::Window(_) => true,
        Relation::Limit { offset, limit, .. } => {
            offset.iter().chain(limit).any(|count| !matches!(count.node, Node::Constant(_)))
        }
        Relation::Join { kind: braid_sql::relation::JoinKind::Single, .. } => true,
        _ => false,
    };
    own || relation.expressions().into_iter().any(may_fail) || relation.inputs().into_iter().any(relation_may_fail)
}

/// Whether an expression may fail.
pub(super) fn may_fail(expression: &Expression) -> bool {
    let own = match &expression.node {
        Node::Constant(_)
        | Node::Parameter(_)
        | Node::Operand
        | Node::Column(..)
        | Node::Relabel(_)
        | Node::Case { .. }
        | Node::Let { .. }
        | Node::Coalesce(_)
        | Node::Extreme { .. }
        | Node::And(_)
        | Node::Or(_)
        | Node::Not(_)
        | Node::IsNull(_)
        | Node::Is(..)
        | Node::Distinct(..)
        | Node::Quantified(_) => false,
        Node::Call(call) => !is_total(call.function.id),
        Node::Subquery(_) | Node::ThroughText(_) | Node::EachElement { .. } | Node::Array(..) | Node::Subscript(..) => {
            true
        }
    };
    own || expression.operands().into_iter().any(may_fail)
}

fn is_total(function: FunctionId) -> bool {
    let catalog = pg_catalog();
    let mut comparisons = COMPARISONS.iter().flat_map(|name| catalog.operators(name));
    let is_listed = catalog.function(function).symbol.is_some_and(|symbol| TOTAL.contains(&symbol));
    is_listed || comparisons.any(|entry| entry.function == function)
}
