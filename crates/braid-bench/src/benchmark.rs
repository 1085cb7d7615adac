//! The registry: every benchmark by name, with the options they share.

use std::path::PathBuf;

use braid_base::ByteSize;
use futures::future::BoxFuture;

use crate::{BenchError, ServerStarter};

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
    /// Write the figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// One benchmark.
pub struct Benchmark {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence: what it compares.
    pub about: &'static str,
    /// Runs it, printing tables as it goes; returns its figures.
    pub run: for<'a> fn(&'a BenchOptions, &'a ServerStarter) -> BoxFuture<'a, Result<(), BenchError>>,
}

/// All benchmarks.
pub fn benchmarks() -> &'static [Benchmark] {
    &[]
}

/// Runs the benchmark called `name`, prints its figures and writes the JSON form where asked.
pub async fn run_benchmark(name: &str, options: &BenchOptions, starter: &ServerStarter) -> Result<(), BenchError> {
    let known = benchmarks().iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let benchmark = benchmarks()
        .iter()
        .find(|b| b.name == name)
        .ok_or_else(|| BenchError::UnknownBenchmark { name: name.to_owned(), known })?;
    (benchmark.run)(options, starter).await
}
