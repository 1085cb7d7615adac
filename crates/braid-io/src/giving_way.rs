//! Threads that give way: they compute for long, and give their core to any thread that wakes up.
//!
//! The kernel's scheduler shares the cores fairly. A thread that wakes up waits for the rest of the running one's slice, about 3 ms,
//! and longer if it has computed much lately, at each of its steps. Two attributes of `sched_setattr(2)`, which need no privilege,
//! change this:
//!
//! - *A long slice* (`sched_runtime`, since Linux 6.12, for ordinary threads up to 100 ms). A thread with a shorter one interrupts it at
//!   once. It changes no thread's share of the cores.
//! - *A nice level* ([`NICE_LEVELS`] above that of the process). What the others computed lately weighs less. If all cores are
//!   busy with ordinary threads, this thread gets a quarter of a core rather than half of one.

use std::io;
use std::time::Duration;

use crate::syscalls;

/// The longest slice that the kernel grants.
const LONGEST_SLICE: Duration = Duration::from_millis(100);

/// Nice levels that a thread rises by. Each is a fifth less of a contended core.
const NICE_LEVELS: i32 = 5;

/// The highest nice level.
const NICE_MAX: i32 = 19;

/// Has the calling thread give way, for the rest of its life. Does nothing to a thread that is not scheduled fairly.
///
/// # Errors
/// Where the process may not make the system calls.
pub fn give_way() -> io::Result<()> {
    let mut attributes = syscalls::scheduling()?;
    // To a deadline policy, the same field is a budget.
    if matches!(i32::try_from(attributes.sched_policy), Ok(libc::SCHED_OTHER | libc::SCHED_BATCH)) {
        attributes.sched_runtime = u64::try_from(LONGEST_SLICE.as_nanos()).unwrap_or(u64::MAX);
        attributes.sched_nice = (attributes.sched_nice + NICE_LEVELS).min(NICE_MAX);
        syscalls::set_scheduling(&attributes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs on a thread of its own, because the test's thread runs other tests afterwards.
    #[test]
    fn a_thread_gives_way_under_its_own_policy() {
        std::thread::spawn(|| {
            let before = syscalls::scheduling().unwrap();
            give_way().unwrap();
            let after = syscalls::scheduling().unwrap();
            assert_eq!(after.sched_policy, before.sched_policy);
            assert_eq!(after.sched_nice, (before.sched_nice + 5).min(19));
            // A kernel before 6.12 says nothing of slices.
            let expected = if before.sched_runtime == 0 { 0 } else { 100_000_000 };
            assert_eq!(after.sched_runtime, expected, "ns, {} before", before.sched_runtime);
        })
        .join()
        .unwrap();
    }
}
