//! Memory that statements have freed goes back to the operating system once nobody asks anything.
//!
//! The allocator keeps what is freed in small pieces for the next statement. That is right under load and wrong for a
//! server that idles with gigabytes after one large query. So: when no statement is under way, and the process has grown
//! since the last time, the allocator is asked to give back what it does not need. While statements run nothing is done.

use std::sync::Weak;
use std::time::Duration;

use braid_engine::Database;
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
        let given_back = tokio::task::spawn_blocking(allocator::give_back).await;
        kept_bytes = resident_bytes();
        tracing::debug!(resident_bytes = kept_bytes, given_back = given_back.unwrap_or(false), "idle");
    }
}

/// Resident memory of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_ascii_whitespace().next());
    kilobytes.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The C library's allocator.
mod allocator {
    /// Gives free memory back to the operating system; whether there was any.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub(super) fn give_back() -> bool {
        // SAFETY: it takes no pointers, locks the allocator's arenas itself and touches free memory only.
        unsafe { libc::malloc_trim(0) == 1 }
    }

    /// Other allocators have their own ways.
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    pub(super) fn give_back() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn what_is_freed_in_small_pieces_goes_back() {
        // Pieces below the size that the allocator maps on its own, each second one kept for a while.
        let mut pieces: Vec<Option<Vec<u8>>> = (0..20_000).map(|_| Some(vec![1; 8 << 10])).collect();
        let full = resident_bytes();
        pieces.iter_mut().step_by(2).for_each(|piece| *piece = None);
        allocator::give_back();
        let freed = full.saturating_sub(resident_bytes());
        // 10 000 pieces of 8 KiB, of which each whole page within can go.
        assert!(freed > 20 << 20, "{freed} bytes of 82 MB");
        assert!(pieces.iter().flatten().all(|piece| piece[0] == 1));
    }
}
