//! `scan-sharing`: runs the same staggered scans under the four scan policies (Cooperative Scans, sections 5.2, 6.3).
//!
//! 16, 32 and 64 scans of lineitem start one after the other at the same rate. They differ in range (10, 50 or 100 % of the
//! table, at random positions), in columns (each of the two column sets has columns that the other lacks) and in speed. A
//! fast scan only takes its chunks. A slow scan computes on each chunk for [`SLOW_CHUNK_TIMES`] times as long as the disk
//! takes to deliver it. The buffer holds 20 % of the table. Scans register with the buffer directly, so that the benchmark
//! measures reads without decoding.
//!
//! The computation is a fixed amount of work, calibrated once, so that scans that compete for cores slow each other down like
//! real scans. Every policy gets the same scans on an empty buffer, one policy after the other. Direct I/O bypasses the
//! operating system's cache. The benchmark checks that each scan gets every chunk of its range exactly once, with all rows.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::{ByteSize, ColumnId, Random, SeededRandom, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, BufferStats, ScanPolicy, ScanRequest};
use braid_engine::Database;
use braid_storage::TableVersion;
use tokio::task::JoinSet;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::open_tpch;
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::{BenchError, BenchOptions};

/// Total numbers of scans, one measurement for each. The first scans find an idle disk and the last ones leave it idle, so
/// that a longer run represents a busy system better.
const SCAN_COUNTS: [usize; 3] = [16, 32, 64];

/// Computation of a slow scan on a chunk, relative to the disk's time to deliver it. Half of the scans are slow. On two cores
/// the mix then needs about as much processor time as disk time, like the paper's.
const SLOW_CHUNK_TIMES: f64 = 1.0;

/// A new scan starts when the disk could have delivered this share of the table since the last start.
const STAGGER: f64 = 0.125;

/// The buffer's share of the table.
const BUFFER_SHARE: f64 = 0.2;

/// Columns of fast scans.
const FAST_COLUMNS: &[&str] =
    &["l_orderkey", "l_partkey", "l_suppkey", "l_quantity", "l_extendedprice", "l_shipdate", "l_comment"];

/// Columns of slow scans.
const SLOW_COLUMNS: &[&str] = &[
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_comment",
];

/// One scan of the workload.
#[derive(Clone)]
struct StaggeredScan {
    start_after: Duration,
    chunks: Vec<usize>,
    columns: Vec<ColumnId>,
    work_per_chunk: u64,
}

/// The measurements of the workload under one policy.
struct Outcome {
    latency_s: Vec<f64>,
    elapsed_s: f64,
    stats: BufferStats,
}

impl Outcome {
    fn mean_latency_s(&self) -> f64 {
        self.latency_s.iter().sum::<f64>() / self.latency_s.len() as f64
    }

    /// Mean of the latency in the mix divided by the latency alone; 1 is as fast as alone.
    fn normalised_latency(&self, alone_s: &[f64]) -> f64 {
        let normalised = self.latency_s.iter().zip(alone_s).map(|(mix, alone)| mix / alone);
        normalised.sum::<f64>() / alone_s.len() as f64
    }
}

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let catalog = database.store().snapshot();
    let version = catalog.table(TpchTable::Lineitem.name()).expect("the data directory was just filled");
    let capacity = options.buffer.unwrap_or_else(|| buffer_capacity(version));
    let longest = workload(&database, version, capacity).await?;
    let mut all = Vec::new();
    for scan_count in SCAN_COUNTS {
        all.extend(compare_policies(&database, version, capacity, &longest[..scan_count]).await?);
    }
    Ok(all)
}

/// The same scans under each policy.
async fn compare_policies(
    database: &Database,
    version: &Arc<TableVersion>,
    capacity: ByteSize,
    scans: &[StaggeredScan],
) -> BenchResult {
    let mut alone_s = Vec::with_capacity(scans.len());
    for scan in scans {
        let single = [StaggeredScan { start_after: Duration::ZERO, ..scan.clone() }];
        alone_s.push(run_policy(database, version, capacity, ScanPolicy::Normal, &single).await?.latency_s[0]);
    }
    let mut table =
        plain_table(&["policy", "read MB", "saved MB", "mean latency s", "longest s", "normalised", "all s"]);
    let mut outcomes = Vec::new();
    for policy in ScanPolicy::ALL {
        let outcome = run_policy(database, version, capacity, policy, scans).await?;
        table.add_row([
            left(policy.name()),
            right(number(outcome.stats.bytes_loaded as f64 / 1e6)),
            right(number(outcome.stats.bytes_saved as f64 / 1e6)),
            right(number(outcome.mean_latency_s())),
            right(number(outcome.latency_s.iter().copied().fold(0.0, f64::max))),
            right(number(outcome.normalised_latency(&alone_s))),
            right(number(outcome.elapsed_s)),
        ]);
        outcomes.push((policy, outcome));
    }
    println!("{} scans of lineitem, buffer {}, {}", scans.len(), capacity.rounded(), database.device().name());
    println!("{table}");
    Ok(figures(scans.len(), &outcomes, &alone_s))
}

fn figures(scan_count: usize, outcomes: &[(ScanPolicy, Outcome)], alone_s: &[f64]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (policy, outcome) in outcomes {
        figures.push(Figure::new(
            format!("bytes read, {policy}, {scan_count} scans"),
            outcome.stats.bytes_loaded as f64 / 1e6,
            "MB",
        ));
        figures.push(Figure::new(format!("mean latency, {policy}, {scan_count} scans"), outcome.mean_latency_s(), "s"));
        figures.push(Figure::new(
            format!("normalised latency, {policy}, {scan_count} scans"),
            outcome.normalised_latency(alone_s),
            "",
        ));
    }
    let of = |wanted| &outcomes.iter().find(|(policy, _)| *policy == wanted).expect("every policy ran").1;
    let (normal, relevance) = (of(ScanPolicy::Normal), of(ScanPolicy::Relevance));
    let read = relevance.stats.bytes_loaded as f64 / normal.stats.bytes_loaded as f64;
    let latency = relevance.mean_latency_s() / normal.mean_latency_s();
    figures.push(
        Figure::new(format!("bytes read, relevance / normal, {scan_count} scans"), read, "")
            .with_goal(Goal::AtMost(0.4)),
    );
    figures.push(
        Figure::new(format!("mean latency, relevance / normal, {scan_count} scans"), latency, "")
            .with_goal(Goal::AtMost(0.5)),
    );
    figures
}

/// The columns called `names`.
fn columns(version: &TableVersion, names: &[&str]) -> Vec<ColumnId> {
    let column = |name: &&str| version.def.column(name).expect("lineitem has its columns").0;
    names.iter().map(column).collect()
}

/// Bytes on disk of some columns of the table.
fn stored_bytes(version: &TableVersion, columns: &BTreeSet<ColumnId>) -> u64 {
    let chunk_bytes = |c: &Arc<braid_storage::ChunkMeta>| -> u64 {
        columns.iter().map(|column| u64::from(c.segment(*column).stored_bytes())).sum()
    };
    version.chunks.iter().map(chunk_bytes).sum()
}

/// 20 % of the bytes that the scans read, but at least two chunks, for tiny tables.
fn buffer_capacity(version: &TableVersion) -> ByteSize {
    let used: BTreeSet<_> = columns(version, FAST_COLUMNS).into_iter().chain(columns(version, SLOW_COLUMNS)).collect();
    let bytes = stored_bytes(version, &used);
    let chunk_bytes = bytes / version.chunks.len() as u64;
    ByteSize(((bytes as f64 * BUFFER_SHARE) as u64).max(2 * chunk_bytes))
}

/// The scans, the same for every policy: seeded, with speeds and starts in proportion to this machine's disk.
async fn workload(
    database: &Database,
    version: &Arc<TableVersion>,
    capacity: ByteSize,
) -> Result<Vec<StaggeredScan>, BenchError> {
    let chunk_count = version.chunks.len();
    let whole_table = StaggeredScan {
        start_after: Duration::ZERO,
        chunks: (0..chunk_count).collect(),
        columns: columns(version, FAST_COLUMNS),
        work_per_chunk: 0,
    };
    let read_alone = run_policy(database, version, capacity, ScanPolicy::Normal, &[whole_table]).await?.elapsed_s;
    let slow_work = (work_per_second() * SLOW_CHUNK_TIMES * read_alone / chunk_count as f64) as u64;
    let mut random = SeededRandom::new(1);
    let scans = (0..SCAN_COUNTS[SCAN_COUNTS.len() - 1]).map(|number| {
        let range = (chunk_count * [10, 50, 100][number % 3]).div_ceil(100);
        let first = random.below((chunk_count - range + 1) as u64) as usize;
        let slow = number % 2 == 1;
        StaggeredScan {
            start_after: Duration::from_secs_f64(number as f64 * STAGGER * read_alone),
            chunks: (first..first + range).collect(),
            columns: columns(version, if slow { SLOW_COLUMNS } else { FAST_COLUMNS }),
            work_per_chunk: if slow { slow_work } else { 0 },
        }
    });
    Ok(scans.collect())
}

/// Runs the scans on an empty buffer of their own.
async fn run_policy(
    database: &Database,
    version: &Arc<TableVersion>,
    capacity: ByteSize,
    policy: ScanPolicy,
    scans: &[StaggeredScan],
) -> Result<Outcome, BenchError> {
    let options = BufferOptions { capacity, policy, loads_in_flight_max: database.config().loads_in_flight_max };
    let buffer = BufferManager::new(Arc::clone(database.device()), Arc::new(SystemClock::new()), options);
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (number, scan) in scans.iter().cloned().enumerate() {
        let (buffer, version) = (Arc::clone(&buffer), Arc::clone(version));
        running.spawn(async move {
            tokio::time::sleep(scan.start_after).await;
            let start = Instant::now();
            run_scan(&buffer, version, scan).await?;
            Ok::<_, BenchError>((number, start.elapsed().as_secs_f64()))
        });
    }
    let mut latency_s = vec![0.0; scans.len()];
    while let Some(finished) = running.join_next().await {
        let (number, latency) = finished.map_err(|e| BenchError::other("a scan's task", e))??;
        latency_s[number] = latency;
    }
    Ok(Outcome { latency_s, elapsed_s: start.elapsed().as_secs_f64(), stats: buffer.stats() })
}

/// One scan: registers, takes every chunk, computes on it, and checks that it got exactly its range.
async fn run_scan(
    buffer: &Arc<BufferManager>,
    version: Arc<TableVersion>,
    scan: StaggeredScan,
) -> Result<(), BenchError> {
    let request = ScanRequest {
        version: Arc::clone(&version),
        chunks: scan.chunks.clone(),
        columns: scan.columns.clone(),
        in_order: false,
    };
    let handle = buffer.register(request);
    let mut given = Vec::with_capacity(scan.chunks.len());
    while let Some(chunk) = handle.next().await {
        let chunk = chunk.map_err(|e| BenchError::other("scanning lineitem", e))?;
        let rows = version.chunks[chunk.chunk].row_count as usize;
        if chunk.segments.len() != scan.columns.len() || chunk.segments.iter().any(|s| s.row_count() != rows) {
            return Err(wrong(format!("chunk {} came without its {rows} rows in every column", chunk.chunk)));
        }
        compute(scan.work_per_chunk);
        given.push(chunk.chunk);
        drop(chunk);
        // Without a yield, a scan with all its chunks in the buffer would keep its core.
        tokio::task::yield_now().await;
    }
    given.sort_unstable();
    if given != scan.chunks {
        return Err(wrong(format!("chunks {:?} wanted, {given:?} given", scan.chunks)));
    }
    Ok(())
}

fn wrong(difference: String) -> BenchError {
    BenchError::WrongAnswer { query: "a scan of lineitem".to_owned(), difference }
}

/// A chain of multiplications: work that cannot be shared, skipped or vectorised.
fn compute(work: u64) {
    let mut value = 1_u64;
    for i in 0..work {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i);
    }
}

/// The amount of [`compute`] that a core does per second: the best of three trials of a few milliseconds.
fn work_per_second() -> f64 {
    const WORK: u64 = 5_000_000;
    let rates = (0..3).map(|_| {
        let start = Instant::now();
        compute(WORK);
        WORK as f64 / start.elapsed().as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}
