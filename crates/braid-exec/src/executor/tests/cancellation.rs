//! The time from a cancellation to the end of the query, for every kind of work. Timers must keep running meanwhile, even if
//! all threads of the runtime compute.

use std::time::Instant;

use super::*;
use crate::Vector;
use crate::expression::Comparison;
use crate::keys::null_keys::NullKeys;
use crate::plan::SortKey;
use crate::plan::{
    AggregateCall, AggregateFunction, FrameAggregate, FrameBound, FrameMode, WindowCall, WindowFrame, WindowFunction,
    WindowSpec,
};
use crate::runtime::pipeline::tests::Count;
use crate::runtime::result_rows::{ResultRows, ResultSource};
use crate::tuning::Tuning;

/// Rows of two columns: numbers that repeat `times` times, and scattered numbers.
fn rows(row_count: i64, times: i64) -> Plan {
    let part = |first: i64| {
        let last = (first + 100_000).min(row_count);
        let keys: Vec<i64> = (first..last).map(|row| row / times).collect();
        let scattered: Vec<i64> =
            (first..last).map(|row| row.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 8).collect();
        let columns = vec![Vector::integers(keys), Vector::integers(scattered)];
        Arc::new(ResultRows::new((last - first) as usize, columns))
    };
    let source = ResultSource::new((0..row_count).step_by(100_000).map(part).collect());
    Plan::Source { source: Arc::new(source), column_count: 2 }
}

fn join(kind: JoinKind, build: Plan, probe: Plan, residual: Option<Expression>) -> Plan {
    let condition =
        JoinCondition { kind, build_keys: vec![0], probe_keys: vec![0], residual, null_keys: NullKeys::EqualNothing };
    Plan::join(build, probe, condition)
}

fn sum(input: Plan, keys: Vec<usize>) -> Plan {
    let aggregates =
        vec![AggregateCall { function: AggregateFunction::Sum, argument: Some(1), distinct: false, filter: None }];
    Plan::Aggregate { input: input.into(), spec: Arc::new(AggregationSpec { keys, aggregates }) }
}

fn sorted(input: Plan) -> Plan {
    let keys = vec![SortKey { column: 1, descending: false, nulls_first: false }];
    Plan::Sort { input: input.into(), spec: Arc::new(SortSpec { keys, limit: None }) }
}

/// The largest number of each row's partition up to this row.
fn window(input: Plan, partition_by: Vec<usize>) -> Plan {
    let order_by = vec![SortKey { column: 1, descending: false, nulls_first: false }];
    let frame =
        WindowFrame { mode: FrameMode::Rows, start: FrameBound::UnboundedPreceding, end: FrameBound::CurrentRow };
    let (function, argument, filter) = (FrameAggregate::Maximum, Some(1), None);
    let function = WindowFunction::Aggregate { function, argument, filter, frame };
    let calls = vec![WindowCall { key_count: 1, function }];
    Plan::Window { input: input.into(), spec: Arc::new(WindowSpec { partition_by, order_by, calls }) }
}

/// A condition that no pair satisfies.
fn never() -> Expression {
    let column = |column| Box::new(Expression::Column(column));
    Expression::Compare { comparison: Comparison::Less, left: column(0), right: column(2) }
}

/// Joins of rows with one key, one above the other. They make too many pairs to run to their end.
pub fn endless_join(depth: u32) -> Plan {
    let one_key = || rows(1_024, 1_024);
    (0..depth).fold(one_key(), |probe, _| join(JoinKind::Inner, one_key(), probe, None))
}

/// Plans that take long, each with another kind of work.
fn long_plans(row_count: i64) -> Vec<(&'static str, Plan)> {
    vec![
        ("groups", sum(rows(row_count, 1), vec![0])),
        ("groups of scattered keys", sum(rows(row_count, 1), vec![1])),
        ("sort", sorted(rows(row_count, 1))),
        ("windows of partitions", window(rows(row_count, 10), vec![0])),
        ("window of all rows", window(rows(row_count, 1), Vec::new())),
        ("build side", sum(join(JoinKind::Inner, rows(row_count, 2), rows(row_count, 1), None), Vec::new())),
        ("pairs", sum(endless_join(5), Vec::new())),
        (
            "pairs that do not count",
            join(JoinKind::ProbeAnti, rows(1 << 20, 1 << 20), rows(20_000, 1 << 20), Some(never())),
        ),
        (
            "pairs of build rows",
            join(JoinKind::BuildSemi, rows(20_000, 1 << 20), rows(1 << 20, 1 << 20), Some(never())),
        ),
    ]
}

/// Cancels a plan after `wait`. Returns the milliseconds from the cancellation to the end, or `None` if it had ended before.
async fn latency(plan: &Plan, worker_count: usize, wait: Duration) -> Option<f64> {
    let budget = FixedBudget::new(ByteSize(4 << 30));
    let executor = Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small());
    let cancellation = executor.cancellation();
    // Also says that the runtime's timers go on.
    let canceller = tokio::spawn(async move {
        let begin = Instant::now();
        tokio::time::sleep(wait).await;
        cancellation.raise();
        (Instant::now(), begin.elapsed() - wait)
    });
    let run = tokio::time::timeout(PATIENCE, executor.run(plan, Count::default));
    let outcome = run.await.expect("it ends").map(|sinks| sinks.iter().map(|sink| sink.0).sum::<u64>());
    let ended = Instant::now();
    drop(executor);
    assert_given_back(&budget).await;
    let (cancelled, late) = canceller.await.unwrap();
    let error = outcome.err()?;
    assert!(matches!(error, ExecError::Cancelled), "{error}");
    Some((ended.saturating_duration_since(cancelled).max(late)).as_secs_f64() * 1e3)
}

/// Cancels each plan four times during its work, each time earlier, and retries earlier if it had ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_cancelled_stops_soon() {
    for (name, plan) in long_plans(200_000) {
        for worker_count in [1, 2] {
            let (mut found, mut wait) = (Vec::new(), Duration::from_millis(60));
            while found.len() < 4 {
                found.extend(latency(&plan, worker_count, wait).await);
                wait = wait * 2 / 3;
                assert!(wait > Duration::from_micros(200), "{name}, {worker_count} workers: it ended before {wait:?}");
            }
            // Without optimisation. Other work may stop this process for seconds, but not each time.
            found.sort_by(f64::total_cmp);
            assert!(found[1] < 500.0, "{name}, {worker_count} workers: {found:?} ms");
        }
    }
}

/// A timeout in the same task, on a runtime whose threads are all busy with the query.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_is_noticed_while_a_batch_becomes_very_many() {
    for worker_count in [1, 2, 3] {
        let budget = FixedBudget::new(PLENTY);
        let plan = endless_join(5);
        let run = async { Executor::new(worker_count, budget.clone()).run(&plan, Count::default).await.map(|_| ()) };
        let outcome = tokio::time::timeout(Duration::from_millis(50), run).await;
        assert!(outcome.is_err(), "{outcome:?}");
        assert_given_back(&budget).await;
    }
}

/// `cargo test --release -p braid-exec --lib cancellation::measurements -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; takes a minute in a release build"]
async fn measurements() {
    for (name, plan) in long_plans(4_000_000) {
        let mut found = Vec::new();
        for at in 0..60 {
            found.extend(latency(&plan, 2, Duration::from_millis(10 * at)).await);
        }
        found.sort_by(f64::total_cmp);
        let (median, last) = (found.get(found.len() / 2), found.last());
        println!("{name}: {} times cancelled, median {median:.1?} ms, longest {last:.1?} ms", found.len());
    }
}
