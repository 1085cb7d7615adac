//! Resident memory of a process, as `/proc/PID/status` tells it, and giving back what the allocator keeps of it.

use std::io;

use crate::syscalls;

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

/// Asks the allocator to give memory that nothing uses back to the operating system; whether there was any. May take
/// milliseconds for gigabytes. Allocators other than glibc's have their own ways, and are left alone.
pub fn give_back_free_memory() -> bool {
    syscalls::trim_allocator()
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

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn what_is_freed_in_small_pieces_goes_back() {
        // Pieces below the size that the allocator maps on its own, each second one kept for a while.
        let mut pieces: Vec<Option<Vec<u8>>> = (0..20_000).map(|_| Some(vec![1; 8 << 10])).collect();
        let resident_bytes = || ResidentMemory::of(std::process::id()).unwrap().now_bytes;
        let full = resident_bytes();
        pieces.iter_mut().step_by(2).for_each(|piece| *piece = None);
        give_back_free_memory();
        let freed = full.saturating_sub(resident_bytes());
        // 10 000 pieces of 8 KiB. Every whole page within them can be returned.
        assert!(freed > 20 << 20, "{freed} bytes of 82 MB");
        assert!(pieces.iter().flatten().all(|piece| piece[0] == 1));
    }
}
