//! Random shared joins, single or stacked. Each query must get the rows that ordinary joins of its own rows return. Other runs
//! have too little memory, or are dropped before their end.

pub(super) mod shared_case;

use super::*;
use crate::expression::Comparison;
use crate::keys::null_keys::NullKeys;
use crate::plan::shared_operator::JoinSets;
use crate::{SetStore, Vector};
use shared_case::{KINDS, SMALL, SharedCase};

async fn check_shared(mut case: SharedCase) -> bool {
    let Some(expected) = case.expected() else { return false };
    let (plan, _) = case.plan();
    let budget = FixedBudget::new(PLENTY);
    let worker_count = 1 + case.random.below(3) as usize;
    case.assert_answers(run(&plan, worker_count, &budget).await.unwrap(), &expected);
    assert_given_back(&budget).await;
    if case.random.chance(1, 4) {
        let budget = FixedBudget::new(ByteSize(1 << (10 + case.random.below(9))));
        match run(&plan, worker_count, &budget).await {
            Err(ExecError::Memory(_)) => {}
            found => case.assert_answers(found.unwrap(), &expected),
        }
        assert_given_back(&budget).await;
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_joins_give_each_query_its_rows() {
    let cases = cases!(0..3_000);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0);
    let mut compared = 0;
    for case in cases {
        for _ in 0..repeats {
            compared += usize::from(check_shared(SharedCase::new(case.seed, &SMALL)).await);
        }
    }
    let most = is_replay || compared * 10 > count * 9;
    assert!(most, "only {compared} of {count} joins have a defined answer");
}

/// Both sides, and the pairs, exceed a vector. They are too many for the definition, so that ordinary joins give the expected
/// rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_shared_joins_give_each_query_its_rows() {
    for drawn in cases!(0..2 * KINDS.len() as u64) {
        let Some(case) = SharedCase::large(drawn.seed) else { continue };
        let expected = case.expected_alone().await;
        let budget = FixedBudget::new(PLENTY);
        case.assert_answers(run(&case.plan().0, 3, &budget).await.unwrap(), &expected);
        assert_given_back(&budget).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_joins_dropped_in_the_middle_give_everything_back() {
    let cases = cases!(0..1_000);
    let is_replay = cases.is_replay();
    let mut held = 0;
    for drawn in cases {
        let mut case = SharedCase::new(drawn.seed, &SMALL);
        let (plan, polls) = (case.plan().0, case.random.below(6));
        let budget = FixedBudget::new(PLENTY);
        let executor = Executor::new(1 + case.random.below(3) as usize, budget.clone()).with_tuning(Tuning::small());
        let mut running = Box::pin(executor.run(&plan, Collected::default));
        for _ in 0..polls {
            let ended =
                futures::future::poll_fn(|context| std::task::Poll::Ready(running.as_mut().poll(context))).await;
            if ended.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        held += usize::from(budget.used() > 0);
        drop(running);
        drop(executor);
        assert_given_back(&budget).await;
    }
    assert!(is_replay || held > 50, "only {held} plans held memory when they were dropped");
}

/// One batch of the probe side makes 10^8 pairs, and no pair satisfies the condition.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_shared_join_stops_between_pairs() {
    let rows = |row_count: i64| {
        let part = ResultRows::new(row_count as usize, vec![Vector::integers((0..row_count).collect())]);
        let source = Arc::new(ResultSource::new(vec![Arc::new(part)]));
        Plan::Source { source, column_count: 1 }
    };
    let store = SetStore::new(3, FixedBudget::new(PLENTY)).unwrap();
    let column = |column| Expression::Column(column).into();
    let never = Expression::Compare { comparison: Comparison::Less, left: column(1), right: column(1) };
    let condition = JoinCondition {
        kind: JoinKind::ProbeAnti,
        build_keys: Vec::new(),
        probe_keys: Vec::new(),
        residual: Some(never),
        null_keys: NullKeys::EqualNothing,
    };
    let sets = JoinSets { store, probe: None, build: None, condition: None };
    let (build, probe) = (rows(50_000), rows(2_000));
    let plan = Plan::Shared(Box::new(SharedOperator::Join { build, probe, condition, sets }));
    let budget = FixedBudget::new(PLENTY);
    let executor = Executor::new(1, budget.clone()).with_tuning(Tuning::small());
    let cancellation = executor.cancellation();
    let canceller = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancellation.raise();
        std::time::Instant::now()
    });
    let outcome = executor.run(&plan, Collected::default).await.map(|sinks| sinks.len());
    assert!(matches!(outcome, Err(ExecError::Cancelled)), "{outcome:?}");
    let since = canceller.await.unwrap().elapsed();
    // All pairs take many times as long.
    assert!(since < Duration::from_secs(20), "it went on for {since:?}");
    drop(executor);
    assert_given_back(&budget).await;
}

/// A filter that drops a row below would give its partner a null, and the join above would find this null equal to another.
#[tokio::test]
async fn filters_stay_above_shared_joins_whose_build_rows_wait() {
    let tables = [
        Table::of_integers(0, 2, &[&[Some(1), Some(5)]]),
        Table::of_integers(1, 1, &[&[Some(1)]]),
        Table::of_integers(2, 1, &[&[None], &[Some(6)]]),
    ];
    let source = |at: usize| Plan::Source { source: tables[at].clone(), column_count: tables[at].kinds.len() };
    let store = SetStore::new(2, FixedBudget::new(PLENTY)).unwrap();
    let join = |kind, build: Plan, probe: Plan, key: usize, null_keys| {
        let (build_keys, probe_keys, residual) = (vec![0], vec![key], None);
        let condition = JoinCondition { kind, build_keys, probe_keys, residual, null_keys };
        let sets = JoinSets { store: store.clone(), probe: (key == 1).then_some(3), build: None, condition: None };
        Plan::Shared(Box::new(SharedOperator::Join { build, probe, condition, sets }))
    };
    for kind in [JoinKind::BuildOuter, JoinKind::FullOuter] {
        let plan = join(
            JoinKind::Inner,
            source(2),
            join(kind, source(1), source(0), 0, NullKeys::EqualNothing),
            1,
            NullKeys::EqualNull,
        );
        assert!(run(&plan, 1, &FixedBudget::new(PLENTY)).await.unwrap().is_empty(), "{kind:?}");
    }
}
