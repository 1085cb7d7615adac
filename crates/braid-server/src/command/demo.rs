//! `braid demo`.

use braid_bench::benchmarks::demo::{self, DemoOptions};

use super::CommandError;
use super::measured_servers::server_starter;

/// Options of `braid demo`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    options: DemoOptions,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    demo::run(options.options, &*server_starter()).await?;
    Ok(())
}
