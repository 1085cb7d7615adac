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
use super::server_address::{PublishedAddress, reachable};
use super::user::USER_DEFAULT;
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
    /// Refuse clients without TLS, also those of this machine.
    #[arg(long, requires = "tls_cert")]
    require_tls: bool,
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
        requires_tls: options.require_tls,
        connections_max: options.max_connections,
        grace: Duration::try_from_secs_f64(options.grace).map_err(|_| {
            CommandError::Usage(format!(
                "--grace {} is out of range: it must be a number of seconds, 0 or more",
                options.grace
            ))
        })?,
        give_back_memory: Some(allocator::give_back),
    };
    let has_password = server_options.password.is_some();
    let limit = process_limits::raise_descriptors();
    options.database.connections_max = Some(options.max_connections);
    let database = options.database.open(&options.data.data).await?;
    if let Some(limit) = limit {
        let data_files = database.store().snapshot().data_file_count();
        process_limits::warn_if_descriptors_are_short(limit, options.max_connections, data_files);
    }
    let shutdown = CancellationToken::new();
    let server = serve(Arc::clone(&database), server_options, shutdown.clone()).await?;
    let published = PublishedAddress::publish(&options.data.data, server.address, database.superuser_name())?;
    println!("{LISTENING}{} (data directory {})", server.address, options.data.data.display());
    let user = database.example_user(USER_DEFAULT, has_password);
    println!("{}", how_to_connect(server.address, user.as_deref(), (options.database.name(), options.require_tls)));
    stop_on_signals(server, shutdown, &database).await?;
    drop(published);
    Ok(())
}

/// A line that says how a client connects, for a user that can.
fn how_to_connect(address: SocketAddr, user: Option<&str>, (database, requires_tls): (&str, bool)) -> String {
    let Some(user) = user else {
        return "no role can connect; stop the server, and change roles with: braid sql".to_owned();
    };
    let address = reachable(address);
    let (ip, port, user) = (address.ip(), address.port(), shell_word(user));
    match requires_tls {
        false => format!("connect with: psql -h {ip} -p {port} -U {user} {}", shell_word(database)),
        true => {
            let database = shell_word(&format!("dbname='{}' sslmode=require", database.replace('\'', "\\'")));
            format!("connect with: psql -h {ip} -p {port} -U {user} {database}")
        }
    }
}

/// A text as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_one_that_a_shell_runs() {
        let any = "0.0.0.0:77".parse().unwrap();
        let line = |user, database, requires_tls| how_to_connect(any, user, (database, requires_tls));
        assert_eq!(line(Some("alice"), "braid", false), "connect with: psql -h 127.0.0.1 -p 77 -U alice braid");
        let odd = line(Some("o'neil x"), "b", true);
        assert_eq!(odd, r"connect with: psql -h 127.0.0.1 -p 77 -U 'o'\''neil x' 'dbname='\''b'\'' sslmode=require'");
        assert!(line(None, "braid", false).contains("braid sql"));
    }
}
