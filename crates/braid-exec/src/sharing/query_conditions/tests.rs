//! The choice between indexes and separate evaluation of conditions. Tests of whole plans check the results.

use braid_base::ByteSize;

use super::*;
use crate::FixedBudget;
use crate::expression::Comparison;

fn column(at: usize) -> Expression {
    Expression::Column(at)
}

fn parameter(at: usize) -> Expression {
    Expression::Parameter(at)
}

fn compare(comparison: Comparison, left: Expression, right: Expression) -> Expression {
    Expression::Compare { comparison, left: left.into(), right: right.into() }
}

fn equal(left: Expression, right: Expression) -> Expression {
    compare(Comparison::Equal, left, right)
}

/// Compares the shape of a prepared condition, whose parameters are integers.
fn check(condition: Expression, expected: &str) {
    let rows: Vec<ParameterRow> = (0..5).map(|n| (0..4).map(|p| Some(Scalar::Int(n * (p + 1)))).collect()).collect();
    let store = SetStore::new(rows.len(), FixedBudget::new(ByteSize(1 << 24))).unwrap();
    let conditions = QueryConditions::new(&condition, PassParameters { rows: &rows, store: &store }).unwrap();
    assert_eq!(shape(&conditions), expected, "{condition}");
}

fn shape(conditions: &QueryConditions) -> String {
    let all = |parts: &[QueryConditions]| parts.iter().map(shape).collect::<Vec<_>>().join(" ");
    match conditions {
        QueryConditions::And(parts) => format!("and({})", all(parts)),
        QueryConditions::Or(parts) => format!("or({})", all(parts)),
        QueryConditions::Common(condition) => format!("[{condition}]"),
        QueryConditions::Indexed { value, .. } => format!("{value}"),
        QueryConditions::Like { text, .. } => format!("like({text})"),
        QueryConditions::Distinct(_) => "distinct".to_owned(),
    }
}

#[test]
fn comparisons_of_one_column_become_one_index() {
    let range = || {
        let low = compare(Comparison::GreaterOrEqual, column(0), parameter(0));
        vec![low, compare(Comparison::Greater, parameter(1), column(0))]
    };
    check(Expression::And(range()), "#0");
    check(Expression::Or(vec![equal(column(0), parameter(0)), equal(column(0), parameter(1))]), "#0");
    check(Expression::Not(Expression::Or(range()).into()), "#0");
    // A range or another one is no list of values.
    check(Expression::Or(range()), "or(#0 #0)");
}

#[test]
fn disjunctions_are_unions_of_what_indexes_say() {
    let part = |at: usize| {
        let fixed = equal(column(2), Expression::Constant(Some(Scalar::Int(1))));
        Expression::And(vec![equal(column(0), parameter(at)), fixed, equal(column(1), parameter(at + 1))])
    };
    check(Expression::Or(vec![part(0), part(2)]), "or(and(#0 [#2 = 1] #1) and(#0 [#2 = 1] #1))");
}

#[test]
fn what_has_no_index_is_evaluated_for_each_distinct_row_of_its_parameters() {
    let sum = Expression::Arithmetic {
        operation: crate::expression::Arithmetic::Add,
        left: column(0).into(),
        right: parameter(0).into(),
        range: crate::expression::NumberRange::Numeric,
    };
    check(equal(sum, column(1)), "distinct");
    // The value that is compared may be any that does not depend on the query.
    let pattern = Expression::Constant(Some(Scalar::Bytes("a%".into())));
    let like = Expression::Like { value: column(3).into(), pattern: pattern.into() };
    check(equal(like.clone(), equal(parameter(0), parameter(1))), &format!("{like}"));
    let rows: Vec<ParameterRow> = [3, 4, 3, 3].map(|n| vec![Some(Scalar::Int(n)), None]).into();
    let by_parameters = queries_by_parameters(&[&parameter(0), &parameter(1)], &rows);
    let queries: Vec<Vec<usize>> =
        by_parameters.iter().map(|(_, set)| set.iter().map(QueryNumber::index).collect()).collect();
    assert_eq!(queries, [vec![0, 2, 3], vec![1]]);
}
