//! Which expressions may fail with an error for some row.
//!
//! A rule that evaluates an expression for rows for which it was not evaluated before asks this. The answer is exact for what is known
//! here and "it may" for all else. Errors that only values beyond all storage can raise (131072 digits, 1 GiB) are not counted.

use std::sync::LazyLock;

use braid_sql::expression::{FunctionCall, Node};
use braid_sql::pg_catalog::{CatalogSet, FunctionId, TypeId, pg_catalog};
use braid_sql::relation::{Recursion, Relation, Subquery, SubqueryKind};
use braid_sql::{Expression, Value};

use super::known_signs::{CasePart, KnownSigns, Sign};
use super::static_rows::has_at_most_one_row;

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
    "i2toi4",
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
    "bpcharlen",
    "btrim",
    "btrim1",
    "ltrim",
    "ltrim1",
    "rtrim",
    "rtrim1",
    "text_left",
    "text_right",
    "text_starts_with",
    "text_substr_no_len",
    "textpos",
];

/// `LIKE` and the like, by `prosrc`. They fail only where matching comes to an escape character at the end of the pattern.
const LIKES: &[&str] =
    &["textlike", "textnlike", "namelike", "namenlike", "bpcharlike", "bpcharnlike", "texticlike", "texticnlike"];

/// Fields that every date has, or that are null or infinite for an infinite one.
const DATE_FIELDS: &[&str] = &["year", "month", "day", "quarter", "dow", "doy"];

/// The functions of comparisons.
static COMPARISON_FUNCTIONS: LazyLock<CatalogSet<FunctionId>> = LazyLock::new(|| {
    COMPARISONS.iter().flat_map(|name| pg_catalog().operators(name)).map(|entry| entry.function).collect()
});

/// The functions of the catalog that never fail.
static TOTAL_FUNCTIONS: LazyLock<CatalogSet<FunctionId>> = LazyLock::new(|| {
    let catalog = pg_catalog();
    let is_listed = |id: &FunctionId| catalog.function(*id).symbol.is_some_and(|symbol| TOTAL.contains(&symbol));
    let listed = catalog.functions().map(|entry| entry.id).filter(is_listed);
    COMPARISON_FUNCTIONS.iter().copied().chain(listed).collect()
});

/// Aggregates of exact numbers that never fail.
const TOTAL_OF_EXACT: &[&str] =
    &["sum", "avg", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"];

/// Aggregates that never fail. Sums are of wider types than their arguments, except those of floats.
const TOTAL_AGGREGATES: &[&str] = &["count", "min", "max", "bool_and", "bool_or", "every", "array_agg"];

/// Whether a relation may fail other than by what its inputs' rows are.
pub(super) fn relation_may_fail(relation: &Relation) -> bool {
    let own = match relation {
        Relation::Expand(_) => true,
        Relation::Recursive(recursion) => !ends(recursion),
        Relation::Aggregate(aggregation) => aggregation.aggregates.iter().any(|(_, call)| {
            let entry = pg_catalog().function(call.function);
            let is_exact_sum = TOTAL_OF_EXACT.contains(&entry.name)
                && entry.symbol.is_some()
                && entry
                    .arguments
                    .iter()
                    .all(|id| ["int2", "int4", "int8", "numeric"].contains(&pg_catalog().type_entry(*id).name));
            // Arrays of arrays need the same dimensions.
            let joins_arrays = entry.name == "array_agg" && entry.arguments == [TypeId::ANYARRAY];
            joins_arrays || !is_exact_sum && !TOTAL_AGGREGATES.contains(&entry.name)
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

/// Whether a recursion ends for certain: there are so many different rows of the values that are there, and each comes once.
fn ends(recursion: &Recursion) -> bool {
    recursion.is_distinct && makes_no_values(&recursion.step.relation)
}

fn makes_no_values(relation: &Relation) -> bool {
    let makes_none = match relation {
        Relation::Map { expressions, .. } => {
            expressions.iter().all(|(_, value)| matches!(value.node, Node::Column(..) | Node::Constant(_)))
        }
        Relation::Aggregate(_) | Relation::Window(_) | Relation::Expand(_) | Relation::Recursive(_) => false,
        _ => true,
    };
    makes_none && relation.inputs().into_iter().all(makes_no_values)
}

/// Whether an expression may fail for a row.
pub(crate) fn may_fail(expression: &Expression) -> bool {
    may_fail_where(expression, &mut KnownSigns::default())
}

/// Whether an expression may fail for a row, or for the parameters of a statement.
pub(super) fn may_fail_at_all(expression: &Expression) -> bool {
    fn may_not_be_bound(expression: &Expression) -> bool {
        let own = match &expression.node {
            Node::Call(call) => !is_total(call, &mut KnownSigns::default()) && is_of_parameters(expression),
            _ => false,
        };
        own || expression.any_operand(&mut may_not_be_bound)
    }
    may_fail(expression) || may_not_be_bound(expression)
}

/// The same where this is known.
fn may_fail_where<'e>(expression: &'e Expression, known: &mut KnownSigns<'e>) -> bool {
    let own = match &expression.node {
        Node::Case { branches, otherwise } => {
            return known.any_part(branches, otherwise, &mut |part, known| match part {
                CasePart::Condition(part) | CasePart::Result(part) => may_fail_where(part, known),
            });
        }
        Node::Constant(_)
        | Node::Parameter(_)
        | Node::Operand
        | Node::Column(..)
        | Node::Relabel(_)
        | Node::Let { .. }
        | Node::Chain { .. }
        | Node::Coalesce(_)
        | Node::Extreme { .. }
        | Node::And(_)
        | Node::Or(_)
        | Node::Not(_)
        | Node::IsNull(_)
        | Node::Is(..)
        | Node::Distinct(..)
        | Node::OnRecord(..)
        | Node::Quantified(_) => false,
        Node::Call(call) => !is_total(call, known) && !is_of_parameters(expression),
        Node::Subquery(subquery) => subquery_may_fail(subquery),
        Node::Domain(cast) => !cast.constraints.is_empty(),
        Node::ThroughText(_) | Node::EachElement { .. } | Node::Array(..) | Node::Subscript(..) => {
            !is_array_of_values(expression)
        }
    };
    own || expression.operands().into_iter().any(|operand| may_fail_where(operand, known))
}

/// Whether an expression is computed when a statement is bound to its plan. A statement for which it fails is not bound to it.
fn is_of_parameters(expression: &Expression) -> bool {
    fn has_parameter(expression: &Expression) -> bool {
        matches!(expression.node, Node::Parameter(_)) || expression.any_operand(&mut has_parameter)
    }
    fn reads_more(expression: &Expression) -> bool {
        matches!(expression.node, Node::Column(..) | Node::Subquery(_) | Node::Operand)
            || expression.any_operand(&mut reads_more)
    }
    has_parameter(expression) && !reads_more(expression) && !expression.is_volatile()
}

/// Whether an expression compares operands by the order or equality of their types.
pub(super) fn is_comparison(expression: &Expression) -> bool {
    match &expression.node {
        Node::Call(call) => COMPARISON_FUNCTIONS.contains(&call.function.id),
        Node::Quantified(quantified) => COMPARISON_FUNCTIONS.contains(&quantified.compare.id),
        Node::Distinct(..) | Node::IsNull(_) => true,
        _ => false,
    }
}

/// Whether a subquery may fail other than by its comparison.
fn subquery_may_fail(subquery: &Subquery) -> bool {
    let may_have_two_rows = subquery.kind == SubqueryKind::Scalar && !has_at_most_one_row(&subquery.relation);
    may_have_two_rows || subquery.kind == SubqueryKind::Array || relation_may_fail(&subquery.relation)
}

/// Whether it is `ARRAY[…]` of elements that are no arrays, which need the same dimensions.
fn is_array_of_values(expression: &Expression) -> bool {
    matches!(&expression.node, Node::Array(element, values)
        if values.iter().all(|value| value.sql_type.id == *element))
}

/// Whether a call is `LIKE` or the like, whose second argument is a pattern.
pub(crate) fn is_like(call: &FunctionCall) -> bool {
    let symbol = pg_catalog().function(call.function.id).symbol;
    call.arguments.len() == 2 && symbol.is_some_and(|symbol| LIKES.contains(&symbol))
}

/// Whether the last character of a pattern escapes nothing.
pub(crate) fn ends_in_escape(pattern: &str) -> bool {
    pattern.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Whether a call fails for no values of its arguments that are not constant, where this is known of them.
fn is_total<'e>(call: &'e FunctionCall, known: &mut KnownSigns<'e>) -> bool {
    if TOTAL_FUNCTIONS.contains(&call.function.id) {
        return true;
    }
    let Some(symbol) = pg_catalog().function(call.function.id).symbol else { return false };
    let constant = |at: usize| match call.arguments.get(at).map(|argument| &argument.node) {
        Some(Node::Constant(value)) => Some(value),
        _ => None,
    };
    match (symbol, call.arguments.len()) {
        (symbol, 2) if LIKES.contains(&symbol) => match &call.arguments[1].node {
            Node::Constant(Value::Text(pattern)) => !ends_in_escape(pattern),
            // No statement is bound to a plan with such a pattern.
            Node::Parameter(_) => true,
            _ => false,
        },
        ("text_substr", 3) => matches!(constant(2), Some(Value::Int4(length)) if *length >= 0),
        // The quotient of the least number and -1 is out of range.
        ("int2div" | "int4div" | "int8div" | "int42div" | "int84div" | "int82div", 2) => match constant(1) {
            Some(Value::Int2(divisor)) => !matches!(divisor, 0 | -1),
            Some(Value::Int4(divisor)) => !matches!(divisor, 0 | -1),
            Some(Value::Int8(divisor)) => !matches!(divisor, 0 | -1),
            _ => known.sign_of(&call.arguments[1]) == Some(Sign::Positive),
        },
        ("int2mod" | "int4mod" | "int8mod", 2) => match constant(1) {
            Some(Value::Int2(divisor)) => *divisor != 0,
            Some(Value::Int4(divisor)) => *divisor != 0,
            Some(Value::Int8(divisor)) => *divisor != 0,
            _ => known.sign_of(&call.arguments[1]).is_some(),
        },
        ("numeric_div", 2) => match constant(1) {
            Some(Value::Numeric(divisor)) => !divisor.is_nan() && divisor.signum() != 0,
            _ => known.sign_of(&call.arguments[1]).is_some(),
        },
        ("extract_date", 2) => matches!(constant(0), Some(Value::Text(field)) if DATE_FIELDS.contains(&&**field)),
        _ => false,
    }
}
