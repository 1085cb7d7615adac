//! `braid bench`: the benchmarks of `braid-bench`, by name.

use braid_bench::{BenchOptions, benchmarks, run_benchmark};

use super::CommandError;
use super::measured_servers::servers;

/// Options of `braid bench`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// The benchmark to run; without a name, all benchmarks are listed.
    name: Option<String>,
    #[command(flatten)]
    options: BenchOptions,
}

/// Runs the command. A missed goal is reported as a figure, not as a failure.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    match options.name {
        Some(name) => {
            run_benchmark(&name, &options.options, &servers()).await?;
        }
        None => {
            for benchmark in benchmarks() {
                println!("{:<14} {}", benchmark.name, benchmark.about);
            }
        }
    }
    Ok(())
}
