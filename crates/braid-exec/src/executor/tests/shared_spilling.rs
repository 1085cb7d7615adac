//! Passes whose operators, or which as a whole, may hold almost no memory. Each query must get its rows, and nothing is left
//! behind.

use super::shared_joins::shared_case::{KINDS, SMALL, SharedCase as JoinCase};
use super::shared_plans::SharedCase as PlanCase;
use super::spilling::{NEXT_TO_NOTHING, assert_files_given_back, device, run_spilling, space_on, spill_space};
use super::*;
use crate::SpillSettings;
use crate::plan::SortKey;
use crate::{QueryBitmap, QueryNumber, SetNumber, SetStore, Vector};
use braid_io::{Fault, FaultDevice, IoOperation};

/// A space for operators that hold almost nothing, with a budget that allows everything; or one for operators that may take all
/// of a small budget.
fn little_memory(random: &mut SeededRandom) -> (Arc<SpillSpace>, Arc<FixedBudget>, ByteSize) {
    let operator_bytes_max = if random.chance(1, 4) { usize::MAX } else { 1 << (6 + random.below(8)) };
    let settings = SpillSettings { block_bytes: 1 << (4 + random.below(8)), operator_bytes_max, operator_bytes_min: 0 };
    let limit = if operator_bytes_max == usize::MAX { ByteSize(1 << (12 + random.below(7))) } else { PLENTY };
    (spill_space(settings), FixedBudget::new(limit), limit)
}

/// Runs a pass with little memory. Returns whether its answers were compared, and whether it spilled.
pub async fn check(mut case: PlanCase) -> (bool, bool) {
    let Some(expected) = case.expected() else { return (false, false) };
    let (space, budget, limit) = little_memory(&mut case.case.random);
    let worker_count = 1 + case.case.random.below(3) as usize;
    let is_compared = match case.run_with(worker_count, &budget, Some(&space)).await {
        Ok(found) => {
            case.assert_answers(found, &expected);
            true
        }
        Err(ExecError::Memory(_)) if limit != PLENTY => false,
        Err(ExecError::SeveralRows) if expected.iter().all(|answer| answer.is_err()) => false,
        Err(error) => panic!("{error}, wanted {expected:?}"),
    };
    let has_spilled = space.file_count() > 0;
    assert_given_back(&budget).await;
    assert_files_given_back(&space).await;
    (is_compared, is_compared && has_spilled)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_plans_that_spill_give_each_query_its_answer() {
    let cases = cases!(0..2_000);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut compared, mut spilled) = (0, 0);
    for drawn in cases {
        let (is_compared, has_spilled) = check(PlanCase::new(drawn.seed)).await;
        compared += usize::from(is_compared);
        spilled += usize::from(has_spilled);
    }
    println!("{compared} of {count} shared plans were compared, {spilled} spilled");
    assert!(is_replay || compared * 2 > count && spilled * 10 > count, "{compared} compared, {spilled} spilled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_joins_that_spill_give_each_query_its_rows() {
    let cases = cases!(0..3_000);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut compared, mut spilled) = (0, 0);
    for drawn in cases {
        let mut case = JoinCase::new(drawn.seed, &SMALL);
        let Some(expected) = case.expected() else { continue };
        let (space, budget, limit) = little_memory(&mut case.random);
        match run_spilling(&case.plan().0, 1 + case.random.below(3) as usize, &budget, &space).await {
            Err(ExecError::Memory(_)) if limit != PLENTY => {}
            found => {
                case.assert_answers(found.unwrap(), &expected);
                compared += 1;
                spilled += usize::from(space.file_count() > 0);
            }
        }
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
    println!("{compared} of {count} shared joins were compared, {spilled} spilled");
    assert!(is_replay || compared * 2 > count && spilled * 10 > count, "{compared} compared, {spilled} spilled");
}

/// Both sides exceed a vector, and each kind is partitioned, with partitions in memory and in files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_shared_joins_of_each_kind_spill() {
    for drawn in cases!(0..KINDS.len() as u64) {
        let Some(case) = JoinCase::large(drawn.seed) else { continue };
        let expected = case.expected_alone().await;
        for operator_bytes_max in [8 << 10, 64 << 10] {
            let settings = SpillSettings { block_bytes: 1 << 10, operator_bytes_max, operator_bytes_min: 0 };
            let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
            case.assert_answers(run_spilling(&case.plan().0, 3, &budget, &space).await.unwrap(), &expected);
            assert_given_back(&budget).await;
            assert_files_given_back(&space).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_fails_the_shared_join_alone() {
    let cases = cases!(0..400);
    let is_replay = cases.is_replay();
    let mut failed = 0;
    for drawn in cases {
        let mut case = JoinCase::new(drawn.seed, &SMALL);
        let Some(expected) = case.expected() else { continue };
        let faults = FaultDevice::new(device());
        let nth = 1 + case.random.below(8);
        faults.inject(Fault::Fail { operation: Some(IoOperation::Write), file: None, nth, errno: 5 });
        let (space, budget) = (space_on(faults, PLENTY, NEXT_TO_NOTHING), FixedBudget::new(PLENTY));
        match run_spilling(&case.plan().0, 1 + case.random.below(3) as usize, &budget, &space).await {
            Err(ExecError::Spill(_)) => failed += 1,
            found => case.assert_answers(found.unwrap(), &expected),
        }
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
    assert!(is_replay || failed > 20, "only {failed} joins met a fault");
}

/// Rows of a number and a set: query q has the rows whose number is a multiple of q + 1. They are sorted with and without a limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_sorts_spill_with_and_without_a_limit() {
    const QUERIES: usize = 5;
    const ROWS: i64 = 20_000;
    let store = SetStore::new(QUERIES, FixedBudget::new(PLENTY)).unwrap();
    let is_for = |number: i64, query: usize| number % (query as i64 + 1) == 0;
    let set = |number: i64| {
        let queries = QueryBitmap::from_fn(QUERIES, |query: QueryNumber| is_for(number, query.index()));
        store.number_of(&queries).unwrap().value()
    };
    let numbers: Vec<i64> = (0..ROWS).map(|row| row * 7_919 % ROWS).collect();
    let sets = numbers.iter().map(|number| set(*number)).collect();
    let part = ResultRows::new(ROWS as usize, vec![Vector::integers(numbers), Vector::integers(sets)]);
    let source = Arc::new(ResultSource::new(vec![Arc::new(part)]));
    for limit in [None, Some(0), Some(3), Some(5_000), Some(2 * ROWS as usize)] {
        for worker_count in [1, 3] {
            let keys = vec![SortKey { column: 0, descending: true, nulls_first: false }];
            let operator = SharedOperator::Sort {
                input: Plan::Source { source: source.clone(), column_count: 2 },
                spec: Arc::new(SortSpec { keys, limit }),
                sets: SetColumn { store: store.clone(), column: 1 },
            };
            let settings = SpillSettings { block_bytes: 1 << 10, operator_bytes_max: 16 << 10, operator_bytes_min: 0 };
            let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
            let plan = Plan::Shared(Box::new(operator));
            let found = run_spilling(&plan, worker_count, &budget, &space).await.unwrap();
            let number_and_set = |row: &Row| match &row[..] {
                [Some(Scalar::Int(number)), Some(Scalar::Int(set))] => (*number, SetNumber::from_value(*set)),
                other => panic!("{other:?} is no number with a set"),
            };
            let found: Vec<(i64, SetNumber)> = found.iter().map(number_and_set).collect();
            for query in 0..QUERIES {
                let has = |(_, set): &&(i64, SetNumber)| store.queries(*set).contains(&QueryNumber::at(query));
                let of_query: Vec<i64> = found.iter().filter(has).map(|(number, _)| *number).collect();
                let all = (0..ROWS).rev().filter(|number| is_for(*number, query));
                let expected: Vec<i64> = all.take(limit.unwrap_or(usize::MAX)).collect();
                assert!(of_query == expected, "query {query}, limit {limit:?}");
            }
            let is_small = limit.is_some_and(|limit| limit < 10);
            assert_eq!(space.file_count() > 0, !is_small, "limit {limit:?}");
            assert_given_back(&budget).await;
            assert_files_given_back(&space).await;
        }
    }
}
