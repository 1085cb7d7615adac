//! Queries without FROM.

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

/// `cargo test --release -p braid-exec --lib one_row::measurements -- --ignored --nocapture`
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
