//! The limit of open file descriptors of this process: one for each data file and each connection.
//!
//! Systems start processes with a low soft limit (1024, for the sake of `select`) below a high hard limit. A process that uses
//! no `select` may raise the one to the other, and should.

use std::io;

use crate::syscalls;

/// The limits on open file descriptors (`RLIMIT_NOFILE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimit {
    /// What the kernel enforces.
    pub soft: u64,
    /// What an unprivileged process may raise the soft one to.
    pub hard: u64,
}

/// The limits as they are.
pub fn descriptor_limit() -> io::Result<DescriptorLimit> {
    let (soft, hard) = syscalls::descriptor_limits()?;
    Ok(DescriptorLimit { soft, hard })
}

/// Raises the soft limit to the hard one; returns the limits that then hold.
pub fn raise_descriptor_limit() -> io::Result<DescriptorLimit> {
    let limit = descriptor_limit()?;
    if limit.soft < limit.hard {
        syscalls::set_descriptor_limits(limit.hard, limit.hard)?;
    }
    descriptor_limit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let before = descriptor_limit().unwrap();
        let raised = raise_descriptor_limit().unwrap();
        assert_eq!(raised, DescriptorLimit { soft: before.hard, hard: before.hard });
        assert_eq!(raise_descriptor_limit().unwrap(), raised, "once more changes nothing");
    }
}
