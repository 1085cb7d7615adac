//! `tpch-memory`: the most memory that each of the 22 queries takes, beside DuckDB, each query in a process of its own.
//!
//! Braid's process is a server with a buffer of [`BUFFER`], DuckDB's is Python with DuckDB in it, on a file of its own format
//! with its own memory limit. Both have a thread for each core, and nothing of the tables in memory before. What a process
//! holds by then is told apart: libraries, catalogs, an interpreter. What counts is by how much resident memory grows at most
//! until the query's last row is there; the median of [`RUNS`] processes, fewer when they take long.
//!
//! Both cache what they read, as long as their limits allow: Braid up to its buffer, DuckDB up to its memory limit, which it
//! shares with its operators. That share is told too: what DuckDB says it caches after the query; of Braid the bytes read from
//! the disk, or the whole buffer where they are more, which is the most it can be.
//!
//! The answers that are checked: the stored ones where the scale has some, otherwise DuckDB's number of rows.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_io::ResidentMemory;
use serde::Deserialize;
use serde_json::json;

use crate::benchmarks::data_directory::{database_directory, duckdb_file, open_tpch};
use crate::benchmarks::registry::{BenchResult, Peer};
use crate::drivers::client::{Client, WireClient};
use crate::drivers::duckdb::run_duckdb;
use crate::drivers::lent_servers::ProcessStarter;
use crate::drivers::stored_answers::{STORED_SCALES, check_query};
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::tpch::query;
use crate::{BenchError, BenchOptions, Servers};

/// Braid's buffer, unless another one is asked for.
const BUFFER: ByteSize = ByteSize::mib(256);

/// Processes for each query and engine.
const RUNS: usize = 3;

/// What the kernel's count of resident memory can be wrong by, and less than which is not compared: 1 MB.
const RESOLUTION_MB: f64 = 1.0;

/// Asks nothing of any table, but has what every query needs brought into memory.
const FIRST_QUERY: &str = "select 1";

/// DuckDB's side.
const DUCKDB_SCRIPT: &str = include_str!("../../../../bench/peers/duckdb_memory.py");

/// A query's memory in one process, or the medians of several.
#[derive(Clone, Copy)]
struct Memory {
    before_mb: f64,
    peak_mb: f64,
    /// Of the growth, what is cached of tables.
    cached_mb: f64,
}

impl Memory {
    fn growth_mb(self) -> f64 {
        (self.peak_mb - self.before_mb).max(RESOLUTION_MB)
    }

    /// What the operators take, more or less.
    fn growth_beside_cache_mb(self) -> f64 {
        (self.growth_mb() - self.cached_mb).max(RESOLUTION_MB)
    }

    fn medians(all: &[Self]) -> Self {
        let of = |part: fn(&Self) -> f64| median(all.iter().map(part).collect());
        Self { before_mb: of(|m| m.before_mb), peak_mb: of(|m| m.peak_mb), cached_mb: of(|m| m.cached_mb) }
    }
}

/// What DuckDB's script prints.
#[derive(Deserialize)]
struct DuckDb {
    version: String,
    memory_limit: String,
    before_bytes: u64,
    peak_bytes: u64,
    cached_bytes: u64,
    rows: usize,
}

/// What both engines are asked.
struct Setting<'a> {
    scale: f64,
    directory: PathBuf,
    buffer: ByteSize,
    starter: &'a ProcessStarter,
    /// After this time a query is not run again.
    limit: Duration,
    /// `None` where DuckDB is not installed, or not wanted.
    duckdb: Option<PathBuf>,
}

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    // Makes the data where it is missing; the server needs the directory for itself.
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

    /// The query on a server of its own; its answer is checked.
    async fn braid(&self, at: usize, expected_rows: Option<usize>) -> Result<Memory, BenchError> {
        let directory: &Path = &self.directory;
        let server = (self.starter)(directory, self.buffer).await;
        let server = server.map_err(|e| BenchError::other("starting the server's process", e))?;
        let mut client = WireClient::log_in(server.address, &server.password).await?;
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

/// A thread for each core, which is Braid's default as well.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn resident(pid: u32) -> Result<ResidentMemory, BenchError> {
    ResidentMemory::of(pid).map_err(|e| BenchError::other(format!("reading the memory of process {pid}"), e))
}

/// What a process has had read from disks, past the operating system's cache; `None` where that is not told.
fn read_bytes(pid: u32) -> Result<Option<u64>, BenchError> {
    let path = PathBuf::from(format!("/proc/{pid}/io"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        Err(source) => Err(BenchError::File { path, source }),
    }
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
