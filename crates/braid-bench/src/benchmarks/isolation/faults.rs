//! The end of the server by SIGKILL, and what runs beside the transactions.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::History;
use super::client::connect;
use super::lists::Storage;
use crate::BenchError;
use crate::drivers::lent_servers::ServerProcess;
use crate::error::BoxError;
use crate::workloads::random_sql::draw::Draw;

/// Kills in a history, after equal numbers of transactions.
const KILLS: u64 = 4;

/// Time between two looks at how many transactions are left.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Time between two statements of maintenance, in milliseconds.
const MAINTENANCE_AFTER_MS: (i64, i64) = (10, 100);

/// Kills the server several times, and starts another one on its directory. Returns how often.
pub(super) async fn kill<F: Future<Output = Result<ServerProcess, BoxError>>>(
    history: &History,
    server: &mut ServerProcess,
    restart: impl Fn() -> F,
    transactions: u64,
) -> Result<u64, BenchError> {
    for killed in 1..=KILLS {
        let left = transactions * (KILLS + 1 - killed) / (KILLS + 1);
        while history.left.load(Ordering::Relaxed) > left {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let ended = server.child.kill().and_then(|()| server.child.wait());
        ended.map_err(|e| BenchError::other("killing the server", e))?;
        *server = restart().await.map_err(not_started)?;
        *history.address.lock() = server.address;
    }
    Ok(KILLS)
}

/// The error of a server that did not start.
pub(super) fn not_started(error: BoxError) -> BenchError {
    BenchError::other("starting the server's process", error)
}

/// Vacuums tables and makes checkpoints until no transaction is left.
pub(super) async fn maintain(history: Arc<History>, seed: u64) -> Result<(), BenchError> {
    let mut draw = Draw::new(seed);
    let mut session = None;
    while history.left.load(Ordering::Relaxed) > 0 {
        let pause = draw.between(MAINTENANCE_AFTER_MS.0, MAINTENANCE_AFTER_MS.1) as u64;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let connected = match session.take() {
            Some(session) => session,
            None => connect(&history, "").await?,
        };
        let statement = match draw.below(3) {
            0 => "checkpoint".to_owned(),
            1 => format!("vacuum {}", draw.choose(&Storage::ALL).table()),
            _ => "vacuum".to_owned(),
        };
        match connected.run(&statement).await {
            Ok(()) => session = Some(connected),
            Err(error) if error.sqlstate().is_some() => return Err(error),
            // The server was killed.
            Err(_) => {}
        }
    }
    Ok(())
}
