//! A shared aggregation within a plan.

use super::spilling::{assert_files_given_back, run_spilling, spill_space};
use super::*;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::runtime::result_rows::ResultRows;
use crate::{QueryBitmap, QueryNumber, SetNumber, SetStore, SpillSettings, Vector};

const QUERIES: usize = 5;
const ROWS: i64 = 30_000;

fn call(function: AggregateFunction, argument: Option<usize>) -> AggregateCall {
    AggregateCall { function, argument, distinct: false, filter: None }
}

/// Rows of a key, a value and a set. A row belongs to query q if its value is a multiple of q + 1.
fn input(store: &SetStore, key_count: i64) -> Plan {
    let set = |value: i64| {
        let wanted = |query: QueryNumber| value % (query.index() as i64 + 1) == 0;
        store.number_of(&QueryBitmap::from_fn(QUERIES, wanted)).unwrap().value()
    };
    let columns = |values: std::ops::Range<i64>| {
        let keys = values.clone().map(|value| value % key_count).collect();
        let sets = values.clone().map(set).collect();
        vec![Vector::integers(keys), Vector::integers(values.collect()), Vector::integers(sets)]
    };
    let parts = [0..ROWS / 3, ROWS / 3..ROWS];
    let parts = parts.map(|values| Arc::new(ResultRows::new((values.end - values.start) as usize, columns(values))));
    Plan::Source { source: Arc::new(ResultSource::new(parts.into())), column_count: 3 }
}

/// The rows of a query without their sets.
fn of_query(store: &SetStore, found: &[Row], query: usize) -> Vec<Row> {
    let has = |row: &&Row| match row.last() {
        Some(Some(Scalar::Int(set))) => store.queries(SetNumber::from_value(*set)).contains(&QueryNumber::at(query)),
        other => panic!("{other:?} is no set"),
    };
    found.iter().filter(has).map(|row| row[..row.len() - 1].to_vec()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_a_pass_are_those_of_its_queries() {
    check_groups(None).await;
}

/// Groups by key and set go to temporary files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_a_pass_spill() {
    for operator_bytes_max in [16 << 10, 64 << 10] {
        let block_bytes = operator_bytes_max / 8;
        check_groups(Some(SpillSettings { block_bytes, operator_bytes_max, operator_bytes_min: 0 })).await;
    }
}

async fn check_groups(spilling: Option<SpillSettings>) {
    for (key_count, keys) in [(7, vec![0]), (ROWS / 6, vec![0]), (7, vec![])] {
        let store = SetStore::new(QUERIES, FixedBudget::new(PLENTY)).unwrap();
        let sets = SetColumn { store: store.clone(), column: 2 };
        let aggregates = vec![call(AggregateFunction::CountRows, None), call(AggregateFunction::Maximum, Some(1))];
        let spec = Arc::new(AggregationSpec { keys: keys.clone(), aggregates: aggregates.clone() });
        let aggregate = SharedOperator::Aggregate { input: input(&store, key_count), spec: spec.clone(), sets };
        let plan = Plan::Shared(Box::new(aggregate));
        assert_eq!(plan.column_count(), keys.len() + 3);
        for worker_count in [1, 3] {
            let budget = FixedBudget::new(PLENTY);
            let found = match spilling {
                None => run(&plan, worker_count, &budget).await.unwrap(),
                Some(settings) => {
                    let space = spill_space(settings);
                    let found = run_spilling(&plan, worker_count, &budget, &space).await.unwrap();
                    assert!(
                        keys.is_empty() || key_count < 10 || space.file_count() > 0,
                        "{key_count} keys stay in memory"
                    );
                    assert_files_given_back(&space).await;
                    found
                }
            };
            assert_given_back(&budget).await;
            for query in 0..QUERIES {
                let mut groups: std::collections::BTreeMap<i64, (i64, i64)> = Default::default();
                for value in (0..ROWS).filter(|value| value % (query as i64 + 1) == 0) {
                    let key = if keys.is_empty() { 0 } else { value % key_count };
                    groups
                        .entry(key)
                        .and_modify(|(count, most)| (*count, *most) = (*count + 1, value))
                        .or_insert((1, value));
                }
                let row = |(key, (count, most)): (i64, (i64, i64))| {
                    let numbers = keys.iter().map(|_| key).chain([count, most]);
                    numbers.map(|number| canonical(Some(Scalar::Int(number)))).collect()
                };
                let mut of_query = of_query(&store, &found, query);
                of_query.sort_by(|a, b| compare_rows(a, b));
                assert_eq!(of_query, groups.into_iter().map(row).collect::<Vec<Row>>(), "query {query} by {keys:?}");
            }
        }
    }
}
