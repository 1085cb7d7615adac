//! Hash tables that several workers build, compared with those of one thread.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Runtime;

use super::*;
use crate::MemoryBudget;
use crate::executor::Executor;
use crate::joins::hash::build_tasks::{BuildTasks, Grain};
use crate::joins::hash::directory::Directory;
use crate::keys::null_keys::NullKeys;
use crate::plan::{JoinCondition, Plan};
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::Sink;
use crate::runtime::result_rows::{ResultRows, ResultSource};
use crate::runtime::stop::{Stop, StopFlag};

pub(super) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap());

/// Divides a few rows into many pieces and partitions.
pub(super) const FINE: Grain = Grain { parallel_rows_min: 1, piece_rows: 8, partition_rows: 2 };

/// Divides some ten thousand rows.
const MEDIUM: Grain = Grain { parallel_rows_min: 1, piece_rows: 4096, partition_rows: 256 };

async fn build(
    spec: &JoinSpec,
    parts: Vec<CollectedRows>,
    grain: Grain,
    cancelled: &StopFlag,
) -> Result<JoinTable, ExecError> {
    let row_count = parts.iter().map(CollectedRows::row_count).sum();
    JoinTable::build_with(spec.clone(), parts, BuildTasks::new(3, row_count, cancelled, grain)).await
}

/// Distributes batches to parts, round robin.
fn parts(build: &mut [Batch], count: usize, budget: &Arc<dyn MemoryBudget>) -> Vec<CollectedRows> {
    let column_count = build.first().map_or(0, Batch::column_count);
    let part = |_| CollectedRows::new(column_count, Reservation::new(budget.clone(), "hash join"));
    let mut parts: Vec<CollectedRows> = (0..count).map(part).collect();
    build.iter_mut().enumerate().for_each(|(at, batch)| parts[at % count].consume(batch).unwrap());
    parts
}

fn much() -> Arc<dyn MemoryBudget> {
    FixedBudget::new(ByteSize(1 << 30))
}

fn kind_of(table: &JoinTable) -> (&'static str, bool) {
    let directory = match &table.directory {
        Directory::Members(..) => "members",
        Directory::Rows(..) => "rows",
        Directory::Addresses(..) => "addresses",
        Directory::Ranks(..) => "ranks",
        Directory::HashedAddresses(..) => "hashed addresses",
        Directory::HashedColumns(..) => "hashed columns",
    };
    (directory, table.lists.is_some())
}

fn check_same(shape: Shape, probe: &[Numbers], build_numbers: &[Numbers], size: usize, part_count: usize) {
    let (probe_rows, build_rows) = (rows(shape, probe), rows(shape, build_numbers));
    let key_count = shape.keys(None, None).len();
    let probe_batches = batches(&probe_rows, probe, size, key_count, Side::Probe);
    let mut build_batches = batches(&build_rows, build_numbers, size, key_count, Side::Build);
    for spec in specs(key_count) {
        let alone = JoinTable::new(spec.clone(), parts(&mut build_batches, part_count, &much())).unwrap();
        let parts = parts(&mut build_batches, part_count, &much());
        let together = RUNTIME.block_on(build(&spec, parts, FINE, &StopFlag::default())).unwrap();
        assert_eq!(kind_of(&alone), kind_of(&together), "{shape:?} {spec:?}");
        assert_eq!(alone.null_key_rows, together.null_key_rows);
        let (alone, together) = (Arc::new(alone), Arc::new(together));
        let expected = joined(&alone, &probe_batches, key_count + 1);
        assert_eq!(joined(&together, &probe_batches, key_count + 1), expected, "{shape:?} {spec:?}");
        check_filter(&together, &spec, &probe_rows, &build_rows, &probe_batches);
    }
}

properties! {
    100 cases;

    #[test]
    fn workers_build_what_one_thread_builds(
        shape in prop::sample::select(&SHAPES[..]),
        probe in numbers(0..25),
        build in numbers(1..60),
        size in 1..12usize,
        part_count in 1..5usize,
    ) {
        check_same(shape, &probe, &build, size, part_count);
    }

    #[test]
    fn workers_build_unique_keys(
        shape in prop::sample::select(&SHAPES[..]),
        probe in numbers(0..25),
        build in prop::sample::subsequence((0..13u8).collect::<Vec<_>>(), 1..13),
        size in 1..4usize,
        part_count in 1..5usize,
    ) {
        let build: Vec<Numbers> = build.into_iter().map(|number| (Some(number), Some(1), number % 8)).collect();
        check_same(shape, &probe, &build, size, part_count);
    }
}

/// Keys for all kinds of directories, with and without duplicates, in order and out of order.
fn sides() -> Vec<(Vec<Vec<i64>>, &'static str)> {
    let scale = |keys: Vec<i64>, by: i64| keys.into_iter().map(|key| key * by).collect::<Vec<i64>>();
    let unique = || (0..20_000).map(|at| at * 7_919 % 20_000).collect::<Vec<i64>>();
    let wide = |keys: Vec<i64>| vec![keys.iter().map(|key| key % 7 * (i64::MAX / 7)).collect(), keys];
    vec![
        (vec![unique()], "rows"),
        (vec![scattered(20_000, 5_000)], "addresses"),
        (vec![scale((0..20_000).collect(), 9)], "ranks"),
        (vec![scale(unique(), 9)], "ranks"),
        (vec![scale(scattered(20_000, 20_000), 90)], "ranks"),
        (vec![scale(unique(), 1 << 15)], "hashed addresses"),
        (vec![scale(unique(), 1 << 30)], "hashed addresses"),
        (vec![scale(scattered(20_000, 20_000), 1 << 30)], "hashed addresses"),
        (wide(unique()), "hashed columns"),
        (wide(scattered(20_000, 20_000)), "hashed columns"),
    ]
}

#[test]
fn all_directories_of_large_sides_are_the_same() {
    for (columns, directory) in sides() {
        for kind in [JoinKind::Inner, JoinKind::ProbeSemi] {
            let spec = integer_spec(kind, columns.len());
            let mut batches = integer_batches(&columns);
            let alone = Arc::new(JoinTable::new(spec.clone(), parts(&mut batches, 3, &much())).unwrap());
            let tasks = BuildTasks::new(1, 20_000, &StopFlag::default(), MEDIUM);
            let by_one = JoinTable::build_with(spec.clone(), parts(&mut batches, 3, &much()), tasks);
            let by_one = Arc::new(RUNTIME.block_on(by_one).unwrap());
            let together =
                RUNTIME.block_on(build(&spec, parts(&mut batches, 3, &much()), MEDIUM, &StopFlag::default()));
            let together = Arc::new(together.unwrap());
            assert_eq!(kind_of(&alone), kind_of(&together));
            assert!(kind_of(&together).0 == directory || kind == JoinKind::ProbeSemi, "{:?}", kind_of(&together));
            let shifted =
                columns.iter().map(|keys| keys.iter().map(|key| key / 2).collect()).collect::<Vec<Vec<i64>>>();
            let probe = [integer_batches(&columns), integer_batches(&shifted)].concat();
            assert_eq!(joined(&together, &probe, columns.len()), joined(&alone, &probe, columns.len()), "{directory}");
            assert_eq!(kind_of(&by_one), kind_of(&alone));
            assert_eq!(joined(&by_one, &probe, columns.len()), joined(&alone, &probe, columns.len()), "{directory}");
            assert!(together.filter.is_some() && alone.filter.is_none());
            assert_eq!(passed(&together, &probe), passed(&alone, &probe), "{directory}");
        }
    }
}

/// For each probe row, whether the table's filter keeps it.
fn passed(table: &JoinTable, probe: &[Batch]) -> Vec<bool> {
    let mut filter = table.key_filter().unwrap();
    let mut passed = Vec::new();
    for batch in probe {
        let mut batch = batch.clone();
        let keys: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
        let mut keep = vec![true; batch.row_count()];
        filter.retain(&keys, &mut keep);
        passed.extend(keep);
    }
    passed
}

/// A budget that counts requests, and cancels the query at a given request.
#[derive(Debug)]
struct Watched {
    budget: Arc<FixedBudget>,
    asked: AtomicUsize,
    cancels_at: usize,
    cancelled: StopFlag,
}

impl MemoryBudget for Watched {
    fn try_grow(&self, bytes: usize) -> Result<(), String> {
        if self.asked.fetch_add(1, Ordering::Relaxed) + 1 == self.cancels_at {
            self.cancelled.raise();
        }
        self.budget.try_grow(bytes)
    }

    fn shrink(&self, bytes: usize) {
        self.budget.shrink(bytes);
    }

    fn free(&self) -> usize {
        self.budget.free()
    }
}

#[test]
fn where_one_thread_has_memory_enough_so_have_many_and_all_is_given_back() {
    for (columns, directory) in sides() {
        let spec = integer_spec(JoinKind::Inner, columns.len());
        let mut batches = integer_batches(&columns);
        let (mut failed, mut built) = (0, 0);
        for limit in (0..64).map(|step| (192 << 10) + step * (32 << 10)) {
            let budget = FixedBudget::new(ByteSize(limit));
            let held: Arc<dyn MemoryBudget> = budget.clone();
            let mut consumed = || -> Result<Vec<CollectedRows>, ExecError> {
                let part = |_| CollectedRows::new(columns.len(), Reservation::new(held.clone(), "hash join"));
                let mut parts: Vec<CollectedRows> = (0..3).map(part).collect();
                for (at, batch) in batches.iter_mut().enumerate() {
                    parts[at % 3].consume(batch)?;
                }
                Ok(parts)
            };
            let Ok(parts) = consumed() else { continue };
            let alone = JoinTable::new(spec.clone(), parts).is_ok();
            assert_eq!(budget.used(), 0, "{directory} within {limit}");
            let together = RUNTIME.block_on(build(&spec, consumed().unwrap(), MEDIUM, &StopFlag::default()));
            match together {
                Ok(table) => {
                    assert_eq!(table.row_count(), 20_000);
                    built += 1;
                }
                Err(ExecError::Memory(_)) => {
                    assert!(!alone, "{directory} within {limit}");
                    failed += 1;
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(budget.used(), 0, "{directory} within {limit}");
        }
        assert!(failed > 0 && built > 0, "{directory}: {failed} failed, {built} built");
    }
}

#[test]
fn a_cancelled_build_stops_wherever_it_is() {
    for (columns, directory) in sides() {
        let spec = integer_spec(JoinKind::Inner, columns.len());
        let mut batches = integer_batches(&columns);
        let mut cancelled_count = 0;
        for nth in 1.. {
            let (budget, cancelled) = (FixedBudget::new(ByteSize(1 << 30)), StopFlag::default());
            let asked = AtomicUsize::new(0);
            let watched = Watched { budget: budget.clone(), asked, cancels_at: nth, cancelled: cancelled.clone() };
            let watched: Arc<dyn MemoryBudget> = Arc::new(watched);
            let collected = parts(&mut batches, 3, &watched);
            let was_cancelled = cancelled.is_raised();
            match RUNTIME.block_on(build(&spec, collected, MEDIUM, &cancelled)) {
                Err(ExecError::Cancelled) => cancelled_count += 1,
                Err(error) => panic!("{error}"),
                Ok(_) => assert!(!was_cancelled, "{directory} was built although it was cancelled before"),
            }
            assert_eq!(budget.used(), 0, "{directory}");
            if !cancelled.is_raised() {
                break;
            }
        }
        assert!(cancelled_count > 2, "{directory}: {cancelled_count}");
    }
}

#[test]
fn a_build_that_is_dropped_gives_its_memory_back() {
    let columns = sides().remove(7).0;
    let spec = integer_spec(JoinKind::Inner, 1);
    for polls in 1..4 {
        let budget = FixedBudget::new(ByteSize(1 << 30));
        let held: Arc<dyn MemoryBudget> = budget.clone();
        let collected = parts(&mut integer_batches(&columns), 3, &held);
        RUNTIME.block_on(async {
            let cancelled = StopFlag::default();
            let mut building = Box::pin(build(&spec, collected, MEDIUM, &cancelled));
            for _ in 0..polls {
                assert!(futures::poll!(building.as_mut()).is_pending());
                tokio::task::yield_now().await;
            }
            drop(building);
            while budget.used() > 0 {
                tokio::task::yield_now().await;
            }
        });
    }
}

/// Counts rows.
#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.0 += batch.row_count();
        Ok(())
    }
}

#[test]
fn an_executor_s_workers_build_large_sides_until_it_is_cancelled() {
    let build_rows = Grain::default().parallel_rows_min as i64 + 5_000;
    let side = |keys: Vec<i64>| {
        let rows = Arc::new(ResultRows::new(keys.len(), vec![Vector::integers(keys)]));
        Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 1 }
    };
    let condition = JoinCondition {
        kind: JoinKind::Inner,
        build_keys: vec![0],
        probe_keys: vec![0],
        residual: None,
        null_keys: NullKeys::EqualNothing,
    };
    let (build, probe) = (side((0..build_rows).map(|key| key << 20).collect()), side(vec![7, 3 << 20, 3 << 20]));
    let plan = Plan::join(build, probe, condition);
    let budget = FixedBudget::new(ByteSize(1 << 26));
    let executor = Executor::new(3, budget.clone());
    let found = RUNTIME.block_on(executor.run(&plan, Count::default)).unwrap();
    assert_eq!(found.iter().map(|count| count.0).sum::<usize>(), 2);
    assert_eq!(budget.used(), 0);
    executor.cancellation().raise();
    assert!(matches!(RUNTIME.block_on(executor.run(&plan, Count::default)), Err(ExecError::Cancelled)));
    assert_eq!(budget.used(), 0);
}
