//! Memory that statements have freed goes back to the operating system once nobody asks anything.
//!
//! The allocator keeps what is freed in small pieces for the next statement. That is right under load and wrong for a
//! server that idles with gigabytes after one large query. So: when no statement is under way, and the process has grown
//! since the last time, the allocator is asked to give back what it does not need. While statements run nothing is done.

use std::sync::Weak;
use std::time::Duration;

use braid_engine::Database;
use braid_io::{ResidentMemory, give_back_free_memory};
use tokio_util::sync::CancellationToken;

/// How often the server looks whether it idles.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Growth that is worth asking the allocator for: what a few plans leave behind stays.
const GROWTH_BYTES_MIN: u64 = 16 << 20;

/// Watches until `stop` is cancelled or the database is gone, which it does not hold up.
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
        // It may take milliseconds for gigabytes: not on a thread that serves connections.
        let given_back = tokio::task::spawn_blocking(give_back_free_memory).await;
        kept_bytes = resident_bytes();
        tracing::debug!(resident_bytes = kept_bytes, given_back = given_back.unwrap_or(false), "idle");
    }
}

/// Resident memory of this process; 0, which is no growth, where the system does not tell.
fn resident_bytes() -> u64 {
    ResidentMemory::of(std::process::id()).map_or(0, |memory| memory.now_bytes)
}
