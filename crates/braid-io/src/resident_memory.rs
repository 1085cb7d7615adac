//! Resident memory of a process, as `/proc/PID/status` tells it, and its peak within a time.

use std::io;

/// Most by which the peak may exceed the memory held after it was forgotten: what a process frees meanwhile, and the pages that the kernel
/// counts late.
const FORGOTTEN_BYTES_MAX: u64 = 16 << 20;

/// Bytes of a process's memory that are in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentMemory {
    /// Now (`VmRSS`).
    pub now_bytes: u64,
    /// At most, since the process started or [`Self::forget_peak`] (`VmHWM`).
    pub peak_bytes: u64,
}

impl ResidentMemory {
    /// That of the process with the id `pid`.
    pub fn of(pid: u32) -> io::Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        parse(&status).ok_or_else(|| io::Error::other(format!("/proc/{pid}/status has no VmRSS or VmHWM")))
    }

    /// Has the peak of a process count from now, and returns what it holds.
    ///
    /// # Errors
    /// Where this process may not do it, or the kernel does nothing of the kind.
    pub fn forget_peak(pid: u32) -> io::Result<Self> {
        // 5: "reset the peak resident set size", proc_pid_clear_refs(5).
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?;
        let memory = Self::of(pid)?;
        if memory.peak_bytes > memory.now_bytes + FORGOTTEN_BYTES_MAX {
            return Err(io::Error::other(format!("/proc/{pid}/clear_refs leaves VmHWM as it was")));
        }
        Ok(memory)
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_peak_is_forgotten() {
        let own = std::process::id();
        // Larger than what the allocator keeps.
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        let before = ResidentMemory::of(own).unwrap();
        match ResidentMemory::forget_peak(own) {
            Ok(after) => assert!(after.peak_bytes + (32 << 20) < before.peak_bytes, "{before:?} {after:?}"),
            // A container may forbid it.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
    }
}
