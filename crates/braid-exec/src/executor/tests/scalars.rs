//! Scalar subqueries that fail: only where a row reads their value.

use super::*;
use crate::expression::{Arithmetic, Comparison, NumberRange};

fn rows(values: Vec<i64>) -> Plan {
    let rows = ResultRows::new(values.len(), vec![Vector::integers(values)]);
    Plan::Source { source: Arc::new(ResultSource::new(vec![Arc::new(rows)])), column_count: 1 }
}

fn integer(value: i64) -> Expression {
    Expression::Constant(Some(Scalar::Int(value)))
}

fn filter(input: Plan, comparison: Comparison, than: i64) -> Plan {
    let (left, right) = (Box::new(Expression::Column(0)), Box::new(integer(than)));
    Plan::Filter { input: input.into(), condition: Expression::Compare { comparison, left, right } }
}

/// The sum of a column and one, which is out of range for the largest number.
fn next(input: Plan) -> Plan {
    let (operation, range) = (Arithmetic::Add, NumberRange::Int64);
    let sum = Expression::Arithmetic { operation, left: Expression::Column(0).into(), right: integer(1).into(), range };
    Plan::Project { input: input.into(), expressions: vec![sum] }
}

/// The rows above a number, each with the value of a subquery if it is above another number, and else with 0.
fn reading(subquery: Plan, above: i64, read_above: i64) -> Plan {
    let (left, right) = (Box::new(Expression::Column(0)), Box::new(integer(read_above)));
    let condition = Expression::Compare { comparison: Comparison::Greater, left, right };
    let branches = vec![(condition, Expression::SubqueryValue(0))];
    let value = Expression::Case { branches, otherwise: Some(integer(0).into()) };
    let input = filter(rows((1..=5000).collect()), Comparison::Greater, above);
    let input = Plan::Project { input: input.into(), expressions: vec![value] };
    Plan::WithScalars { subqueries: vec![subquery], input: input.into() }
}

async fn answer(plan: &Plan) -> Result<usize, ExecError> {
    run(plan, 2, &FixedBudget::new(PLENTY)).await.map(|rows| rows.len())
}

#[tokio::test]
async fn a_subquery_fails_where_its_value_is_read() {
    let several = || rows(vec![1, 2]);
    assert_eq!(answer(&reading(several(), 5000, 0)).await.unwrap(), 0, "no row reads it");
    assert_eq!(answer(&reading(several(), 10, 5000)).await.unwrap(), 4990, "no row reads it");
    assert!(matches!(answer(&reading(several(), 10, 4999)).await, Err(ExecError::SeveralRows)));
    let out_of_range = || next(rows(vec![i64::MAX]));
    assert_eq!(answer(&reading(out_of_range(), 10, 5000)).await.unwrap(), 4990, "no row reads it");
    let read = answer(&reading(out_of_range(), 10, 10)).await;
    assert!(matches!(read, Err(ExecError::OutOfRange { type_name: "bigint" })), "{read:?}");
}

#[tokio::test]
async fn a_run_that_is_stopped_stops_its_subqueries() {
    let executor = Executor::new(2, FixedBudget::new(PLENTY));
    executor.cancellation().raise();
    let stopped = executor.run(&reading(rows(vec![1]), 0, 0), Collected::default).await;
    assert!(matches!(stopped, Err(ExecError::Cancelled)));
}
