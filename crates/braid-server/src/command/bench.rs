//! `braid bench`: the benchmarks of `braid-bench`, by name.

use braid_bench::{BenchOptions, benchmarks, run_benchmark};

use super::CommandError;
use super::measured_servers::servers;

/// Options of `braid bench`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Which benchmark; without a name, all are listed.
    name: Option<String>,
    #[command(flatten)]
    options: BenchOptions,
}

/// Runs the command. A goal that is not met is a figure, not a failure.
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
