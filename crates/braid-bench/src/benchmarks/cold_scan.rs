//! `cold-scan`: one column of lineitem, with nothing in memory.
//!
//! It answers two questions: does the scan read only that column's segments, and does it read them at the disk's bandwidth?
//! The disk's bandwidth is measured in the same run, by reading the whole data files in requests of 1 MiB, with as many
//! requests in flight as the buffer allows. The share of processor time shows whether a slow scan is bound by the processor.
//!
//! The benchmark needs direct I/O. Without it, reads come from the operating system's cache, and the benchmark reports this.
//! It checks the column's sum against the result of SQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::cast::AsArray;
use arrow::datatypes::Decimal128Type;
use braid_base::{ByteSize, ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, ScanPolicy};
use braid_engine::Database;
use braid_io::{FileHandle, IoReason};
use braid_scan::{CooperativeScan, ScanSpec};
use braid_storage::{FileRange, SegmentMeta, TableVersion};
use futures::future::try_join_all;
use futures::stream::{StreamExt, TryStreamExt};

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::open_tpch;
use crate::drivers::client::{Client, SessionClient};
use crate::report::{Figure, Goal};
use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::{BenchError, BenchOptions};

/// The column: money, 24 bits a value, one of the larger ones that are not text.
const COLUMN: &str = "l_extendedprice";

/// Bytes of a sequential read.
const SEQUENTIAL_READ_BYTES: usize = 1 << 20;

/// Repetitions of each measurement; the median counts.
const REPETITIONS: usize = 5;

/// The measurements of one scan.
struct ColdScan {
    elapsed: Duration,
    processor: Duration,
    bytes_read: u64,
    sum: i128,
}

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let catalog = database.store().snapshot();
    let version = catalog.table(TpchTable::Lineitem.name()).expect("the data directory was just filled");
    let (column, _) = version.def.column(COLUMN).expect("lineitem has its columns");
    let column_bytes: u64 = version.chunks.iter().map(|chunk| u64::from(chunk.segment(column).stored_bytes())).sum();

    let mut scans = Vec::with_capacity(REPETITIONS);
    let mut sequential = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        sequential.push(sequential_bandwidth(&database, version).await?);
        scans.push(cold_scan(&database, version, column, options.buffer).await?);
    }
    check_sum(&database, &scans).await?;
    let bytes_read = scans.iter().map(|s| s.bytes_read).max().expect("at least one repetition");
    scans.sort_by_key(|s| s.elapsed);
    sequential.sort_by(f64::total_cmp);
    let (scan, disk) = (&scans[REPETITIONS / 2], sequential[REPETITIONS / 2]);
    let bandwidth = scan.bytes_read as f64 / scan.elapsed.as_secs_f64();
    let cores = database.config().target_partitions as f64;
    let processor_share = scan.processor.as_secs_f64() / (scan.elapsed.as_secs_f64() * cores);

    println!("lineitem.{COLUMN}, {} rows, {}", version.row_count(), database.device().name());
    if !database.device().name().contains("O_DIRECT") {
        println!(
            "direct I/O is not available: reads may come from the operating system's cache, so the bandwidths are not the disk's"
        );
    }
    let excess = Figure::new("bytes read beyond the column's segments", (bytes_read - column_bytes) as f64, "B");
    let share = Figure::new("bandwidth of the scan / of the disk", bandwidth / disk, "");
    let cpu = Figure::new("processor time of the scan / time on all cores", processor_share, "");
    // The promise is either the one or the other.
    let processor_bound = processor_share >= 0.9;
    Ok(vec![
        Figure::new("bytes of the column's segments", column_bytes as f64 / 1e6, "MB"),
        excess.with_goal(Goal::AtMost(0.0)),
        Figure::new("time of the scan", scan.elapsed.as_secs_f64() * 1e3, "ms"),
        Figure::new("bandwidth of the scan", bandwidth / 1e6, "MB/s"),
        Figure::new("sequential bandwidth of the disk", disk / 1e6, "MB/s"),
        if processor_bound { share } else { share.with_goal(Goal::AtLeast(0.7)) },
        if processor_bound { cpu.with_goal(Goal::AtLeast(0.9)) } else { cpu },
    ])
}

/// Scans the column once with a buffer of its own, with one consumer for each core.
async fn cold_scan(
    database: &Database,
    version: &Arc<TableVersion>,
    column: ColumnId,
    capacity: Option<ByteSize>,
) -> Result<ColdScan, BenchError> {
    let options = BufferOptions {
        capacity: capacity.unwrap_or(database.config().buffer),
        policy: ScanPolicy::Relevance,
        loads_in_flight_max: database.config().loads_in_flight_max,
    };
    let buffer = BufferManager::new(Arc::clone(database.device()), Arc::new(SystemClock::new()), options);
    let read_before = database.device().stats().bytes_read;
    let (start, processor_before) = (Instant::now(), processor_time());
    let scan = CooperativeScan::start(&buffer, Arc::clone(version), ScanSpec::new(vec![column]));
    let consumers = (0..database.config().target_partitions).map(|_| {
        let mut consumer = scan.consumer();
        let task = tokio::spawn(async move {
            let mut sum = 0_i128;
            while let Some(batch) = consumer.next_batch().await {
                let batch = batch.map_err(|e| BenchError::other("scanning lineitem", e))?;
                let values = batch.column(0).as_primitive::<Decimal128Type>().values();
                sum += values.iter().sum::<i128>();
            }
            Ok::<_, BenchError>(sum)
        });
        async { task.await.map_err(|e| BenchError::other("a consumer's task", e))? }
    });
    let sums = try_join_all(consumers).await?;
    Ok(ColdScan {
        elapsed: start.elapsed(),
        processor: processor_time().saturating_sub(processor_before),
        bytes_read: database.device().stats().bytes_read - read_before,
        sum: sums.iter().sum(),
    })
}

/// Checks the scan's sum against SQL's.
async fn check_sum(database: &Arc<Database>, scans: &[ColdScan]) -> Result<(), BenchError> {
    let sql = format!("select cast(sum({COLUMN}) * 100 as bigint) from lineitem");
    let answer = SessionClient::new(database).answer(&sql).await?;
    match scans.iter().find(|scan| scan.sum.to_string() != answer.rows[0][0]) {
        None => Ok(()),
        Some(scan) => Err(BenchError::WrongAnswer {
            query: format!("sum of {COLUMN}"),
            difference: format!("the scan sums to {}, SQL to {} (hundredths)", scan.sum, answer.rows[0][0]),
        }),
    }
}

/// Reads all data files of the table from front to back; bytes a second.
async fn sequential_bandwidth(database: &Database, version: &TableVersion) -> Result<f64, BenchError> {
    let mut requests: Vec<(FileHandle, u64, usize)> = Vec::new();
    let mut files: BTreeMap<_, (FileHandle, u64)> = BTreeMap::new();
    for (chunk, file) in version.chunks.iter().filter_map(|chunk| Some((chunk, chunk.file.as_ref()?.handle()))) {
        let end = chunk.segments.iter().filter_map(SegmentMeta::file_range).map(FileRange::end).max().unwrap_or(0);
        let entry = files.entry(file.path().to_owned()).or_insert_with(|| (file.clone(), 0));
        entry.1 = entry.1.max(end);
    }
    for (file, bytes) in files.into_values() {
        for offset in (0..bytes).step_by(SEQUENTIAL_READ_BYTES) {
            let len = (bytes - offset).min(SEQUENTIAL_READ_BYTES as u64) as usize;
            requests.push((file.clone(), offset, len));
        }
    }
    let start = Instant::now();
    let read = futures::stream::iter(requests)
        .map(|(file, offset, len)| database.device().read(&file, offset, len, IoReason::Check))
        .buffer_unordered(database.config().loads_in_flight_max)
        .map_ok(|buffer| buffer.len() as f64);
    let bytes = read.try_fold(0.0, |sum, len| async move { Ok(sum + len) }).await;
    Ok(bytes.map_err(|e| BenchError::other("reading lineitem's files", e))? / start.elapsed().as_secs_f64())
}

/// Processor time of this process's threads so far, to the nanosecond from `/proc/self/task/*/schedstat`; zero where
/// there is no such file. A thread that ends takes its time with it, so what is measured must not end threads.
fn processor_time() -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let nanos = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
