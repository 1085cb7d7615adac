//! Resident memory of a process, as `/proc/PID/status` tells it.

use std::io;

/// Bytes of a process's memory that are in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentMemory {
    /// Now (`VmRSS`).
    pub now_bytes: u64,
    /// At most, since the process started (`VmHWM`).
    pub peak_bytes: u64,
}

impl ResidentMemory {
    /// That of the process with the id `pid`.
    pub fn of(pid: u32) -> io::Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        parse(&status).ok_or_else(|| io::Error::other(format!("/proc/{pid}/status has no VmRSS or VmHWM")))
    }
}

fn parse(status: &str) -> Option<ResidentMemory> {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some(ResidentMemory { now_bytes: bytes("VmRSS:")?, peak_bytes: bytes("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lines_are_found() {
        let status = "Name:\tbraid\nVmPeak:\t  999 kB\nVmHWM:\t    300 kB\nVmRSS:\t    200 kB\n";
        assert_eq!(parse(status), Some(ResidentMemory { now_bytes: 200 << 10, peak_bytes: 300 << 10 }));
        assert_eq!(parse("Name:\tkthreadd\n"), None);
        let own = ResidentMemory::of(std::process::id()).unwrap();
        assert!(own.now_bytes > 1 << 20 && own.now_bytes <= own.peak_bytes + (1 << 20), "{own:?}");
    }
}
