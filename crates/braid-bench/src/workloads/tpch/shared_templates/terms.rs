//! Short constructors for the expressions and operators of templates.
//!
//! Money, quantities and rates are `numeric(15,2)`: integers of hundredths. A product has the digits of both factors.

use std::sync::Arc;

use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::Date32Type;
use braid_exec::Expression;
use braid_exec::expression::{Arithmetic, Comparison, NumberRange};
use braid_exec::plan::JoinKind;
use braid_exec::plan::NullKeys;
use braid_exec::plan::{AggregateCall, AggregateFunction, AggregationSpec, AverageKind};
use braid_exec::plan::{JoinCondition, Plan};
use braid_exec::plan::{SortKey, SortSpec};
use braid_storage::Scalar;

/// 1 as a numeric(15,2).
pub(super) const ONE: i64 = 100;

/// Maximum digits of a numeric, the precision of sums.
pub(super) const DIGITS_MAX: u8 = 38;

/// Digits after the point that averages have beyond their argument's.
const AVERAGE_DIGITS: u8 = 4;

/// The first columns.
pub(super) fn columns<const N: usize>() -> [Expression; N] {
    std::array::from_fn(Expression::Column)
}

/// The columns at these positions.
pub(super) fn columns_at<const N: usize>(places: [usize; N]) -> [Expression; N] {
    places.map(Expression::Column)
}

pub(super) fn parameter(number: usize) -> Expression {
    Expression::Parameter(number)
}

pub(super) fn integer(value: i64) -> Expression {
    Expression::Constant(Some(Scalar::Int(value)))
}

pub(super) fn text(text: &str) -> Scalar {
    Scalar::Bytes(text.as_bytes().to_vec())
}

/// A date as days since 1970. Month 13 is January of the next year.
pub(super) fn day(year: u64, month: u64, day: u64) -> i64 {
    let (year, month) = if month > 12 { (year + 1, month - 12) } else { (year, month) };
    let date = format!("{year}-{month:02}-{day:02}");
    Date32Type::parse(&date).expect("the date is in the form that is parsed").into()
}

fn compare(comparison: Comparison, left: Expression, right: Expression) -> Expression {
    Expression::Compare { comparison, left: Box::new(left), right: Box::new(right) }
}

pub(super) fn equal(left: Expression, right: Expression) -> Expression {
    compare(Comparison::Equal, left, right)
}

pub(super) fn less(left: Expression, right: Expression) -> Expression {
    compare(Comparison::Less, left, right)
}

pub(super) fn at_most(left: Expression, right: Expression) -> Expression {
    compare(Comparison::LessOrEqual, left, right)
}

pub(super) fn at_least(left: Expression, right: Expression) -> Expression {
    compare(Comparison::GreaterOrEqual, left, right)
}

pub(super) fn is_among(value: Expression, texts: &[&str]) -> Expression {
    Expression::In { value: Box::new(value), list: texts.iter().map(|item| text(item)).collect() }
}

pub(super) fn like(value: Expression, pattern: Expression) -> Expression {
    Expression::Like { value: Box::new(value), pattern: Box::new(pattern) }
}

/// CASE WHEN with one branch.
pub(super) fn either(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
    Expression::Case { branches: vec![(condition, then)], otherwise: Some(Box::new(otherwise)) }
}

fn arithmetic(operation: Arithmetic, left: Expression, right: Expression) -> Expression {
    Expression::Arithmetic { operation, left: Box::new(left), right: Box::new(right), range: NumberRange::Numeric }
}

pub(super) fn product(left: Expression, right: Expression) -> Expression {
    arithmetic(Arithmetic::Multiply, left, right)
}

pub(super) fn difference(left: Expression, right: Expression) -> Expression {
    arithmetic(Arithmetic::Subtract, left, right)
}

/// `value + 1` for a value in hundredths.
pub(super) fn one_more(value: Expression) -> Expression {
    arithmetic(Arithmetic::Add, integer(ONE), value)
}

/// `price * (1 - discount)`, with four digits after the point.
pub(super) fn discounted(price: Expression, discount: Expression) -> Expression {
    product(price, difference(integer(ONE), discount))
}

/// The rows for which all conditions are true.
pub(super) fn filter(input: Plan, mut conditions: Vec<Expression>) -> Plan {
    let condition = match conditions.len() {
        1 => conditions.remove(0),
        _ => Expression::And(conditions),
    };
    Plan::Filter { input: Box::new(input), condition }
}

pub(super) fn project(input: Plan, expressions: Vec<Expression>) -> Plan {
    Plan::Project { input: Box::new(input), expressions }
}

/// A join on one column of each side; the probe side's columns come first.
pub(super) fn join(kind: JoinKind, (build, build_key): (Plan, usize), (probe, probe_key): (Plan, usize)) -> Plan {
    let condition = JoinCondition {
        kind,
        build_keys: vec![build_key],
        probe_keys: vec![probe_key],
        residual: None,
        null_keys: NullKeys::EqualNothing,
    };
    Plan::join(build, probe, condition)
}

pub(super) fn group(input: Plan, keys: &[usize], aggregates: Vec<AggregateCall>) -> Plan {
    Plan::Aggregate { input: Box::new(input), spec: Arc::new(AggregationSpec { keys: keys.to_vec(), aggregates }) }
}

fn call(function: AggregateFunction, argument: Option<usize>) -> AggregateCall {
    AggregateCall { function, argument, distinct: false, filter: None }
}

pub(super) fn sum(argument: usize) -> AggregateCall {
    call(AggregateFunction::Sum, Some(argument))
}

pub(super) fn average(argument: usize) -> AggregateCall {
    let kind = AverageKind::Numeric { scale: 2, result_scale: 2 + AVERAGE_DIGITS };
    call(AggregateFunction::Average(kind), Some(argument))
}

pub(super) fn row_count() -> AggregateCall {
    call(AggregateFunction::CountRows, None)
}

/// Rows sorted by columns, each ascending or descending.
pub(super) fn sort(input: Plan, columns: &[(usize, Order)]) -> Plan {
    let key = |(column, order): &(usize, Order)| {
        let descending = *order == Order::Descending;
        // PostgreSQL has nulls above all values.
        SortKey { column: *column, descending, nulls_first: descending }
    };
    let keys = columns.iter().map(key).collect();
    Plan::Sort { input: Box::new(input), spec: Arc::new(SortSpec { keys, limit: None }) }
}

/// ASC or DESC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}
