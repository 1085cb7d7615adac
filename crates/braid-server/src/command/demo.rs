//! `braid demo`, and the server that demo and benchmarks measure.

use std::sync::Arc;
use std::time::Duration;

use braid_bench::demo::DemoOptions;
use braid_bench::{RunningServer, ServerStarter, demo};
use braid_engine::Database;
use braid_server::{ServerOptions, serve};
use tokio_util::sync::CancellationToken;

use super::CommandError;

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

/// Starts servers on free ports of the loopback interface.
pub(crate) fn server_starter() -> Box<ServerStarter> {
    Box::new(|database: Arc<Database>| {
        Box::pin(async move {
            // Whoever measures has its answers before it stops the server.
            let grace = Duration::from_secs(1);
            let options = ServerOptions { listen: ([127, 0, 0, 1], 0).into(), grace, ..ServerOptions::default() };
            let shutdown = CancellationToken::new();
            let server = serve(database, options, shutdown.clone()).await?;
            let address = server.address;
            let stop = async move {
                shutdown.cancel();
                server.stopped().await;
            };
            Ok(RunningServer { address, stop: Box::pin(stop) })
        })
    })
}
