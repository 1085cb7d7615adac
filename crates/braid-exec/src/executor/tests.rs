//! Random plans, whose answers are compared with a definition. Other runs have too little memory, or are dropped before their
//! end.
//!
//! A replayed case runs many times, because the distribution of rows to workers differs from run to run.

mod accumulations;
mod cancellation;
mod common_tables;
mod defined_tables;
mod definition;
mod deleted_rows;
mod eager_aggregation;
mod failing_rows;
mod few_rows;
mod filters_in_scans;
mod grouping_sets;
mod memory_tables;
mod parameters_above_groups;
mod pass_members;
mod patterns_below_joins;
mod peers;
mod project_sets;
mod random_plans;
mod recursions;
mod reordering;
mod row_ids;
mod scalars;
mod shared_aggregates;
mod shared_joins;
mod shared_not_in;
mod shared_operators;
mod shared_plans;
mod shared_spilling;
mod single_joins;
mod spilling;
mod stored_tables;
mod table_versions;
mod tables_with_sets;
mod windows;

use std::cell::Cell;
use std::time::Duration;

use braid_base::{ByteSize, Random, SeededRandom, VECTOR_ROWS};
use braid_storage::Scalar;
use braid_testing::{PATIENCE, Wait, cases};

use super::*;
use crate::keys::null_keys::NullKeys;
use crate::plan::JoinCondition;
use crate::plan::JoinKind;
use crate::plan::SortSpec;
use crate::runtime::result_rows::{ResultRows, ResultSource};
use crate::runtime::stop::Stop;
use crate::spill::SpillSettings;
use crate::tuning::Tuning;
use crate::{Batch, FixedBudget, Vector};
use definition::{Answer, Definition, NoAnswer, Order};
use memory_tables::{Table, canonical, compare_rows};
use random_plans::Generator;
use spilling::{assert_files_given_back, check_spilling, spill_space};

type Value = Option<Scalar>;
type Row = Vec<Value>;

const PLENTY: ByteSize = ByteSize(1 << 30);

/// Collects rows as values.
#[derive(Default)]
struct Collected(Vec<Row>);

impl Sink for Collected {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        assert!((1..=VECTOR_ROWS).contains(&batch.row_count()), "{} rows", batch.row_count());
        let columns: Vec<_> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
        let row = |row: usize| columns.iter().map(|column| canonical(column.value(row))).collect();
        self.0.extend((0..batch.row_count()).map(row));
        Ok(())
    }
}

/// Prints its seed when a test fails.
pub struct Case {
    pub plan: Plan,
    pub tables: Vec<Arc<Table>>,
    pub random: SeededRandom,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut generator = Generator::new(seed);
        let depth = 1 + generator.random.below(5).min(generator.random.below(6)) as usize;
        let (plan, _) = generator.plan(depth);
        Self { plan, tables: generator.tables, random: generator.random }
    }

    /// A plan with common tables.
    fn with_tables(seed: u64) -> Self {
        let mut generator = Generator::new(seed);
        generator.nest_tables();
        let depth = 2 + generator.random.below(4) as usize;
        let (plan, _) = generator.plan(depth);
        Self { plan, tables: generator.tables, random: generator.random }
    }

    /// A plan with common tables and recursions.
    fn with_recursions(seed: u64) -> Self {
        let mut generator = Generator::new(seed);
        generator.recur();
        let depth = 2 + generator.random.below(3) as usize;
        let (plan, _) = generator.plan(depth);
        Self { plan, tables: generator.tables, random: generator.random }
    }

    fn expected(&self) -> Result<Answer, NoAnswer> {
        Definition { tables: &self.tables, parameters: &[], subquery_values: Vec::new() }.answer(&self.plan)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut text = String::new();
            self.plan.describe(0, &mut text).unwrap();
            eprintln!("{text}{:#?}", self.tables);
        }
    }
}

/// Counts of what the plans of a test did. They show that the test has reached the tested cases.
#[derive(Default)]
struct Tally {
    /// Plans that wrote temporary files.
    spilled: Cell<u64>,
    /// Joins with swapped sides.
    swapped: Cell<u64>,
    /// Plans with reordered joins.
    reordered: Cell<u64>,
}

fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}

/// Runs a plan with small thresholds, which few rows exceed.
async fn run(plan: &Plan, worker_count: usize, budget: &Arc<FixedBudget>) -> Result<Vec<Row>, ExecError> {
    run_tuned(plan, worker_count, budget, Tuning::small(), &Tally::default()).await
}

async fn run_tuned(
    plan: &Plan,
    worker_count: usize,
    budget: &Arc<FixedBudget>,
    tuning: Tuning,
    tally: &Tally,
) -> Result<Vec<Row>, ExecError> {
    let executor = Executor::new(worker_count, budget.clone()).with_tuning(tuning);
    let run = tokio::time::timeout(PATIENCE, executor.run(plan, Collected::default));
    let sinks = run.await.expect("it ends")?;
    add(&tally.swapped, executor.swapped_join_count());
    add(&tally.reordered, u64::from(executor.reordering_count()));
    Ok(sinks.into_iter().flat_map(|sink| sink.0).collect())
}

/// Waits until all memory is released. Workers of a failed run end after the run.
async fn assert_given_back(budget: &FixedBudget) {
    let wait = Wait::new("all memory to be given back");
    while budget.used() > 0 {
        wait.check(|| format!("{} bytes are held", budget.used()));
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

fn assert_answers(mut found: Vec<Row>, expected: &Answer) {
    let mut wanted = expected.rows.clone();
    if expected.order != Order::Total {
        found.sort_by(|a, b| compare_rows(a, b));
        wanted.sort_by(|a, b| compare_rows(a, b));
    }
    if let Order::Some(count) = expected.order {
        assert_eq!(found.len(), count, "rows of a limit");
        let mut left = wanted.iter();
        let are_wanted = found.iter().all(|row| left.any(|wanted| compare_rows(wanted, row).is_eq()));
        assert!(are_wanted, "found{}\nwanted some of{}", text(&found), text(&wanted));
        return;
    }
    let same = found.len() == wanted.len()
        && found.iter().zip(&wanted).all(|(a, b)| a.len() == b.len() && compare_rows(a, b).is_eq());
    assert!(same, "found{}\nwanted{}", text(&found), text(&wanted));
}

fn text(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("\n{row:?}")).collect()
}

/// Runs a case and compares its answer. Returns whether the definition has an answer.
async fn check(mut case: Case, tally: &Tally) -> bool {
    let expected = case.expected();
    if let Err(NoAnswer::Undefined) = expected {
        return false;
    }
    let in_scans = case.plan.clone().with_filters_in_scans();
    let runs = [(&case.plan, 1, Tuning::small()), (&case.plan, 3, Tuning::small()), (&in_scans, 2, Tuning::default())];
    for (plan, worker_count, tuning) in runs {
        let budget = FixedBudget::new(PLENTY);
        match (run_tuned(plan, worker_count, &budget, tuning, tally).await, &expected) {
            (Ok(found), Ok(expected)) => assert_answers(found, expected),
            (Err(ExecError::SeveralRows), Err(NoAnswer::SeveralRows)) => {}
            (found, expected) => panic!("found {found:?}, wanted {expected:?}"),
        }
        assert_given_back(&budget).await;
    }
    if case.random.chance(1, 3) {
        let limit = 1 << case.random.below(18);
        let (budget, worker_count) = (FixedBudget::new(ByteSize(limit)), 1 + case.random.below(3) as usize);
        match (run_tuned(&case.plan, worker_count, &budget, Tuning::small(), tally).await, &expected) {
            (Err(ExecError::Memory(_)), _) => {}
            (Ok(found), Ok(expected)) => assert_answers(found, expected),
            (Err(ExecError::SeveralRows), Err(NoAnswer::SeveralRows)) => {}
            (found, expected) => panic!("with {limit} bytes found {found:?}, wanted {expected:?}"),
        }
        assert_given_back(&budget).await;
    }
    if case.random.chance(1, 2) {
        check_spilling(&mut case, &expected, tally).await;
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_are_what_they_are_defined_to_be() {
    let cases = cases!(2_000, nightly 6_000);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0 as u64);
    let (mut compared, tally) = (0, Tally::default());
    for case in cases {
        for _ in 0..repeats {
            compared += u64::from(check(Case::new(case.seed), &tally).await);
        }
    }
    let [spilled, swapped, reordered] = [&tally.spilled, &tally.swapped, &tally.reordered].map(Cell::get);
    println!("{compared} of {count} plans were compared, {spilled} spilled");
    println!("{swapped} joins were swapped, {reordered} reordered");
    if !is_replay {
        assert!(compared * 2 > count, "only {compared} of {count} plans have one answer");
        assert!(spilled * 50 > count, "only {spilled} of {count} plans spilled");
        assert!(swapped * 20 > count && reordered > 0, "{swapped} joins were swapped, {reordered} reordered");
    }
}

/// A filter that drops a row below an outer join gives its partner a null, and the join above finds this null equal to another.
#[tokio::test]
async fn filters_that_let_nulls_through_stay_above_outer_joins() {
    let tables = vec![
        Table::of_integers(0, 1, &[&[Some(1)]]),
        Table::of_integers(1, 2, &[&[Some(1), Some(5)]]),
        Table::of_integers(2, 1, &[&[None], &[Some(6)]]),
    ];
    let source = |at: usize| Plan::Source { source: tables[at].clone(), column_count: tables[at].kinds.len() };
    let join = |kind, build: Plan, probe: Plan, probe_key: usize| {
        let (build_keys, probe_keys, residual) = (vec![0], vec![probe_key], None);
        let null_keys = if kind == JoinKind::Inner { NullKeys::EqualNull } else { NullKeys::EqualNothing };
        let condition = JoinCondition { kind, build_keys, probe_keys, residual, null_keys };
        Plan::join(build, probe, condition)
    };
    let outer = join(JoinKind::ProbeOuter, source(1), source(0), 0);
    let plan = join(JoinKind::Inner, source(2), outer, 2);
    assert!(check(Case { plan, tables, random: SeededRandom::new(0) }, &Tally::default()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_in_the_middle_gives_everything_back() {
    let cases = cases!(0..1_000);
    let is_replay = cases.is_replay();
    let mut held = 0;
    for drawn in cases {
        let mut case = Case::new(drawn.seed);
        if let Err(NoAnswer::Undefined) = case.expected() {
            continue;
        }
        let (budget, worker_count) = (FixedBudget::new(PLENTY), 1 + case.random.below(3) as usize);
        let settings = SpillSettings { block_bytes: 256, operator_bytes_max: 512, operator_bytes_min: 0 };
        let space = spill_space(settings);
        let mut executor = Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small());
        if case.random.chance(1, 2) {
            executor = executor.with_spill_space(space.clone());
        }
        let polls = case.random.below(6);
        let mut running = Box::pin(executor.run(&case.plan, Collected::default));
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
        assert_files_given_back(&space).await;
    }
    assert!(is_replay || held > 50, "only {held} plans held memory when they were dropped");
}
