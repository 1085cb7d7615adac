//! Operators on inputs that have no rows.
//!
//! Needs: [no rows](super::expressions::no_rows) where [folding](super::folding) found a condition that is never true. Keeps: the columns of each
//! relation.

use braid_sql::Value;
use braid_sql::expression::{Expression, Node};
use braid_sql::relation::{Columns, JoinKind, Relation};

use super::expressions::{conjuncts, in_subquery_relations, is_empty, is_never_true, mapped, no_rows, with_inputs};

/// The relation without operators that have no rows.
pub(super) fn remove_empty_inputs(relation: Relation, columns: &mut Columns) -> Relation {
    let mut relation = with_inputs(relation, &mut |input| remove_empty_inputs(input, columns));
    in_subquery_relations(&mut relation, &mut |subquery| remove_empty_inputs(subquery, columns));
    if is_always_empty(&relation) {
        return no_rows(relation.columns());
    }
    match relation {
        Relation::Join { kind: JoinKind::Anti, left, right, condition } if has_no_pairs(&right, &condition) => *left,
        Relation::Join { kind: JoinKind::Left | JoinKind::Single, left, right, condition }
            if has_no_pairs(&right, &condition) =>
        {
            with_nulls(*left, &right, columns)
        }
        Relation::Join { kind: JoinKind::Right, left, right, condition } if has_no_pairs(&left, &condition) => {
            with_nulls(*right, &left, columns)
        }
        Relation::Join { kind: JoinKind::Mark(mark), left, right, .. } if is_empty(&right) => {
            mapped(*left, vec![(mark, Expression::constant(Value::Bool(false), columns.sql_type(mark)))])
        }
        Relation::Union { mut inputs, columns } => {
            if inputs.len() > 1 {
                inputs.retain(|input| !is_empty(&input.relation));
            }
            Relation::Union { inputs, columns }
        }
        other => other,
    }
}

/// Whether it has no rows because an input has none.
fn is_always_empty(relation: &Relation) -> bool {
    match relation {
        Relation::Filter { input, .. }
        | Relation::Map { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Distinct { input, .. }
        | Relation::DistinctOn { input, .. } => is_empty(input),
        Relation::Limit { input, offset, limit, .. } => {
            // A negative number of rows is an error.
            let is_plain = |count: &Option<Expression>| {
                count.as_ref().is_none_or(|count| match count.node {
                    Node::Constant(Value::Int8(count)) => count >= 0,
                    Node::Constant(Value::Null) => true,
                    _ => false,
                })
            };
            is_empty(input) && is_plain(offset) && is_plain(limit)
        }
        Relation::Expand(expansion) => is_empty(&expansion.input),
        Relation::Window(windowing) => {
            // Offsets are checked without rows, too.
            let bounds = [&windowing.frame.start, &windowing.frame.end];
            is_empty(&windowing.input) && bounds.into_iter().all(|bound| bound.offset().is_none())
        }
        Relation::Aggregate(aggregation) => {
            is_empty(&aggregation.input) && aggregation.sets.iter().all(|set| !set.is_empty())
        }
        Relation::Join { kind, left, right, condition } => match kind {
            JoinKind::Inner | JoinKind::Semi => is_empty(left) || has_no_pairs(right, condition),
            JoinKind::Left | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => is_empty(left),
            JoinKind::Right => is_empty(right),
            JoinKind::Full => is_empty(left) && is_empty(right),
        },
        Relation::Union { inputs, .. } => !inputs.is_empty() && inputs.iter().all(|input| is_empty(&input.relation)),
        Relation::With { body, .. } => is_empty(body),
        _ => false,
    }
}

/// Whether no row has a partner on this side.
fn has_no_pairs(side: &Relation, condition: &Expression) -> bool {
    is_empty(side) || conjuncts(condition.clone()).iter().any(is_never_true)
}

/// Rows with nulls for the columns of another relation.
pub(super) fn with_nulls(relation: Relation, other: &Relation, columns: &Columns) -> Relation {
    let nulls =
        other.columns().into_iter().map(|column| (column, Expression::constant(Value::Null, columns.sql_type(column))));
    mapped(relation, nulls.collect())
}
