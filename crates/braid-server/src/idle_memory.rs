//! Returns freed memory to the operating system when no statement runs.
//!
//! The allocator keeps freed memory for the next statement. This helps under load, but an idle server would keep
//! gigabytes after one large query. When no statement runs and the process has grown since the last time, this task
//! asks the allocator to return its free memory. While statements run, it does nothing.

use std::sync::Weak;
use std::time::Duration;

use braid_engine::Database;
use braid_io::{ResidentMemory, give_back_free_memory};
use tokio_util::sync::CancellationToken;

/// Interval at which the task checks whether the server is idle.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Least growth that makes the task call the allocator. A few plans leave less than this.
const GROWTH_BYTES_MIN: u64 = 16 << 20;

/// Runs until `stop` is cancelled or the database is dropped. It does not keep the database alive.
pub(crate) async fn give_back_when_idle(database: Weak<Database>, stop: CancellationToken) {
    let mut kept_bytes = 0;
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = looks.tick() => {}
        }
        let Some(running) = database.upgrade().map(|database| database.running_statement_count()) else { return };
        if running > 0 || resident_bytes() < kept_bytes + GROWTH_BYTES_MIN {
            continue;
        }
        // Returning gigabytes takes milliseconds, so that it must not run on a thread that serves connections.
        let given_back = tokio::task::spawn_blocking(give_back_free_memory).await;
        kept_bytes = resident_bytes();
        tracing::debug!(resident_bytes = kept_bytes, given_back = given_back.unwrap_or(false), "idle");
    }
}

/// Resident memory of this process, or 0 if the system does not report it.
fn resident_bytes() -> u64 {
    ResidentMemory::of(std::process::id()).map_or(0, |memory| memory.now_bytes)
}
