//! Gives freed memory back to the operating system while no statement runs.
//!
//! An allocator keeps freed memory for the next statement. This helps under load, but an idle server would keep what its largest
//! statements used. When no statement has run for a second and the process has grown since the last time, this task calls the
//! function that the program gave ([`ServerOptions::give_back_memory`](crate::ServerOptions)) on each thread that runs statements:
//! an allocator with a heap for each thread collects only the caller's. Threads for planning and for blocking calls end after ten
//! seconds without work, and leave their heaps behind: so it is called again after these.
//!
//! While statements run, the task does nothing but look whether they do.

use std::sync::Weak;
use std::time::Duration;

use braid_engine::Database;
use braid_io::ResidentMemory;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::each_worker::on_each_worker;

/// Interval at which the task looks whether a statement runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Looks in a row that find no statement, until the server is idle: a second. Pauses between a client's statements are shorter.
const IDLE_LOOKS: u32 = 4;

/// Looks from one time to the second one, for threads that ended since: 12 s, where they end after 10 s without work.
const AGAIN_LOOKS: u32 = 48;

/// Least growth that is worth it. A few plans leave less than this.
const GROWTH_BYTES_MIN: u64 = 16 << 20;

/// Runs until `stop` is cancelled or the database is dropped. It does not keep the database alive.
pub(crate) async fn give_back_when_idle(database: Weak<Database>, give_back: fn(), stop: CancellationToken) {
    let mut schedule = Schedule::default();
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = looks.tick() => {}
        }
        let Some(database) = database.upgrade() else { return };
        if !schedule.is_due(database.running_statement_count(), resident_bytes) {
            continue;
        }
        let heavy = database.heavy_runtime();
        drop(database);
        give_back_on_all_threads(heavy.as_ref(), give_back).await;
        schedule.kept_bytes = resident_bytes();
        tracing::debug!(resident_bytes = schedule.kept_bytes, "gave memory back");
    }
}

/// Gigabytes take milliseconds. A thread that serves no connection gives back most of them; then the others have little left, which it
/// takes last: two threads that do it at the same time may leave something.
async fn give_back_on_all_threads(heavy: Option<&Handle>, give_back: fn()) {
    let elsewhere = || async {
        // A panic is logged by the runtime's hook, and stops nothing else.
        let _ = tokio::task::spawn_blocking(give_back).await;
    };
    elsewhere().await;
    on_each_worker(&Handle::current(), give_back).await;
    if let Some(heavy) = heavy {
        on_each_worker(heavy, give_back).await;
    }
    elsewhere().await;
}

/// When it is time.
#[derive(Debug, Default)]
struct Schedule {
    /// Looks in a row that found no statement.
    idle_looks: u32,
    /// Looks until the second time; 0 if there is none to come.
    again_looks: u32,
    /// Resident memory after the last time.
    kept_bytes: u64,
}

impl Schedule {
    /// Whether memory is to be given back now, at a look that finds this many statements. The memory is asked for where the server is idle.
    fn is_due(&mut self, running_statement_count: usize, resident_bytes: impl FnOnce() -> u64) -> bool {
        let is_last = self.again_looks == 1;
        self.again_looks = if is_last { 1 } else { self.again_looks.saturating_sub(1) };
        self.idle_looks = if running_statement_count == 0 { (self.idle_looks + 1).min(IDLE_LOOKS) } else { 0 };
        if self.idle_looks < IDLE_LOOKS {
            return false;
        }
        let has_grown = resident_bytes() >= self.kept_bytes + GROWTH_BYTES_MIN;
        if has_grown {
            self.again_looks = AGAIN_LOOKS;
        } else if is_last {
            self.again_looks = 0;
        }
        has_grown || is_last
    }
}

/// Resident memory of this process, or 0 if the system does not report it.
fn resident_bytes() -> u64 {
    ResidentMemory::of(std::process::id()).map_or(0, |memory| memory.now_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Looks of a server that holds `mib`, until it is due; at most 200.
    fn looks_until_due(schedule: &mut Schedule, mib: u64) -> Option<u32> {
        let due = (1..=200).find(|_| schedule.is_due(0, || mib * MIB))?;
        Some(due)
    }

    #[test]
    fn an_idle_server_gives_back_what_it_grew_by_and_once_more_when_threads_have_ended() {
        let mut schedule = Schedule { kept_bytes: 100 * MIB, ..Schedule::default() };
        assert_eq!(looks_until_due(&mut schedule, 115), None, "it has hardly grown");
        assert!(schedule.is_due(0, || 116 * MIB));
        schedule.kept_bytes = 105 * MIB;
        assert_eq!(looks_until_due(&mut schedule, 105), Some(AGAIN_LOOKS));
        schedule.kept_bytes = 101 * MIB;
        assert_eq!(looks_until_due(&mut schedule, 116), None);
    }

    #[test]
    fn nothing_happens_while_statements_run() {
        let mut schedule = Schedule::default();
        for look in 0..1000 {
            // One statement at a time, with pauses that are short.
            assert!(!schedule.is_due(usize::from(look % 4 == 0), || 500 * MIB));
        }
        // The look before found none either: the last statement was three looks ago.
        assert_eq!(looks_until_due(&mut schedule, 500), Some(1));
        schedule.kept_bytes = 100 * MIB;
        // The second time waits for a pause as well.
        (0..100).for_each(|_| assert!(!schedule.is_due(1, || 110 * MIB)));
        assert_eq!(looks_until_due(&mut schedule, 110), Some(IDLE_LOOKS));
        assert_eq!(looks_until_due(&mut schedule, 110), None);
    }
}
