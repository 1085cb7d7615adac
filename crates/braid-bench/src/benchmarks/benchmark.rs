//! A benchmark as the registry lists it, and the options that all benchmarks share.

use std::path::PathBuf;

use braid_base::ByteSize;
use futures::future::BoxFuture;

use crate::report::Figure;
use crate::{BenchError, Servers};

/// Options of all benchmarks; `clap` derives the command line from them.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchOptions {
    /// Directory of the benchmarks' data, with one subdirectory per scale; existing data is reused.
    #[arg(long, value_name = "DIR", default_value = "braid-data")]
    pub data: PathBuf,
    /// TPC-H or TPC-DS scale factor.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Client counts; each is one measurement. The sizes of the batches of `heavy-light`.
    #[arg(long, value_delimiter = ',', default_value = "1,12,64,256,1024")]
    pub clients: Vec<usize>,
    /// Seconds per measurement.
    #[arg(long, default_value_t = 15.0)]
    pub seconds: f64,
    /// Rounds of the benchmarks with many clients, and runs of each query of `tpch-power` and `tpcds-power`; the medians count.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Buffer capacity, such as 512MB [default: chosen by the benchmark].
    #[arg(long)]
    pub buffer: Option<ByteSize>,
    /// Number of connections: the idle ones of `footprint`, and the pool of `overload`, which has at least 64.
    #[arg(long, default_value_t = 1000)]
    pub connections: usize,
    /// Numbers of heavy clients beside the light queries of `heavy-light`; none is always measured, too.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64")]
    pub heavy_clients: Vec<usize>,
    /// Response limit of `overload` in milliseconds [default: four times the 95th percentile of one client with sharing off].
    #[arg(long, value_name = "MS")]
    pub response_limit: Option<u64>,
    /// Number of rows that `footprint` streams.
    #[arg(long, default_value_t = 100_000_000)]
    pub rows: u64,
    /// Number of random queries that `differential` and `histories` run, and of transactions of `isolation`.
    #[arg(long, visible_alias = "queries", default_value_t = 20_000)]
    pub cases: u64,
    /// Seed of the random queries.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Every how many answers `histories` and `isolation` make one wrong, and must then end with an error.
    #[arg(long, value_name = "COUNT", hide = true)]
    pub planted_every: Option<u64>,
    /// What Braid is compared with [default: DuckDB if it is installed].
    #[arg(long)]
    pub peer: Option<Peer>,
    /// SVG file for the plot of `one-pass`, `tpch-mix`, `panels`, `star` or `unlike`.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// JSON file for the figures.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What Braid is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// Braid itself on other plans, for `differential`: one worker, joins in random order, no templates.
    OtherPlans,
    /// DuckDB, with tables in memory; for `tpch-memory` and `spilling` in a file.
    Duckdb,
}

/// The figures of a benchmark, or its error.
pub type BenchResult = Result<Vec<Figure>, BenchError>;

/// One benchmark.
pub struct Benchmark {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence on what it measures.
    pub about: &'static str,
    /// Runs it, printing tables as it goes; returns its figures.
    pub run: for<'a> fn(&'a BenchOptions, &'a Servers) -> BoxFuture<'a, BenchResult>,
}
