//! Random plans with recursions, and recursions that would never end.

use parking_lot::Mutex;

use super::shared_plans::SharedCase;
use super::*;
use crate::SharedPlan;
use crate::expression::{Arithmetic, Comparison, NumberRange};
use crate::plan::{AggregateCall, AggregateFunction, CteId, RecursionSpec};

const CTE: CteId = CteId(0);

fn column(at: usize) -> Box<Expression> {
    Expression::Column(at).into()
}

fn number(value: i64) -> Box<Expression> {
    Expression::Constant(Some(Scalar::Int(value))).into()
}

fn plus(value: i64) -> Expression {
    let range = NumberRange::Int64;
    Expression::Arithmetic { operation: Arithmetic::Add, left: column(0), right: number(value), range }
}

fn scan() -> Plan {
    Plan::CteScan { cte: CTE, column_count: 1 }
}

fn project(input: Plan, expressions: Vec<Expression>) -> Plan {
    Plan::Project { input: input.into(), expressions }
}

fn below(input: Plan, limit: i64) -> Plan {
    let condition = Expression::Compare { comparison: Comparison::Less, left: column(0), right: number(limit) };
    Plan::Filter { input: input.into(), condition }
}

fn values(values: Vec<i64>) -> Plan {
    let rows = Arc::new(ResultRows::new(values.len(), vec![Vector::integers(values)]));
    Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 1 }
}

fn recursion(distinct_by: Option<Vec<usize>>, start: Plan, step: Plan, body: Plan) -> Plan {
    let spec = RecursionSpec { cte: CTE, column_count: 1, distinct_by };
    Plan::Recursion { spec, start: start.into(), step: step.into(), body: body.into() }
}

/// The numbers from 1 on.
fn endless(body: Plan) -> Plan {
    recursion(None, values(vec![1]), project(scan(), vec![plus(1)]), body)
}

fn first(input: Plan, limit: u64) -> Plan {
    Plan::Limit { input: input.into(), offset: 0, limit: Some(limit) }
}

fn count(input: Plan) -> Plan {
    let call = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    Plan::Aggregate { input: input.into(), spec: AggregationSpec { keys: Vec::new(), aggregates: vec![call] }.into() }
}

fn integers(values: impl IntoIterator<Item = i64>) -> Vec<Row> {
    values.into_iter().map(|value| vec![Some(Scalar::Int(value))]).collect()
}

/// Rows of all workers in the order in which they come.
#[derive(Clone, Default)]
struct Together(Arc<Mutex<Vec<Row>>>);

impl Sink for Together {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        let mut rows = Collected::default();
        rows.consume(batch)?;
        self.0.lock().extend(rows.0);
        Ok(())
    }
}

async fn run_in_order(plan: &Plan, worker_count: usize, budget: &Arc<FixedBudget>) -> Vec<Row> {
    let executor = Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small());
    let rows = Together::default();
    let run = tokio::time::timeout(PATIENCE, executor.run(plan, || rows.clone()));
    run.await.expect("it ends").unwrap();
    rows.0.lock().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_plans_recur() {
    let cases = cases!(800, nightly 2_500);
    let (is_replay, repeats, size) = (cases.is_replay(), cases.repeats(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for drawn in cases {
        for _ in 0..repeats {
            compared += u64::from(check(Case::with_recursions(drawn.seed), &tally).await);
        }
    }
    assert!(is_replay || compared * 3 > size, "only {compared} of {size} plans have one answer");
    assert!(is_replay || tally.spilled.get() * 25 > size, "only {} plans spilled", tally.spilled.get());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_of_a_pass_share_recursions() {
    let cases = cases!(0..1_500);
    let (is_replay, size) = (cases.is_replay(), cases.size_hint().0);
    let mut compared = 0;
    for drawn in cases {
        let case = SharedCase::with_recursions(drawn.seed);
        let shared = SharedPlan::new(&case.case.plan, &case.parameters, FixedBudget::new(PLENTY));
        if !matches!(shared, Err(ExecError::Foreign(_))) {
            compared += usize::from(case.check().await);
        }
    }
    assert!(is_replay || compared * 3 > size, "only {compared} of {size} passes were compared");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_ends_a_recursion_that_never_ends() {
    for worker_count in 1..4 {
        let budget = FixedBudget::new(PLENTY);
        assert_eq!(run_in_order(&endless(first(scan(), 10)), worker_count, &budget).await, integers(1..=10));
        let skipped = Plan::Limit { input: below(scan(), 1 << 40).into(), offset: 5, limit: Some(3) };
        assert_eq!(run_in_order(&endless(skipped), worker_count, &budget).await, integers(6..=8));
        assert_eq!(run(&endless(first(scan(), 0)), worker_count, &budget).await.unwrap(), integers([]));
        assert_eq!(run(&endless(values(vec![7])), worker_count, &budget).await.unwrap(), integers([7]));
        assert_given_back(&budget).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_come_in_the_order_of_the_steps() {
    let counted = |body| recursion(None, values(vec![3, 1]), project(below(scan(), 6), vec![plus(2)]), body);
    let steps = [3, 1, 5, 3, 7, 5, 7];
    for worker_count in 1..4 {
        let budget = FixedBudget::new(PLENTY);
        assert_eq!(run_in_order(&counted(scan()), worker_count, &budget).await, integers(steps));
        let twice = Plan::Union(vec![first(scan(), 7), first(scan(), 0)]);
        assert_eq!(run_in_order(&counted(twice), worker_count, &budget).await, integers(steps));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_rows_come_once_as_the_first_looks() {
    // Rows are compared by their last digit.
    let digit = |input: Plan| {
        let range = NumberRange::Int64;
        let even = Expression::Compare { comparison: Comparison::Less, left: column(0), right: number(10) };
        let less_ten =
            Expression::Arithmetic { operation: Arithmetic::Subtract, left: column(0), right: number(10), range };
        let key = Expression::Case { branches: vec![(even, Expression::Column(0))], otherwise: Some(less_ten.into()) };
        project(input, vec![Expression::Column(0), key])
    };
    let start = digit(values(vec![12, 2, 5]));
    let step = digit(project(below(scan(), 19), vec![plus(1)]));
    let plan = recursion(Some(vec![1]), start, step, scan());
    let found = run(&plan, 1, &FixedBudget::new(PLENTY)).await.unwrap();
    assert_eq!(found, integers([12, 5, 13, 6, 14, 7, 8, 9, 10, 11]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recursion_that_never_ends_can_be_cancelled_and_dropped() {
    let distinct = recursion(Some(vec![0]), values(vec![1]), project(scan(), vec![plus(1)]), count(scan()));
    for plan in [endless(count(scan())), endless(count(Plan::Union(vec![scan(), scan()]))), distinct] {
        for worker_count in [1, 2] {
            let budget = FixedBudget::new(ByteSize(4 << 30));
            let executor = Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small());
            let cancellation = executor.cancellation();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                cancellation.raise();
            });
            let outcome = tokio::time::timeout(PATIENCE, executor.run(&plan, Collected::default)).await;
            let outcome = outcome.expect("it ends").map(|_| ());
            assert!(matches!(outcome, Err(ExecError::Cancelled)), "{outcome:?}");
            drop(executor);
            assert_given_back(&budget).await;
            let run = async { Executor::new(worker_count, budget.clone()).run(&plan, Collected::default).await };
            let outcome = tokio::time::timeout(Duration::from_millis(30), run).await;
            assert!(outcome.is_err(), "it ended");
            assert_given_back(&budget).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_memory_and_disk_end_a_recursion() {
    let distinct = recursion(Some(vec![0]), values(vec![1]), project(scan(), vec![plus(1)]), count(scan()));
    let budget = FixedBudget::new(ByteSize::kib(64));
    let error = run(&distinct, 1, &budget).await.unwrap_err();
    assert!(error.to_string().starts_with("recursion needs"), "{error}");
    assert_given_back(&budget).await;
    let kept = endless(count(Plan::Union(vec![scan(), scan()])));
    let error = run(&kept, 1, &budget).await.unwrap_err();
    assert!(error.to_string().starts_with("recursion needs"), "{error}");
    assert_given_back(&budget).await;
    let settings = SpillSettings { block_bytes: 256, operator_bytes_max: 512, operator_bytes_min: 0 };
    let space = spilling::space_on(spilling::device(), ByteSize::kib(64), settings);
    let error = spilling::run_spilling(&kept, 2, &budget, &space).await.unwrap_err();
    assert!(error.to_string().starts_with("temporary files need"), "{error}");
    assert_given_back(&budget).await;
    assert_files_given_back(&space).await;
}

/// The result and the rows between two steps go to temporary files, and keep their order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_steps_spill() {
    let (width, steps) = (500, 6);
    let step = project(below(scan(), (steps - 1) * 1000), vec![plus(1000)]);
    let body = Plan::Union(vec![scan(), first(scan(), 3)]);
    let plan = recursion(None, values((0..width).collect()), step, body);
    let all = (0..steps).flat_map(|step| (0..width).map(move |row| step * 1000 + row));
    let expected = integers(all.chain(0..3));
    let settings = SpillSettings { block_bytes: 512, operator_bytes_max: 4096, operator_bytes_min: 0 };
    for worker_count in 1..4 {
        let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
        let mut found = spilling::run_spilling(&plan, worker_count, &budget, &space).await.unwrap();
        let mut expected = expected.clone();
        if worker_count > 1 {
            // Several workers read pieces in any order, and any three rows.
            assert_eq!(found.len(), expected.len());
            found.sort_by(|a, b| compare_rows(a, b));
            found.dedup();
            expected.truncate(found.len());
        }
        assert_eq!(found, expected);
        assert!(space.file_count() > 0);
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_fails_the_recursion_alone() {
    let cases = cases!(0..500);
    let is_replay = cases.is_replay();
    let failed = spilling::check_faults(cases.map(|drawn| Case::with_recursions(drawn.seed))).await;
    assert!(is_replay || failed > 20, "only {failed} plans met a fault");
}

#[test]
fn a_plan_shows_its_recursion() {
    let mut text = String::new();
    recursion(Some(vec![0]), scan(), scan(), scan()).describe(0, &mut text).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        ["Recursion: common table 0, distinct by #0"]
            .into_iter()
            .chain(["Scan: common table 0"; 3])
            .collect::<Vec<_>>()
    );
}
