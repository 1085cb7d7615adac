//! The time of 64 queries in one pass and one after the other, by operator. Run with
//! `cargo test --release -p braid-exec --lib shared_operators::measurements -- --ignored --nocapture --test-threads 1`.

use std::time::{Duration, Instant};

use super::*;
use crate::expression::Comparison;
use crate::plan::{
    FrameAggregate, FrameBound, FrameMode, SortKey, WindowCall, WindowFrame, WindowFunction, WindowSpec,
};
use crate::runtime::expand::ColumnLists;
use crate::{ParameterRow, SharedPlan};

const QUERIES: i64 = 64;
const ROWS: usize = 20_000;
const PARTITIONS: u64 = 500;

/// Rows of a partition, another key, and a value that the queries select by.
fn table(random: &mut SeededRandom) -> Plan {
    let mut column = |below: u64| Vector::integers((0..ROWS).map(|_| random.below(below) as i64).collect());
    let columns = vec![column(PARTITIONS), column(20), column(QUERIES as u64)];
    let rows = Arc::new(ResultRows::new(ROWS, columns));
    Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 3 }
}

fn selected(comparison: Comparison, random: &mut SeededRandom) -> Plan {
    let (left, right) = (Expression::Column(2).into(), Expression::Parameter(0).into());
    Plan::Filter { input: table(random).into(), condition: Expression::Compare { comparison, left, right } }
}

/// The rank of each row in its partition, and the sum of its values; then the sums of both.
fn ranked(input: Plan) -> Plan {
    let end = FrameBound::UnboundedFollowing;
    let frame = WindowFrame { mode: FrameMode::Rows, start: FrameBound::UnboundedPreceding, end };
    let sum = WindowFunction::Aggregate { function: FrameAggregate::Sum, argument: Some(1), filter: None, frame };
    let calls = [WindowFunction::Rank, sum].map(|function| WindowCall { key_count: 1, function }).into();
    let order_by = vec![SortKey { column: 1, descending: false, nulls_first: false }];
    let spec = WindowSpec { partition_by: vec![0], order_by, calls };
    summed(Plan::Window { input: input.into(), spec: spec.into() }, Vec::new(), &[3, 4])
}

/// The sums of ROLLUP.
fn rolled_up(input: Plan) -> Plan {
    let lists: ColumnLists =
        [[Some(0), Some(1), Some(2)], [Some(0), None, Some(2)], [None, None, Some(2)]].map(Vec::from).into();
    let groups = summed(Plan::Expand { input: input.into(), lists }, vec![0, 1, 3], &[2]);
    summed(groups, Vec::new(), &[3])
}

fn summed(input: Plan, keys: Vec<usize>, columns: &[usize]) -> Plan {
    let sum = |column: &usize| AggregateCall {
        function: AggregateFunction::Sum,
        argument: Some(*column),
        distinct: false,
        filter: None,
    };
    let spec = AggregationSpec { keys, aggregates: columns.iter().map(sum).collect() };
    Plan::Aggregate { input: input.into(), spec: spec.into() }
}

async fn alone(plan: &Plan, parameters: &[ParameterRow]) -> (Vec<Vec<Row>>, Duration) {
    let since = Instant::now();
    let mut found = Vec::new();
    for row in parameters {
        let executor = Executor::new(1, FixedBudget::new(PLENTY));
        let sinks = executor.run(&plan.bind(row), Collected::default).await.unwrap();
        found.push(sinks.into_iter().flat_map(|sink| sink.0).collect());
    }
    (found, since.elapsed())
}

async fn in_one_pass(plan: &Plan, parameters: &[ParameterRow]) -> (Vec<Vec<Row>>, Duration) {
    let since = Instant::now();
    let budget = FixedBudget::new(PLENTY);
    let shared = SharedPlan::new(plan, parameters, budget.clone()).unwrap();
    let found = Executor::new(1, budget).run_shared(&shared, |_| Collected::default()).await.unwrap();
    (found.into_iter().map(|sinks| sinks.into_iter().flat_map(|sink| sink.0).collect()).collect(), since.elapsed())
}

/// An operator above rows, with its name.
type Form = (&'static str, fn(Plan) -> Plan);

#[tokio::test]
#[ignore = "a measurement"]
async fn one_pass_of_64_queries() {
    let parameters: Vec<ParameterRow> = (0..QUERIES).map(|value| vec![Some(Scalar::Int(value))]).collect();
    let forms: [Form; 2] = [("window", ranked), ("rollup", rolled_up)];
    for (name, form) in forms {
        for comparison in [Comparison::Equal, Comparison::Less] {
            let plan = form(selected(comparison, &mut SeededRandom::new(1)));
            let ((expected, alone), (found, pass)) =
                (alone(&plan, &parameters).await, in_one_pass(&plan, &parameters).await);
            assert_eq!(found, expected);
            let gain = alone.as_secs_f64() / pass.as_secs_f64();
            println!("{name}, {comparison:?}: alone {alone:.1?}, one pass {pass:.1?}, {gain:.1} times as fast");
        }
    }
}
