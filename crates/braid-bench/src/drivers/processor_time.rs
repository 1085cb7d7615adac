//! Processor time of a process, from `/proc/PID/stat`.
//!
//! The time includes that of threads that have ended. Its unit is a hundredth of a second, so that a measurement must take seconds.

use std::io;
use std::time::Duration;

/// The unit of the times in `/proc/PID/stat`. `USER_HZ` is 100 on all processors that Braid supports.
const TICK: Duration = Duration::from_millis(10);

/// User and system time of all threads of a process, since it started.
pub(crate) fn processor_time(pid: u32) -> io::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    ticks(&stat).map(|ticks| TICK * ticks).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has no utime")))
}

/// The sum of `utime` and `stime`, fields 14 and 15. Field 2, the name in parentheses, may contain blanks.
fn ticks(stat: &str) -> Option<u32> {
    let (_, from_field_3) = stat.rsplit_once(')')?;
    let mut times = from_field_3.split_ascii_whitespace().skip(11);
    let mut next = || times.next()?.parse::<u32>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "77 (a ) b) S 1 77 77 0 -1 4194560 5 6 7 8 1200 34 56 78 20 0 9 0 100";
        assert_eq!(ticks(stat), Some(1234));
        assert_eq!(ticks("77 (short) S 1"), None);
        assert!(processor_time(std::process::id()).unwrap() < Duration::from_secs(1 << 20));
    }
}
