//! `tpch-memory`: the peak memory of each of the 22 queries on Braid and DuckDB, each query in a new process.
//!
//! Braid's process is a server with a buffer of [`BUFFER`]. DuckDB's process is Python with DuckDB, on a file of its own format
//! with its default memory limit. Both have one thread per core, and no part of the tables in memory at the start. The memory
//! before the query is reported separately: libraries, catalogs, an interpreter. The figure is the largest growth of resident
//! memory until the query's last row, as the median of [`RUNS`] processes, or fewer if they take long.
//!
//! Both engines cache the data that they read: Braid up to its buffer, DuckDB up to its memory limit, which its operators share.
//! The cached data is reported, too: for DuckDB the amount that it reports after the query; for Braid an upper bound, the bytes
//! read from the disk or the size of the buffer.
//!
//! The benchmark checks the stored answers if the scale has any, and otherwise DuckDB's number of rows.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_io::ResidentMemory;
use serde::Deserialize;
use serde_json::json;

use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{database_directory, duckdb_file, open_tpch};
use crate::drivers::client::{Client, WireClient};
use crate::drivers::disk_reads::read_bytes;
use crate::drivers::duckdb::run_duckdb;
use crate::drivers::lent_servers::{Login, ProcessStarter};
use crate::drivers::stored_answers::{STORED_SCALES, check_query};
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::tpch::query;
use crate::{BenchError, BenchOptions, Servers};

/// Braid's default buffer.
const BUFFER: ByteSize = ByteSize::mib(256);

/// Number of processes per query and engine.
const RUNS: usize = 3;

/// The error of the kernel's count of resident memory, and the least compared growth: 1 MB.
const RESOLUTION_MB: f64 = 1.0;

/// A query without tables, which loads into memory what every query needs.
const FIRST_QUERY: &str = "select 1";

/// DuckDB's side.
const DUCKDB_SCRIPT: &str = include_str!("../../../../bench/peers/duckdb_memory.py");

/// A query's memory in one process, or the medians of several.
#[derive(Clone, Copy)]
struct Memory {
    before_mb: f64,
    peak_mb: f64,
    /// The part of the growth that is cached table data.
    cached_mb: f64,
}

impl Memory {
    fn growth_mb(self) -> f64 {
        (self.peak_mb - self.before_mb).max(RESOLUTION_MB)
    }

    /// The approximate memory of the operators.
    fn growth_beside_cache_mb(self) -> f64 {
        (self.growth_mb() - self.cached_mb).max(RESOLUTION_MB)
    }

    fn medians(all: &[Self]) -> Self {
        let of = |part: fn(&Self) -> f64| median(all.iter().map(part).collect());
        Self { before_mb: of(|m| m.before_mb), peak_mb: of(|m| m.peak_mb), cached_mb: of(|m| m.cached_mb) }
    }
}

/// The output of DuckDB's script.
#[derive(Deserialize)]
struct DuckDb {
    version: String,
    memory_limit: String,
    before_bytes: u64,
    peak_bytes: u64,
    cached_bytes: u64,
    rows: usize,
}

/// The settings of the measurement.
struct Setting<'a> {
    scale: f64,
    directory: PathBuf,
    buffer: ByteSize,
    starter: &'a ProcessStarter,
    /// The time after which a query is not repeated.
    limit: Duration,
    /// DuckDB; `None` if it is not installed or not selected.
    duckdb: Option<PathBuf>,
}

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    // Creates missing data first, because the server needs exclusive access to the directory.
    let database = open_tpch(options, None).await?;
    database.close().await;
    drop(database);
    let duckdb = match options.peer {
        None | Some(Peer::Duckdb) => duckdb_file(options).await?,
        Some(_) => None,
    };
    let setting = Setting {
        scale: options.scale,
        directory: database_directory(&options.data, options.scale),
        buffer: options.buffer.unwrap_or(BUFFER),
        starter: &*servers.own_process,
        limit: Duration::from_secs_f64(options.seconds),
        duckdb,
    };
    setting.compare().await
}

impl Setting<'_> {
    async fn compare(&self) -> BenchResult {
        let header = [
            "query",
            "Braid before MB",
            "growth MB",
            "buffer ≤ MB",
            "DuckDB before MB",
            "growth MB",
            "cached MB",
            "ratio",
        ];
        let mut table = plain_table(&header);
        let (mut figures, mut pairs, mut limits) = (Vec::new(), Vec::new(), None);
        for at in 1..=22 {
            let name = format!("q{at:02}");
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let start = Instant::now();
            for run in 0..RUNS {
                if run > 0 && start.elapsed() > self.limit {
                    break;
                }
                let found = self.duckdb(at).await?;
                ours.push(self.braid(at, found.as_ref().map(|found| found.rows)).await?);
                theirs.extend(found.as_ref().map(memory_of));
                limits = found.or(limits);
            }
            let ours = Memory::medians(&ours);
            let mut row = vec![left(&name)];
            row.extend([ours.before_mb, ours.growth_mb(), ours.cached_mb].map(|mb| right(number(mb))));
            figures.push(Figure::new(format!("{name}: growth, Braid"), ours.growth_mb(), "MB"));
            if !theirs.is_empty() {
                let theirs = Memory::medians(&theirs);
                let ratio = ours.growth_mb() / theirs.growth_mb();
                row.extend([theirs.before_mb, theirs.growth_mb(), theirs.cached_mb, ratio].map(|n| right(number(n))));
                let figure = Figure::new(format!("{name}: growth, DuckDB"), theirs.growth_mb(), "MB");
                let ratio = Figure::new(format!("{name}: Braid / DuckDB"), ratio, "").with_goal(Goal::AtMost(1.0));
                figures.extend([figure, ratio]);
                pairs.push((ours, theirs));
            }
            table.add_row(row);
        }
        self.print_limits(limits.as_ref());
        println!("{table}");
        figures.push(Figure::new("Braid's buffer", mb(self.buffer.0), "MB"));
        figures.extend(summary(&pairs));
        Ok(figures)
    }

    fn print_limits(&self, duckdb: Option<&DuckDb>) {
        println!("resident memory with nothing cached at start; medians of {RUNS} processes, {} threads", threads());
        println!("Braid's buffer holds at most {}.", self.buffer.rounded());
        match duckdb {
            Some(found) => {
                println!("DuckDB {} holds at most {} of cached and other data.", found.version, found.memory_limit)
            }
            None => println!(
                "DuckDB is not compared: it is not installed (bench/peers/run.sh installs it), or --peer selects no DuckDB."
            ),
        }
    }

    /// Runs the query on a new server, and checks its answer.
    async fn braid(&self, at: usize, expected_rows: Option<usize>) -> Result<Memory, BenchError> {
        let directory: &Path = &self.directory;
        let server = (self.starter)(directory, self.buffer, Login::Password).await;
        let server = server.map_err(|e| BenchError::other("starting the server's process", e))?;
        let mut client = WireClient::log_in(&server).await?;
        client.run(FIRST_QUERY).await?;
        let pid = server.child.id();
        let before = resident(pid)?.now_bytes;
        if STORED_SCALES.contains(&self.scale) {
            check_query(&mut client, at, self.scale).await?;
        } else {
            let answer = client.answer(&query(at, self.scale)).await?;
            let checked = expected_rows.map_or(Ok(()), |rows| answer.check_row_count(rows));
            checked.map_err(|difference| BenchError::WrongAnswer {
                query: format!("q{at:02} (expected is DuckDB's)"),
                difference: difference.to_string(),
            })?;
        }
        let cached = read_bytes(pid)?.map_or(self.buffer.0, |read| read.min(self.buffer.0));
        Ok(Memory { before_mb: mb(before), peak_mb: mb(resident(pid)?.peak_bytes), cached_mb: mb(cached) })
    }

    async fn duckdb(&self, at: usize) -> Result<Option<DuckDb>, BenchError> {
        let Some(file) = &self.duckdb else { return Ok(None) };
        let asked = json!({ "sql": query(at, self.scale), "threads": threads() });
        run_duckdb(DUCKDB_SCRIPT, &[file], asked.to_string().into_bytes()).await
    }
}

fn memory_of(found: &DuckDb) -> Memory {
    Memory { before_mb: mb(found.before_bytes), peak_mb: mb(found.peak_bytes), cached_mb: mb(found.cached_bytes) }
}

fn summary(pairs: &[(Memory, Memory)]) -> Vec<Figure> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let ratios = |part: fn(Memory) -> f64| -> Vec<f64> {
        pairs.iter().map(|(ours, theirs)| part(*ours) / part(*theirs)).collect()
    };
    let growth = ratios(Memory::growth_mb);
    let worst = growth.iter().copied().fold(0.0, f64::max);
    let beside_cache = geometric_mean(&ratios(Memory::growth_beside_cache_mb));
    let whole = geometric_mean(&ratios(|memory| memory.peak_mb));
    vec![
        Figure::new("Braid / DuckDB, geometric mean", geometric_mean(&growth), "").with_goal(Goal::AtMost(1.0)),
        Figure::new("Braid / DuckDB, worst query", worst, "").with_goal(Goal::AtMost(1.0)),
        Figure::new("Braid / DuckDB without cached data, geometric mean", beside_cache, ""),
        Figure::new("Braid / DuckDB, whole processes, geometric mean", whole, ""),
    ]
}

/// One thread per core, which is Braid's default, too.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn resident(pid: u32) -> Result<ResidentMemory, BenchError> {
    ResidentMemory::of(pid).map_err(|e| BenchError::other(format!("reading the memory of process {pid}"), e))
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
