//! The choice between indexes and separate evaluation of conditions. Tests of whole plans check the results.

use braid_base::ByteSize;

use super::*;
use crate::expression::Comparison;
use crate::query_sets::set_calculator::SetCalculator;
use crate::values::vector::Values;
use crate::{FixedBudget, Vector};

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

/// The values of column 0, null among them, for which each query's condition holds, by the index and alone.
fn check_lists(condition: &Expression, rows: &[ParameterRow]) {
    let store = SetStore::new(rows.len(), FixedBudget::new(ByteSize(1 << 24))).unwrap();
    let conditions = QueryConditions::new(condition, PassParameters { rows, store: &store }).unwrap();
    assert_eq!(shape(&conditions), "#0", "{condition}");
    let values: Vec<Option<Scalar>> = (-1..8).map(|value| (value >= 0).then_some(Scalar::Int(value))).collect();
    let valid = values.iter().map(Option::is_some).collect();
    let vector = Vector::new(Values::Int((-1..8).collect()), Some(valid));
    let mut batch = Batch::of_vectors(values.len(), [Arc::new(vector)]);
    let all = vec![SetNumber::ALL; values.len()];
    let mut calculator = SetCalculator::new(store.clone());
    let sets = ConditionEvaluator::new(&conditions, store.budget()).sets(&mut batch, &all, &mut calculator).unwrap();
    for (query, row) in rows.iter().enumerate() {
        let mut alone = condition.clone();
        alone.bind_parameters(row);
        let expected = Evaluator::new(alone, store.budget()).select(&mut batch).unwrap();
        let found: Vec<bool> = sets.iter().map(|set| store.queries(*set).contains(&QueryNumber::at(query))).collect();
        assert_eq!(found, expected, "{condition} with {row:?}");
    }
}

#[test]
fn lists_with_parameters_are_one_index() {
    let row = |values: [i64; 3]| values.map(|value| (value >= 0).then_some(Scalar::Int(value))).to_vec();
    // Other values, repeated values, and nulls.
    let rows = [[1, 2, 3], [3, 2, 5], [4, 4, 4], [1, -1, 6], [-1, -1, -1], [7, 0, -1]].map(row);
    let list = |alternatives: &[Expression]| {
        Expression::Or(alternatives.iter().map(|value| equal(column(0), value.clone())).collect())
    };
    let parameters = || vec![parameter(0), parameter(1), parameter(2)];
    let not = |condition: Expression| Expression::Not(condition.into());
    check_lists(&list(&parameters()), &rows);
    check_lists(&not(list(&parameters())), &rows);
    check_lists(&not(not(list(&parameters()))), &rows);
    // The same with parameters on the left, and in nested lists.
    let mirrored = parameters().into_iter().map(|value| equal(value, column(0))).collect();
    check_lists(&Expression::Or(mirrored), &rows);
    check_lists(&Expression::Or(vec![list(&parameters()[..2]), equal(column(0), parameter(2))]), &rows);
    // Constants among the parameters.
    let constants = Expression::In { value: column(0).into(), list: [6, 1].map(Scalar::Int).into() };
    let five = Expression::Constant(Some(Scalar::Int(5)));
    check_lists(&Expression::Or(vec![constants, equal(five, column(0)), list(&parameters())]), &rows);
    // A range that holds for none of the listed values leaves nothing.
    let below = compare(Comparison::Less, column(0), parameter(1));
    check_lists(&Expression::And(vec![list(&parameters()), below]), &rows);
}
