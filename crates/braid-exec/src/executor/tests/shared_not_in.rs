//! NOT IN in a pass, with operators that hold almost no memory. Whether the build side is empty, and whether it has a null key,
//! depends on the query, and is decided by rows of all partitions.

use super::shared_joins::shared_case::{SharedCase, Sizes};
use super::spilling::{assert_files_given_back, run_spilling, spill_space};
use super::*;
use crate::SpillSettings;
use crate::keys::null_keys::NullKeys;
use crate::plan::shared_operator::JoinSets;
use crate::values::vector::Values;
use crate::{QueryBitmap, QueryNumber, SetNumber, SetStore, Vector};

/// Joins that may be NOT IN. Sets of many queries leave the build side of some of them empty.
const SIZES: Sizes = Sizes {
    query_counts: &[1, 3, 6, 70],
    row_counts: &[1, 14, 30],
    varieties: &[9, 40],
    kinds: &[JoinKind::ProbeAnti, JoinKind::ProbeMark],
    one_null_in: 8,
    one_without_keys_in: 0,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_in_that_spills_gives_each_query_its_rows() {
    let cases = cases!(0..4_000);
    let is_replay = cases.is_replay();
    let (mut compared, mut spilled) = (0, 0);
    for drawn in cases {
        let mut case = SharedCase::new(drawn.seed, &SIZES);
        if !case.is_not_in() {
            continue;
        }
        let Some(expected) = case.expected() else { continue };
        let operator_bytes_max = 1 << (6 + case.random.below(6));
        let settings = SpillSettings { block_bytes: 64, operator_bytes_max, operator_bytes_min: 0 };
        let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
        let worker_count = 1 + case.random.below(3) as usize;
        case.assert_answers(run_spilling(&case.plan().0, worker_count, &budget, &space).await.unwrap(), &expected);
        compared += 1;
        spilled += usize::from(space.file_count() > 0);
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
    println!("{compared} NOT IN were compared, {spilled} spilled");
    assert!(is_replay || compared > 500 && spilled * 3 > compared, "{compared} compared, {spilled} spilled");
}

/// Keys with their sets; a key of `None` is null.
fn keys_with_sets(rows: Vec<(Option<i64>, SetNumber)>) -> Plan {
    let keys = rows.iter().map(|(key, _)| key.unwrap_or(0)).collect();
    let valid = rows.iter().map(|(key, _)| key.is_some()).collect();
    let sets = rows.iter().map(|(_, set)| set.value()).collect();
    let columns = vec![Vector::new(Values::Int(keys), Some(valid)), Vector::integers(sets)];
    let part = ResultRows::new(rows.len(), columns);
    Plan::Source { source: Arc::new(ResultSource::new(vec![Arc::new(part)])), column_count: 2 }
}

/// Query 0 has no build rows, query 1 the even keys, query 2 also nulls, which are more than an operator may hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nulls_and_empty_build_sides_count_for_their_queries() {
    const PROBE_KEYS: i64 = 3_000;
    let store = SetStore::new(3, FixedBudget::new(PLENTY)).unwrap();
    let set = |queries: &[usize]| {
        let bitmap = QueryBitmap::from_fn(3, |query: QueryNumber| queries.contains(&query.index()));
        store.number_of(&bitmap).unwrap()
    };
    let even = (0..2_500).map(|key| (Some(2 * key), set(&[1, 2])));
    let nulls = (0..2_000).map(|_| (None, set(&[2])));
    let build = keys_with_sets(even.chain(nulls).collect());
    let keys = (0..PROBE_KEYS).map(Some).chain([None, None]);
    let probe = keys_with_sets(keys.clone().map(|key| (key, SetNumber::ALL)).collect());
    let is_even = |key: Option<i64>| key.is_some_and(|key| key % 2 == 0);
    // Of each query: whether a key is in the build side; `None` if that is unknown.
    let is_in = |query: usize, key: Option<i64>| match query {
        0 => Some(false),
        1 => key.map(|_| is_even(key)),
        _ => is_even(key).then_some(true),
    };
    for kind in [JoinKind::ProbeAnti, JoinKind::ProbeMark] {
        for operator_bytes_max in [2 << 10, 16 << 10] {
            let condition = JoinCondition {
                kind,
                build_keys: vec![0],
                probe_keys: vec![0],
                residual: None,
                null_keys: NullKeys::Unknown,
            };
            let sets = JoinSets { store: store.clone(), probe: Some(1), build: Some(1), condition: None };
            let (build, probe) = (build.clone(), probe.clone());
            let plan = Plan::Shared(Box::new(SharedOperator::Join { build, probe, condition, sets }));
            let settings = SpillSettings { block_bytes: 256, operator_bytes_max, operator_bytes_min: 0 };
            let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
            let found = run_spilling(&plan, 2, &budget, &space).await.unwrap();
            assert!(space.file_count() > 0, "{kind:?} spills");
            for query in 0..3 {
                let expected = keys.clone().filter_map(|key| {
                    let mut row = vec![key.map(Scalar::Int)];
                    match kind {
                        JoinKind::ProbeMark => row.push(is_in(query, key).map(Scalar::Bool)),
                        _ if is_in(query, key) != Some(false) => return None,
                        _ => {}
                    }
                    Some(row)
                });
                let expected = Answer { rows: expected.collect(), order: Order::Any };
                let is_for_query = |row: &&Row| match row.last() {
                    Some(Some(Scalar::Int(set))) => {
                        store.queries(SetNumber::from_value(*set)).contains(&QueryNumber::at(query))
                    }
                    _ => panic!("a row without a set"),
                };
                let of_query = found.iter().filter(is_for_query).map(|row| row[..row.len() - 1].to_vec()).collect();
                assert_answers(of_query, &expected);
            }
            assert_given_back(&budget).await;
            assert_files_given_back(&space).await;
        }
    }
}
