//! What nulls in columns make of expressions: which columns make an expression null, and which ones make a condition not true.
//!
//! The answers are subsets: a column that is not named may do the same.

use std::collections::BTreeSet;

use braid_sql::expression::Node;
use braid_sql::relation::ColumnId;
use braid_sql::{Expression, Value};

type Set = BTreeSet<ColumnId>;

/// The columns with each of which null makes the expression null.
pub(super) fn strict_columns(expression: &Expression) -> Set {
    match &expression.node {
        Node::Column(column, _) => Set::from([*column]),
        Node::Relabel(operand) | Node::Not(operand) => strict_columns(operand),
        Node::ThroughText(cast) => strict_columns(&cast.argument),
        Node::EachElement { array, .. } => strict_columns(array),
        Node::Call(call) if call.is_strict => united(call.arguments.iter().map(strict_columns)),
        Node::Subscript(container, subscripts) => {
            let subscripts = subscripts.expressions().into_iter().map(strict_columns);
            united(subscripts.chain([strict_columns(container)]))
        }
        Node::Quantified(quantified) => {
            // No element is compared with anything.
            let is_filled = match &quantified.array.node {
                Node::Array(element, values) => {
                    !values.is_empty() && values.iter().all(|value| value.sql_type.id == *element)
                }
                Node::Constant(Value::Array(array)) => !array.values.is_empty(),
                _ => false,
            };
            let of_array = strict_columns(&quantified.array);
            if is_filled { united([of_array, strict_columns(&quantified.operand)]) } else { of_array }
        }
        // Null if all are null.
        Node::And(operands) | Node::Or(operands) | Node::Coalesce(operands) => common(operands, strict_columns),
        Node::Extreme { values, .. } => common(values, strict_columns),
        _ => Set::new(),
    }
}

/// The columns with each of which null makes the condition false or null.
pub(super) fn rejected_columns(condition: &Expression) -> Set {
    match &condition.node {
        Node::And(operands) => united(operands.iter().map(rejected_columns)),
        Node::Or(operands) => common(operands, rejected_columns),
        Node::Not(operand) => never_false_columns(operand),
        Node::Is(true, operand) => rejected_columns(operand),
        Node::Is(false, operand) => never_false_columns(operand),
        _ => strict_columns(condition),
    }
}

/// The columns with each of which null makes the condition true or null.
fn never_false_columns(condition: &Expression) -> Set {
    match &condition.node {
        Node::And(operands) => common(operands, never_false_columns),
        Node::Or(operands) => united(operands.iter().map(never_false_columns)),
        Node::Not(operand) => rejected_columns(operand),
        Node::IsNull(operand) => strict_columns(operand),
        Node::Distinct(left, right, _) => match (&left.node, &right.node) {
            (_, Node::Constant(value)) if !value.is_null() => strict_columns(left),
            (Node::Constant(value), _) if !value.is_null() => strict_columns(right),
            _ => Set::new(),
        },
        _ => strict_columns(condition),
    }
}

/// Whether a condition is never null.
pub(super) fn is_never_null(condition: &Expression) -> bool {
    match &condition.node {
        Node::Constant(value) => !value.is_null(),
        Node::Is(..) | Node::IsNull(_) | Node::Distinct(..) => true,
        Node::Not(operand) => is_never_null(operand),
        Node::And(operands) | Node::Or(operands) => operands.iter().all(is_never_null),
        _ => false,
    }
}

fn united(sets: impl IntoIterator<Item = Set>) -> Set {
    sets.into_iter().flatten().collect()
}

fn common(operands: &[Expression], of: fn(&Expression) -> Set) -> Set {
    let Some((first, others)) = operands.split_first() else { return Set::new() };
    let mut common = of(first);
    for other in others {
        if common.is_empty() {
            break;
        }
        let of_other = of(other);
        common.retain(|column| of_other.contains(column));
    }
    common
}
