//! Random plans with common tables: read several times or not at all, of one another, in build sides, scalar subqueries and unions.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::shared_plans::SharedCase;
use super::*;
use crate::plan::{AggregateCall, AggregateFunction, CteId, SortKey};
use crate::runtime::pipeline::{RowFilter, StartedSource};

/// Rows that count how often they are read.
#[derive(Debug)]
struct Counted {
    rows: ResultSource,
    starts: AtomicUsize,
}

impl Source for Counted {
    fn worker_count_max(&self) -> usize {
        1
    }

    fn start(&self, filters: &[RowFilter]) -> Arc<dyn StartedSource> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.rows.start(filters)
    }

    fn describe(&self) -> String {
        "counted".to_owned()
    }
}

fn counted(values: Vec<i64>) -> Arc<Counted> {
    let rows = Arc::new(ResultRows::new(values.len(), vec![Vector::integers(values)]));
    Arc::new(Counted { rows: ResultSource::new(vec![rows]), starts: AtomicUsize::new(0) })
}

fn source(source: &Arc<Counted>) -> Plan {
    Plan::Source { source: source.clone(), column_count: 1 }
}

fn scan(number: u32) -> Plan {
    Plan::CteScan { cte: CteId(number), column_count: 1 }
}

fn with(number: u32, definition: Plan, body: Plan) -> Plan {
    Plan::With { cte: CteId(number), definition: definition.into(), body: body.into() }
}

fn first(input: Plan, limit: u64) -> Plan {
    Plan::Limit { input: input.into(), offset: 0, limit: Some(limit) }
}

fn integers(values: impl IntoIterator<Item = i64>) -> Vec<Row> {
    values.into_iter().map(|value| vec![Some(Scalar::Int(value))]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_plans_read_common_tables() {
    let cases = cases!(1_000, nightly 3_000);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for drawn in cases {
        for _ in 0..repeats {
            compared += u64::from(check(Case::with_tables(drawn.seed), &tally).await);
        }
    }
    assert!(is_replay || compared * 2 > count, "only {compared} of {count} plans have one answer");
    assert!(is_replay || tally.spilled.get() * 30 > count, "only {} plans spilled", tally.spilled.get());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_of_a_pass_share_common_tables() {
    let cases = cases!(0..1_500);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let mut compared = 0;
    for drawn in cases {
        compared += usize::from(SharedCase::with_tables(drawn.seed).check().await);
    }
    assert!(is_replay || compared * 3 > count, "only {compared} of {count} passes were compared");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_is_made_once_for_all_scans() {
    let rows = counted(vec![3, 1, 2]);
    let count = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let spec = Arc::new(AggregationSpec { keys: Vec::new(), aggregates: vec![count] });
    let subqueries = vec![Plan::Aggregate { input: scan(0).into(), spec }];
    let condition = JoinCondition {
        kind: JoinKind::Inner,
        build_keys: vec![0],
        probe_keys: vec![0],
        residual: None,
        null_keys: NullKeys::EqualNothing,
    };
    let joined = Plan::join(scan(0), scan(0), condition);
    let expressions = vec![Expression::SubqueryValue(0)];
    let body = Plan::Union(vec![scan(0), Plan::Project { input: joined.into(), expressions }]);
    let plan = with(0, source(&rows), Plan::WithScalars { subqueries, input: body.into() });
    for worker_count in 1..4 {
        rows.starts.store(0, Ordering::Relaxed);
        let budget = FixedBudget::new(PLENTY);
        let mut found = run(&plan, worker_count, &budget).await.unwrap();
        found.sort_by(|a, b| compare_rows(a, b));
        assert_eq!(found, integers([1, 2, 3, 3, 3, 3]));
        assert_eq!(rows.starts.load(Ordering::Relaxed), 1);
        assert_given_back(&budget).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_no_row_is_needed_of_is_not_made() {
    let (rows, others) = (counted(vec![1]), counted(vec![7, 8]));
    let union = Plan::Union(vec![source(&others), scan(0)]);
    for body in [source(&others), first(scan(0), 0), first(union.clone(), 1)] {
        let found = run(&with(0, source(&rows), body), 1, &FixedBudget::new(PLENTY)).await.unwrap();
        assert!(found.len() <= 2);
        assert_eq!(rows.starts.load(Ordering::Relaxed), 0);
    }
    let found = run(&with(0, source(&rows), first(union, 3)), 1, &FixedBudget::new(PLENTY)).await.unwrap();
    assert_eq!((found, rows.starts.load(Ordering::Relaxed)), (integers([7, 8, 1]), 1));
}

/// In memory and in files, by one worker and by several.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_keep_the_order_of_a_sorted_table() {
    let count = 3_000;
    let rows = counted((0..count).map(|row| row * 7_919 % count).collect());
    let keys = vec![SortKey { column: 0, descending: true, nulls_first: false }];
    let sorted = Plan::Sort { input: source(&rows).into(), spec: SortSpec { keys, limit: None }.into() };
    let again = with(
        1,
        with(2, sorted, scan(2)),
        Plan::Filter {
            input: scan(1).into(),
            condition: Expression::Not(Expression::IsNull(Expression::Column(0).into()).into()),
        },
    );
    let plan = with(0, again, Plan::Limit { input: scan(0).into(), offset: 10, limit: Some(2_000) });
    let settings = [
        SpillSettings { block_bytes: 512, operator_bytes_max: 4096, operator_bytes_min: 0 },
        SpillSettings { block_bytes: 64, operator_bytes_max: 128, operator_bytes_min: 0 },
        SpillSettings::default(),
    ];
    for (settings, worker_count) in settings.into_iter().zip([1, 3, 2]) {
        let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
        let found = spilling::run_spilling(&plan, worker_count, &budget, &space).await.unwrap();
        assert_eq!(found, integers((0..count).rev().skip(10).take(2_000)), "{settings:?}");
        assert_eq!(space.file_count() > 0, settings != SpillSettings::default());
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
}

#[test]
fn a_plan_shows_its_tables() {
    let mut text = String::new();
    with(3, source(&counted(vec![1])), scan(3)).describe(0, &mut text).unwrap();
    assert_eq!(text, "With: common table 3\n  Scan: counted\n  Scan: common table 3\n");
}
