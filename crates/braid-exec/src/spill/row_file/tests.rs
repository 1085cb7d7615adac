use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use braid_base::{ByteSize, Random};
use braid_io::{Backend, Device, DeviceOptions, Fault, FaultDevice, IoOperation, open_device};
use braid_testing::cases;

use super::*;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values};
use crate::{FixedBudget, SpillSettings, Vector};

static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fn device() -> Arc<dyn Device> {
    let options = DeviceOptions { backend: Backend::Threads, threads: 2, ..DeviceOptions::default() };
    open_device(DIRECTORY.path(), &options).unwrap()
}

fn space(device: Arc<dyn Device>, limit: ByteSize, block_bytes: usize) -> Arc<SpillSpace> {
    static SPACE_COUNT: AtomicU64 = AtomicU64::new(0);
    let directory = DIRECTORY.path().join(SPACE_COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir(&directory).unwrap();
    SpillSpace::new(device, directory, limit, SpillSettings { block_bytes, ..SpillSettings::default() })
}

/// A batch of each kind of column, with nulls.
fn batch(random: &mut impl Random) -> Batch {
    let row_count = random.below(200) as usize;
    let valid: Option<Vec<bool>> = random.chance(1, 2).then(|| (0..row_count).map(|_| random.chance(3, 4)).collect());
    let mut integers = || (0..row_count).map(|_| random.below(1 << 40) as i64).collect::<Vec<_>>();
    let (first, second) = (integers(), integers());
    let text = |value: &i64| vec![b'a' + (value % 7) as u8; (value % 91) as usize];
    let texts: Vec<Vec<u8>> = first.iter().map(text).collect();
    let dictionary = Arc::new(ByteStrings::from_strings([&b"few"[..], b"", b"many more than fit into a view"]));
    let columns = [
        Values::Int(first.clone()),
        Values::Int128(second.iter().map(|value| i128::from(*value) << 60).collect()),
        Values::Float(second.iter().map(|value| *value as f64 / 3.0).collect()),
        Values::Bool(first.iter().map(|value| value % 2 == 0).collect()),
        Values::Bytes(ByteStrings::from_strings(texts.iter().map(Vec::as_slice))),
        Values::Coded(CodedStrings { codes: first.iter().map(|value| (value % 3) as u32).collect(), dictionary }),
    ];
    Batch::of_vectors(row_count, columns.map(|values| Arc::new(Vector::new(values, valid.clone()))))
}

fn rows_of(batch: &Batch) -> Vec<String> {
    let mut batch = batch.clone();
    let columns = batch.all_columns();
    let row = |row| columns.iter().map(|column| format!("{:?}", column.value(row))).collect::<Vec<_>>().join("|");
    (0..batch.row_count()).map(row).collect()
}

async fn read_all(file: &Arc<RowFile>, blocks: &Arc<[RowBlock]>) -> Result<Vec<String>, ExecError> {
    let mut reader = file.read(blocks.clone());
    let mut rows = Vec::new();
    while let Some(batch) = reader.next().await? {
        rows.extend(rows_of(&batch));
    }
    Ok(rows)
}

async fn assert_nothing_left(space: &SpillSpace, budget: &FixedBudget) {
    let since = Instant::now();
    while space.used() > ByteSize(0) || budget.used() > 0 {
        assert!(since.elapsed() < Duration::from_secs(20), "{} on disk, {} B", space.used(), budget.used());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_reader_gets_the_rows_of_each_writer_in_order() {
    for case in cases!(0..60) {
        let mut random = case.random();
        let space = space(device(), ByteSize::mib(64), 1 << (8 + random.below(10)));
        // Without memory, each batch is a block.
        let budget = FixedBudget::new(if random.chance(1, 3) { ByteSize(0) } else { ByteSize::mib(64) });
        let file = RowFile::new(space.clone(), budget.clone());
        let mut writers: Vec<(RowWriter, Vec<String>)> = (0..3).map(|_| (file.writer(6), Vec::new())).collect();
        for _ in 0..random.below(40) {
            let (writer, expected) = &mut writers[random.below(3) as usize];
            let mut batch = batch(&mut random);
            expected.extend(rows_of(&batch));
            writer.add(&mut batch).unwrap();
            if file.is_congested() {
                file.until_not_congested().await.unwrap();
            }
        }
        for (writer, expected) in writers {
            let blocks = writer.finish().unwrap();
            let (one, other) = futures::join!(read_all(&file, &blocks), read_all(&file, &blocks));
            assert_eq!(one.unwrap(), expected);
            assert_eq!(other.unwrap(), expected);
        }
        file.until_written().await.unwrap();
        drop(file);
        assert_nothing_left(&space, &budget).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_goes_leaves_nothing_behind() {
    let (space, budget) = (space(device(), ByteSize::mib(64), 1 << 10), FixedBudget::new(ByteSize::mib(1)));
    let file = RowFile::new(space.clone(), budget.clone());
    let mut writer = file.writer(1);
    for _ in 0..100 {
        writer.add(&mut Batch::of_vectors(500, [Arc::new(Vector::integers((0..500).collect()))])).unwrap();
    }
    let blocks = writer.finish().unwrap();
    assert!(blocks.len() > 10, "{} blocks", blocks.len());
    let mut reader = file.read(blocks);
    drop(file);
    let first = reader.next().await.unwrap().unwrap();
    assert!(first.row_count() > 0 && space.used() > ByteSize(0));
    drop((first, reader));
    assert_nothing_left(&space, &budget).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_space_and_a_disk_that_fails_are_errors() {
    let budget = FixedBudget::new(ByteSize::mib(1));
    let many = || Batch::of_vectors(1000, [Arc::new(Vector::integers((0..1000).map(|n| n << 40).collect()))]);
    let full = space(device(), ByteSize::kib(8), 1 << 10);
    let mut writer = RowFile::new(full.clone(), budget.clone()).writer(1);
    let added = (0..10).try_for_each(|_| writer.add(&mut many()));
    assert!(matches!(added, Err(ExecError::SpillSpace { .. })), "{added:?}");
    drop(writer);
    assert_nothing_left(&full, &budget).await;
    let faults = FaultDevice::new(device());
    faults.inject(Fault::Fail { operation: Some(IoOperation::Write), file: None, nth: 3, errno: 5 });
    let failing = space(faults, ByteSize::mib(64), 1 << 10);
    let file = RowFile::new(failing.clone(), budget.clone());
    let mut writer = file.writer(1);
    let written = (0..10).try_for_each(|_| writer.add(&mut many())).and_then(|()| writer.finish());
    let outcome = match written {
        Ok(_) => file.until_written().await,
        Err(error) => Err(error),
    };
    assert!(matches!(outcome, Err(ExecError::Spill(_))), "{outcome:?}");
    drop(file);
    assert_nothing_left(&failing, &budget).await;
}
