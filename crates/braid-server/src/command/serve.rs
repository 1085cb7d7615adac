//! `braid serve`: serves a database to PostgreSQL clients until a signal stops it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use braid_engine::Database;
use braid_server::{RunningServer, ServerOptions, TlsFiles, serve};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::open::{DataOption, DatabaseOptions};
use super::password::PasswordOptions;
use super::process_limits;
use super::server_address::PublishedAddress;
use super::{CommandError, allocator};

/// The beginning of the first line on standard output. The address follows it.
pub(crate) const LISTENING: &str = "braid listens on ";

/// Options of `braid serve`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataOption,
    /// Address to listen on; port 0 selects a free port. Addresses other than loopback need a password.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5432")]
    listen: SocketAddr,
    #[command(flatten)]
    password: PasswordOptions,
    /// The server's certificate chain (PEM); lets clients connect with TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Maximum number of connected clients; further clients are refused with SQLSTATE 53300.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_connections: usize,
    /// Seconds that running statements have to finish after the first SIGINT or SIGTERM.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    grace: f64,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Runs the command.
pub(crate) async fn run(mut options: Options) -> Result<(), CommandError> {
    let server_options = ServerOptions {
        listen: options.listen,
        password: options.password.read()?,
        tls: options.tls_cert.zip(options.tls_key).map(|(certificate, key)| TlsFiles { certificate, key }),
        connections_max: options.max_connections,
        grace: Duration::try_from_secs_f64(options.grace).map_err(|_| {
            CommandError::Usage(format!(
                "--grace {} is out of range: it must be a number of seconds, 0 or more",
                options.grace
            ))
        })?,
        give_back_memory: Some(allocator::give_back),
    };
    let limit = process_limits::raise_descriptors();
    options.database.connections_max = Some(options.max_connections);
    let database = options.database.open(&options.data.data).await?;
    if let Some(limit) = limit {
        let data_files = database.store().snapshot().data_file_count();
        process_limits::warn_if_descriptors_are_short(limit, options.max_connections, data_files);
    }
    let shutdown = CancellationToken::new();
    let server = serve(Arc::clone(&database), server_options, shutdown.clone()).await?;
    let published = PublishedAddress::publish(&options.data.data, server.address)?;
    let (ip, port) = (server.address.ip(), server.address.port());
    println!("{LISTENING}{} (data directory {})", server.address, options.data.data.display());
    println!("connect with: psql -h {ip} -p {port} -U braid {}", options.database.name());
    stop_on_signals(server, shutdown, &database).await?;
    drop(published);
    Ok(())
}

/// Waits for a signal, then for the server's end. A second signal cancels running statements; a third one ends the wait.
async fn stop_on_signals(
    server: RunningServer,
    shutdown: CancellationToken,
    database: &Database,
) -> Result<(), CommandError> {
    let install = |kind| signal(kind).map_err(CommandError::io("cannot watch for signals"));
    let (mut interrupts, mut terminations) = (install(SignalKind::interrupt())?, install(SignalKind::terminate())?);
    let mut next_signal = async || {
        tokio::select! {
            _ = interrupts.recv() => (),
            _ = terminations.recv() => (),
        }
    };
    next_signal().await;
    tracing::info!("stopping: no new statements; a second signal cancels the running ones");
    shutdown.cancel();
    let force = server.force();
    let stop = async {
        server.stopped().await;
        database.close().await;
    };
    tokio::pin!(stop);
    tokio::select! {
        () = &mut stop => return Ok(()),
        () = next_signal() => tracing::info!("stopping now"),
    }
    force.cancel();
    tokio::select! {
        () = &mut stop => Ok(()),
        () = next_signal() => std::process::exit(1),
    }
}
