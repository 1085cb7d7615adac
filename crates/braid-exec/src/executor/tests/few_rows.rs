//! Queries without FROM, and of few rows.

use std::time::Instant;

use super::*;
use crate::expression::{Arithmetic, Comparison, NumberRange};
use crate::scan::single_row::SingleRow;

fn int(value: i64) -> Expression {
    Expression::Constant(Some(Scalar::Int(value)))
}

fn single_row() -> Plan {
    Plan::Source { source: Arc::new(SingleRow), column_count: 0 }
}

fn select(expressions: Vec<Expression>) -> Plan {
    Plan::Project { input: single_row().into(), expressions }
}

fn sum(left: Expression, right: Expression, range: NumberRange) -> Expression {
    Expression::Arithmetic { operation: Arithmetic::Add, left: left.into(), right: right.into(), range }
}

async fn rows_of(plan: &Plan) -> Result<Vec<Row>, ExecError> {
    run(plan, 3, &FixedBudget::new(PLENTY)).await
}

#[tokio::test]
async fn a_row_without_columns_is_one_row() {
    let two = select(vec![sum(int(1), int(1), NumberRange::Int32), Expression::Constant(None)]);
    assert_eq!(rows_of(&two).await.unwrap(), [[Some(Scalar::Int(2)), None]]);
    // Started again.
    assert_eq!(rows_of(&two).await.unwrap().len(), 1);
    let count = |plan: Plan, limit| Plan::Limit { input: plan.into(), offset: 0, limit: Some(limit) };
    assert_eq!(rows_of(&count(two.clone(), 1)).await.unwrap().len(), 1);
    assert!(rows_of(&count(two.clone(), 0)).await.unwrap().is_empty());
    let condition = Expression::Compare { comparison: Comparison::Less, left: int(2).into(), right: int(1).into() };
    let never = Plan::Filter { input: two.clone().into(), condition };
    assert!(rows_of(&never).await.unwrap().is_empty());
    let twice = Plan::Union(vec![two.clone(), select(vec![int(3), int(4)])]);
    assert_eq!(rows_of(&twice).await.unwrap().len(), 2);
    let failing = select(vec![sum(int(30_000), int(30_000), NumberRange::Int16)]);
    assert!(matches!(rows_of(&failing).await, Err(ExecError::OutOfRange { .. })));
}

/// Rows `0..row_count` of one column.
fn numbers(row_count: usize) -> Plan {
    let rows = ResultRows::new(row_count, vec![Vector::integers((0..row_count as i64).collect())]);
    Plan::Source { source: Arc::new(ResultSource::new(vec![Arc::new(rows)])), column_count: 1 }
}

/// The successor of a number in `rows`.
fn looked_up(rows: Plan, number: i64) -> Plan {
    let (left, right) = (Expression::Column(0).into(), int(number).into());
    let condition = Expression::Compare { comparison: Comparison::Equal, left, right };
    let found = Plan::Filter { input: rows.into(), condition };
    let successor = sum(Expression::Column(0), int(1), NumberRange::Int64);
    Plan::Project { input: found.into(), expressions: vec![successor] }
}

#[tokio::test]
async fn a_look_up_runs_in_place_with_one_sink() {
    for row_count in [1, 3000, 4096, 4097, 10_000] {
        let plan = looked_up(numbers(row_count), row_count as i64 - 1);
        assert_eq!(Executor::runs_in_place(&plan), row_count <= 4096, "{row_count} rows");
        assert_eq!(rows_of(&plan).await.unwrap(), [[Some(Scalar::Int(row_count as i64))]]);
        assert!(rows_of(&looked_up(numbers(row_count), -1)).await.unwrap().is_empty());
        let failing = looked_up(numbers(row_count), i64::MAX);
        assert!(rows_of(&failing).await.unwrap().is_empty());
    }
    let limited = Plan::Limit { input: numbers(4096).into(), offset: 2000, limit: Some(1500) };
    assert!(Executor::runs_in_place(&limited));
    let rows: Vec<Row> = (2000..3500).map(|value| vec![Some(Scalar::Int(value))]).collect();
    assert_eq!(rows_of(&limited).await.unwrap(), rows);
}

#[test]
fn what_may_take_long_or_is_deep_gets_a_task() {
    let like = Expression::Like {
        value: Expression::Column(0).into(),
        pattern: Expression::Constant(Some(Scalar::Bytes(b"%a%".to_vec()))).into(),
    };
    assert!(!Executor::runs_in_place(&Plan::Filter { input: numbers(2).into(), condition: like }));
    assert!(!Executor::runs_in_place(&Plan::Union(vec![numbers(2), numbers(2)])));
    let deep = (0..20).fold(numbers(2), |input, _| Plan::Limit { input: input.into(), offset: 0, limit: None });
    assert!(!Executor::runs_in_place(&deep));
}

#[tokio::test]
async fn many_queries_without_from_share_a_pass() {
    let plan = select(vec![sum(Expression::Parameter(0), int(1), NumberRange::Int32)]);
    let rows: Vec<_> = [5, 7, 5].map(|value| vec![Some(Scalar::Int(value))]).into();
    let budget = FixedBudget::new(PLENTY);
    let shared = crate::SharedPlan::new(&plan, &rows, budget.clone()).unwrap();
    let found = Executor::new(2, budget).run_shared(&shared, |_| Collected::default()).await.unwrap();
    let values: Vec<Vec<Row>> =
        found.into_iter().map(|sinks| sinks.into_iter().flat_map(|sink| sink.0).collect()).collect();
    assert_eq!(values, [6, 8, 6].map(|value| vec![vec![Some(Scalar::Int(value))]]));
}

/// `cargo test --release -p braid-exec --lib few_rows::measurements -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn measurements() {
    const RUNS: u32 = 20_000;
    let budget = FixedBudget::new(PLENTY);
    let constant = select(vec![int(1)]);
    let template = select(vec![sum(Expression::Parameter(0), int(1), NumberRange::Int32)]);
    for name in ["constant", "bound parameter", "a task for the row"] {
        let since = Instant::now();
        for at in 0..RUNS {
            let plan = match name {
                "constant" => constant.clone(),
                "bound parameter" => template.bind(&[Some(Scalar::Int(at.into()))]),
                // A union is not known to have one row.
                _ => Plan::Union(vec![constant.clone()]),
            };
            let executor = Executor::new(2, budget.clone());
            let sinks = executor.run(&plan, Collected::default).await.unwrap();
            assert_eq!(sinks.iter().map(|sink| sink.0.len()).sum::<usize>(), 1);
        }
        println!("{name}: {} ns", since.elapsed().as_nanos() / u128::from(RUNS));
    }
}
