//! Huge pages for the memory of this process.
//!
//! The kernel clears a page when it is first written. Of a huge page it clears 2 MiB for the first byte, of which an operator with many
//! small tables and buffers writes a few kilobytes: rankings over many partitions spent half of their time in the kernel. An allocator that
//! asks for huge pages for all of its memory does so for them, too.

use std::io;
use std::process::Command;

use crate::syscalls;

/// Gives this process small pages from now on, whatever its allocator asks for (`PR_SET_THP_DISABLE`).
///
/// # Errors
/// Where the kernel does not know the request.
pub fn forbid_huge_pages() -> io::Result<()> {
    syscalls::set_huge_pages_forbidden(true)
}

/// Lets a process that is about to be started have huge pages. It would inherit that they are forbidden.
pub fn allow_huge_pages(command: &mut Command) {
    syscalls::before_start(command, || syscalls::set_huge_pages_forbidden(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `AnonHugePages` of this process, in kilobytes.
    fn huge_kilobytes() -> u64 {
        let memory = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let line = memory.lines().find_map(|line| line.strip_prefix("AnonHugePages:")).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn memory_that_is_written_afterwards_has_small_pages() {
        forbid_huge_pages().unwrap();
        let before = huge_kilobytes();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(huge_kilobytes() <= before, "{} kB of {} B", huge_kilobytes(), memory.len());
    }

    #[test]
    fn a_child_inherits_it_unless_it_is_allowed() {
        forbid_huge_pages().unwrap();
        // Whether THP_enabled is 1 in its status.
        let child = |is_allowed: bool| {
            let mut command = Command::new("grep");
            command.args(["THP_enabled", "/proc/self/status"]);
            if is_allowed {
                allow_huge_pages(&mut command);
            }
            String::from_utf8(command.output().unwrap().stdout).unwrap().trim_end().ends_with('1')
        };
        assert_eq!([false, true].map(child), [false, true]);
    }
}
