//! Plans that spill because their operators may hold almost no memory, and disks that fail or are full.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_io::{Backend, Device, DeviceOptions, Fault, FaultDevice, IoOperation, IoReason, open_device};

use super::*;
use crate::keys::null_keys::NullKeys;

static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

/// A space for temporary files.
pub(super) fn spill_space(settings: SpillSettings) -> Arc<SpillSpace> {
    space_on(device(), PLENTY, settings)
}

pub(super) fn device() -> Arc<dyn Device> {
    static DEVICE: LazyLock<Arc<dyn Device>> = LazyLock::new(|| {
        let options = DeviceOptions { backend: Backend::Threads, threads: 2, ..DeviceOptions::default() };
        open_device(DIRECTORY.path(), &options).unwrap()
    });
    DEVICE.clone()
}

pub(super) fn space_on(device: Arc<dyn Device>, limit: ByteSize, settings: SpillSettings) -> Arc<SpillSpace> {
    static SPACE_COUNT: AtomicU64 = AtomicU64::new(0);
    let directory = DIRECTORY.path().join(SPACE_COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir(&directory).unwrap();
    SpillSpace::new(device, directory, limit, settings)
}

pub(super) async fn run_spilling(
    plan: &Plan,
    worker_count: usize,
    budget: &Arc<FixedBudget>,
    space: &Arc<SpillSpace>,
) -> Result<Vec<Row>, ExecError> {
    let executor =
        Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small()).with_spill_space(space.clone());
    let run = tokio::time::timeout(PATIENCE, executor.run(plan, Collected::default));
    let sinks = run.await.expect("it ends")?;
    Ok(sinks.into_iter().flat_map(|sink| sink.0).collect())
}

/// Waits until all temporary files are gone.
pub(super) async fn assert_files_given_back(space: &SpillSpace) {
    let wait = Wait::new("all temporary files to be given back");
    while space.used() > ByteSize(0) {
        wait.check(|| format!("{} are held", space.used()));
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// Runs a plan whose operators, or whose query, may hold almost no memory.
pub(super) async fn check_spilling(case: &mut Case, expected: &Result<Answer, NoAnswer>, tally: &Tally) {
    // Fewer bytes would be a block a row, again and again.
    let operator_bytes_max = if case.random.chance(1, 4) { usize::MAX } else { 1 << (6 + case.random.below(8)) };
    let settings =
        SpillSettings { block_bytes: 1 << (4 + case.random.below(8)), operator_bytes_max, operator_bytes_min: 0 };
    let limit = if operator_bytes_max == usize::MAX { ByteSize(1 << (12 + case.random.below(6))) } else { PLENTY };
    let (space, budget) = (spill_space(settings), FixedBudget::new(limit));
    let worker_count = 1 + case.random.below(3) as usize;
    match (run_spilling(&case.plan, worker_count, &budget, &space).await, expected) {
        (Err(ExecError::Memory(_)), _) if limit != PLENTY => {}
        (Ok(found), Ok(expected)) => assert_answers(found, expected),
        (Err(ExecError::SeveralRows), Err(NoAnswer::SeveralRows)) => {}
        (found, expected) => panic!("{settings:?} {limit} found {found:?}, wanted {expected:?}"),
    }
    assert_given_back(&budget).await;
    assert_files_given_back(&space).await;
    add(&tally.spilled, u64::from(space.file_count() > 0));
}

/// Settings with which operators spill all collected rows.
pub(super) const NEXT_TO_NOTHING: SpillSettings =
    SpillSettings { block_bytes: 64, operator_bytes_max: 128, operator_bytes_min: 0 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_fails_the_query_alone() {
    let cases = cases!(0..600);
    let is_replay = cases.is_replay();
    let failed = check_faults(cases.map(|drawn| Case::new(drawn.seed))).await;
    assert!(is_replay || failed > 20, "only {failed} plans met a fault");
}

/// Runs plans on disks that fail once, and counts those that met the fault.
pub(super) async fn check_faults(cases: impl Iterator<Item = Case>) -> u64 {
    let mut failed = 0;
    for mut case in cases {
        let expected = case.expected();
        if let Err(NoAnswer::Undefined) = expected {
            continue;
        }
        let faults = FaultDevice::new(device());
        let at = case.random.below(8);
        faults.inject(match case.random.below(3) {
            0 => Fault::Fail { operation: Some(IoOperation::Write), file: None, nth: 1 + at, errno: 5 },
            1 => Fault::FailReads { file: None, offsets: 4096 * at..4096 * at + 1, errno: 5 },
            _ => Fault::FlipBit { file: None, offset: 4096 * at + 11, bit: 3 },
        });
        let (space, budget) = (space_on(faults, PLENTY, NEXT_TO_NOTHING), FixedBudget::new(PLENTY));
        match (run_spilling(&case.plan, 1 + case.random.below(3) as usize, &budget, &space).await, &expected) {
            (Err(ExecError::Spill(_) | ExecError::BrokenBlock(_)), _) => failed += 1,
            (Ok(found), Ok(expected)) => assert_answers(found, expected),
            (Err(ExecError::SeveralRows), Err(NoAnswer::SeveralRows)) => {}
            (found, expected) => panic!("found {found:?}, wanted {expected:?}"),
        }
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
    failed
}

/// Bytes written for a join of 4000 rows with as many, whose keys begin at `first_key`.
async fn written_by_a_join(first_key: i64) -> u64 {
    let table = |first: i64| {
        let rows: Vec<[Option<i64>; 1]> = (first..first + 4_000).map(|key| [Some(key * 1_000_003)]).collect();
        let source = Table::of_integers(0, 1, &rows.iter().map(<[_; 1]>::as_slice).collect::<Vec<_>>());
        Box::new(Plan::Source { source, column_count: 1 })
    };
    let condition = JoinCondition {
        kind: JoinKind::Inner,
        build_keys: vec![0],
        probe_keys: vec![0],
        residual: None,
        null_keys: NullKeys::EqualNothing,
    };
    let plan = Plan::join(*table(0), *table(first_key), condition);
    let settings = SpillSettings { block_bytes: 4096, operator_bytes_max: 16 << 10, operator_bytes_min: 0 };
    let options = DeviceOptions { backend: Backend::Threads, threads: 2, ..DeviceOptions::default() };
    let (device, budget) = (open_device(DIRECTORY.path(), &options).unwrap(), FixedBudget::new(PLENTY));
    let space = space_on(device.clone(), PLENTY, settings);
    let found = run_spilling(&plan, 2, &budget, &space).await.unwrap();
    assert_eq!(found.len() as i64, (4_000 - first_key).max(0));
    assert_files_given_back(&space).await;
    device.stats().of(IoReason::Spill).bytes_written
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_without_partner_in_a_temporary_file_are_dropped_where_they_come_from() {
    let (of_all, of_build_side) = (written_by_a_join(0).await, written_by_a_join(4_000).await);
    assert!(of_build_side > 0 && 10 * of_build_side < 7 * of_all, "{of_build_side} and {of_all} bytes written");
}

/// Without a key, distinct values are partitioned by their own hashes, and partitioned again if they are too many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn distinct_values_of_all_rows_go_to_temporary_files() {
    use crate::plan::{AggregateCall, AggregateFunction as F};
    let row = |row: i64| [Some(row % 9_001 * 1_000_003), (row % 7 != 0).then_some(row % 997), Some(row)];
    let rows: Vec<[Option<i64>; 3]> = (0..12_000).map(row).collect();
    let call = |function, argument, distinct| AggregateCall { function, argument, distinct, filter: None };
    let aggregates = vec![
        call(F::Count, Some(0), true),
        call(F::Sum, Some(1), true),
        call(F::CountRows, None, false),
        call(F::Sum, Some(2), false),
        call(F::Count, Some(1), false),
    ];
    let expected =
        [9_001, (0..997).sum(), 12_000, (0..12_000).sum(), (0..12_000).filter(|row| row % 7 != 0).count() as i64];
    for worker_count in 1..4 {
        let source = Table::of_integers(0, 3, &rows.iter().map(<[_; 3]>::as_slice).collect::<Vec<_>>());
        let input = Box::new(Plan::Source { source, column_count: 3 });
        let spec = Arc::new(AggregationSpec { keys: Vec::new(), aggregates: aggregates.clone() });
        let plan = Plan::Aggregate { input, spec };
        let settings = SpillSettings { block_bytes: 1024, operator_bytes_max: 16 << 10, operator_bytes_min: 0 };
        let (space, budget) = (spill_space(settings), FixedBudget::new(PLENTY));
        let found = run_spilling(&plan, worker_count, &budget, &space).await.unwrap();
        assert_eq!(found, [expected.map(|value| Some(Scalar::Int(value)))]);
        // One for what workers had, others for partitions that were divided again.
        assert!(space.file_count() > 1, "{} files", space.file_count());
        assert_given_back(&budget).await;
        assert_files_given_back(&space).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_is_used_up_is_an_error_with_its_figures() {
    let rows: Vec<[Option<i64>; 1]> = (0..100).map(|row| [Some(row * 1000)]).collect();
    let table = Table::of_integers(0, 1, &rows.iter().map(<[_; 1]>::as_slice).collect::<Vec<_>>());
    let input = Box::new(Plan::Source { source: table, column_count: 1 });
    let plan = Plan::Aggregate { input, spec: Arc::new(AggregationSpec { keys: vec![0], aggregates: Vec::new() }) };
    let (space, budget) = (space_on(device(), ByteSize::kib(6), NEXT_TO_NOTHING), FixedBudget::new(PLENTY));
    let error = run_spilling(&plan, 1, &budget, &space).await.unwrap_err();
    let text = "temporary files need 4.0 kB more disk space: 4.0 kB of 6.0 kB are used";
    assert_eq!(error.to_string(), text);
    assert_files_given_back(&space).await;
}
