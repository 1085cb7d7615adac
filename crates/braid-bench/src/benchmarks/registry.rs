//! The registry: every benchmark by name, with the options they share.

use std::path::PathBuf;

use braid_base::ByteSize;
use futures::future::BoxFuture;

use crate::benchmarks::{
    cold_scan, differential, footprint, join_order, load, one_pass, query_sets, scan_sharing, spilling, tpch_check,
    tpch_memory, tpch_mix, tpch_power,
};
use crate::report::{Figure, Report, machine};
use crate::workloads::tpch;
use crate::{BenchError, Servers};

/// Options of all benchmarks; `clap` derives the command line from them.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchOptions {
    /// Where the benchmark keeps its data, one directory per scale; reused when present.
    #[arg(long, value_name = "DIR", default_value = "braid-data")]
    pub data: PathBuf,
    /// TPC-H scale factor.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Numbers of clients, one measurement for each.
    #[arg(long, value_delimiter = ',', default_value = "1,12,64")]
    pub clients: Vec<usize>,
    /// Seconds for each measurement of throughput.
    #[arg(long, default_value_t = 15.0)]
    pub seconds: f64,
    /// Buffer capacity [default: what the benchmark is about].
    #[arg(long)]
    pub buffer: Option<ByteSize>,
    /// Idle connections that `footprint` opens.
    #[arg(long, default_value_t = 1000)]
    pub connections: usize,
    /// Rows of the result that `footprint` streams.
    #[arg(long, default_value_t = 100_000_000)]
    pub rows: u64,
    /// Random queries that `differential` asks.
    #[arg(long, default_value_t = 20_000)]
    pub cases: u64,
    /// What determines them.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The engine that `tpch-power`, `tpch-memory` and `differential` run beside Braid [default: all that are there; one of
    /// them].
    #[arg(long)]
    pub peer: Option<Peer>,
    /// Draw the growth that `one-pass` measures to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write the figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// An engine beside Braid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// DataFusion's operators on Braid's own tables and scans.
    Operators,
    /// DataFusion on Parquet files.
    Datafusion,
    /// DuckDB: tables in memory, for `tpch-memory` and `spilling` in a file.
    Duckdb,
}

/// What a benchmark gives back.
pub type BenchResult = Result<Vec<Figure>, BenchError>;

/// One benchmark.
pub struct Benchmark {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence: what it compares.
    pub about: &'static str,
    /// Runs it, printing tables as it goes; returns its figures.
    pub run: for<'a> fn(&'a BenchOptions, &'a Servers) -> BoxFuture<'a, BenchResult>,
}

/// All benchmarks.
pub fn benchmarks() -> &'static [Benchmark] {
    &[
        Benchmark {
            name: "load",
            about: "loads TPC-H from Parquet: time and size on disk, beside DuckDB where it is installed",
            run: |options, _| Box::pin(load::run(options)),
        },
        Benchmark {
            name: "cold-scan",
            about: "scans one column with an empty buffer: bytes read, beside the disk's sequential bandwidth",
            run: |options, _| Box::pin(cold_scan::run(options)),
        },
        Benchmark {
            name: "scan-sharing",
            about: "staggered scans of different speed and range under the four scan policies: bytes read, latency",
            run: |options, _| Box::pin(scan_sharing::run(options)),
        },
        Benchmark {
            name: "one-pass",
            about: "up to 1024 queries of each type of QPipe's mix in one pass, beside each alone on Braid and on DuckDB",
            run: |options, _| Box::pin(one_pass::run(options)),
        },
        Benchmark {
            name: "query-sets",
            about: "what rows carry for up to 4096 queries: lists, bitmaps, interned sets",
            run: |options, _| Box::pin(query_sets::run(options)),
        },
        Benchmark {
            name: "tpch-power",
            about: "the 22 TPC-H queries, hot, beside DuckDB and DataFusion: geometric means",
            run: |options, _| Box::pin(tpch_power::run(options)),
        },
        Benchmark {
            name: "spilling",
            about: "a sort, groups and a join with a half and a tenth of the memory that they need: time, bytes written",
            run: |options, _| Box::pin(spilling::run(options)),
        },
        Benchmark {
            name: "join-order",
            about: "the 22 TPC-H queries in other join orders than the chosen one: what a wrong order costs",
            run: |options, _| Box::pin(join_order::run(options)),
        },
        Benchmark {
            name: "tpch-mix",
            about: "QPipe's eight-query mix over the wire, closed loop: queries per second and latencies",
            run: |options, servers| Box::pin(tpch_mix::run(options, servers)),
        },
        Benchmark {
            name: "footprint",
            about: "a server's time to start, and its memory: at rest, after queries, with idle connections, streaming",
            run: |options, servers| Box::pin(footprint::run(options, servers)),
        },
        Benchmark {
            name: "tpch-memory",
            about: "the most memory each of the 22 TPC-H queries takes, in a process of its own, beside DuckDB",
            run: |options, servers| Box::pin(tpch_memory::run(options, servers)),
        },
        Benchmark {
            name: "tpch-check",
            about: "the 22 TPC-H queries against the answers that DuckDB and PostgreSQL agree on",
            run: |options, _| Box::pin(tpch_check::run(options)),
        },
        Benchmark {
            name: "differential",
            about: "random queries on random tables, beside DuckDB or DataFusion's operators: answers that differ",
            run: |options, _| Box::pin(differential::run(options)),
        },
    ]
}

/// Runs the benchmark called `name`, prints its figures and writes the JSON form where asked.
pub async fn run_benchmark(name: &str, options: &BenchOptions, servers: &Servers) -> Result<Report, BenchError> {
    let benchmark = benchmarks().iter().find(|b| b.name == name).ok_or_else(|| BenchError::UnknownBenchmark {
        name: name.to_owned(),
        known: benchmarks().iter().map(|b| b.name).collect::<Vec<_>>().join(", "),
    })?;
    check_options(options)?;
    let figures = (benchmark.run)(options, servers).await?;
    let report = Report { bench: benchmark.name, machine: machine(), figures };
    println!("{}: {}\n{}\n{}", report.bench, benchmark.about, report.machine, report.table());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(report)
}

fn check_options(options: &BenchOptions) -> Result<(), BenchError> {
    let bad = |option, value, reason: &str| Err(BenchError::BadOption { option, value, reason: reason.to_owned() });
    tpch::check_scale(options.scale)?;
    if !(options.seconds > 0.0 && options.seconds <= 3600.0) {
        return bad("seconds", options.seconds.to_string(), "a measurement lasts more than 0 and at most 3600 s");
    }
    // A server takes 2000 connections unless it is told otherwise.
    if options.connections == 0 || options.connections > 1900 {
        return bad("connections", options.connections.to_string(), "between 1 and 1900");
    }
    if options.rows == 0 || options.rows > 1_000_000_000_000 {
        return bad("rows", options.rows.to_string(), "between 1 and 10^12");
    }
    if options.cases == 0 || options.cases > 1_000_000_000 {
        return bad("cases", options.cases.to_string(), "between 1 and 10^9");
    }
    match options.clients.iter().find(|&&c| c == 0 || c > 10_000) {
        Some(clients) => bad("clients", clients.to_string(), "between 1 and 10000"),
        None => Ok(()),
    }
}
