//! The servers that the demo and the benchmarks measure, in this process or in a new one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use braid_base::ByteSize;
use braid_bench::error::BoxError;
use braid_bench::{Login, ProcessStarter, RunningServer, ServerProcess, ServerStarter, Servers};
use braid_engine::Database;
use braid_server::{ServerOptions, serve};
use tokio_util::sync::CancellationToken;

use super::allocator;
use super::password::VARIABLE;
use super::serve::LISTENING;

/// The password of [`Login::Password`]. Only the benchmark uses the server.
const PASSWORD: &str = "measured";

/// Both kinds.
pub(crate) fn servers() -> Servers {
    Servers { in_process: server_starter(), own_process: process_starter() }
}

/// Starts servers on free ports of the loopback interface.
pub(crate) fn server_starter() -> Box<ServerStarter> {
    Box::new(|database: Arc<Database>| {
        Box::pin(async move {
            // The caller stops the server after it has all answers.
            let grace = Duration::from_secs(1);
            let give_back_memory = Some(allocator::give_back as fn());
            let listen = ([127, 0, 0, 1], 0).into();
            let options = ServerOptions { listen, grace, give_back_memory, ..ServerOptions::default() };
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

/// Starts this very program's `serve` on free ports.
fn process_starter() -> Box<ProcessStarter> {
    Box::new(|data: &Path, buffer: ByteSize, login: Login| {
        let data = data.to_owned();
        Box::pin(async move { tokio::task::spawn_blocking(move || start_process(&data, buffer, login)).await? })
    })
}

fn start_process(data: &Path, buffer: ByteSize, login: Login) -> Result<ServerProcess, BoxError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0", "--buffer", &buffer.to_string()]);
    let password = (login == Login::Password).then(|| PASSWORD.to_owned());
    match &password {
        Some(password) => command.env(VARIABLE, password),
        None => command.env_remove(VARIABLE),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if std::env::var_os("RUST_LOG").is_none() {
        command.env("RUST_LOG", "warn");
    }
    let mut child = command.spawn()?;
    match read_address(&mut child) {
        Ok(address) => Ok(ServerProcess { address, password, child }),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// The address in the first line of the server's standard output, which stays open for further lines.
fn read_address(child: &mut Child) -> Result<std::net::SocketAddr, BoxError> {
    let mut stdout = BufReader::new(child.stdout.as_mut().expect("it was asked for"));
    let mut line = String::new();
    stdout.read_line(&mut line)?;
    let address = line.strip_prefix(LISTENING).and_then(|rest| rest.split_ascii_whitespace().next());
    Ok(address.ok_or("the server did not start; its messages are above")?.parse()?)
}
