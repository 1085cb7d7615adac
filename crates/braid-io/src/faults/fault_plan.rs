//! Which operation fails, and how: the pure part of [`FaultDevice`](super::FaultDevice).
//!
//! A plan sees every operation in the order in which the device starts them, so a single-threaded test meets its
//! faults at the same operation in every run.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::IoOperation;

/// How long reads take in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLatency {
    /// By tokio's timer; needs its runtime.
    Real(Duration),
    /// Until [`FaultDevice::advance_us`](super::FaultDevice::advance_us) has moved the virtual time on.
    Virtual {
        /// By this many microseconds.
        us: u64,
    },
}

/// A fault to inject. Operations are counted from the injection, the next one is number 1. A `file` of `None` means
/// any; otherwise a path that [ends with](Path::ends_with) it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The `nth` operation fails with the system's error `errno`, such as 28 (`ENOSPC`) or 5 (`EIO`), and does nothing.
    Fail {
        /// Operations of this kind are counted; `None` counts all kinds but [`IoOperation::Remove`], since it is not
        /// determined when the last reference to a removed file goes.
        operation: Option<IoOperation>,
        /// Only operations on this file or directory are counted.
        file: Option<PathBuf>,
        /// Which one, from 1.
        nth: u64,
        /// The system's number.
        errno: i32,
    },
    /// Writes fail for want of space once this many bytes more have been written; so do all writes after the first that
    /// fails, however small.
    DiskFull {
        /// Bytes that there still is space for.
        after_bytes: u64,
    },
    /// Reads that touch `offsets` of `file` fail with the system's error `errno`.
    FailReads {
        /// The file; `None` for any file.
        file: Option<PathBuf>,
        /// Which bytes.
        offsets: Range<u64>,
        /// The system's number.
        errno: i32,
    },
    /// Reads return the byte at `offset` of `file` with bit `bit` (0 is the lowest) flipped; the disk stays as it is.
    FlipBit {
        /// The file; `None` for any file.
        file: Option<PathBuf>,
        /// Which byte.
        offset: u64,
        /// Which bit, from 0 to 7.
        bit: u8,
    },
    /// Reads take longer.
    DelayReads {
        /// The file; `None` for any file.
        file: Option<PathBuf>,
        /// By how much.
        latency: ReadLatency,
    },
    /// After `after_operations` more operations of any kind but [`IoOperation::Remove`], everything is refused, removals
    /// included, as if the process had been killed. What was written before stays.
    Crash {
        /// Operations that still succeed.
        after_operations: u64,
    },
}

/// How many operations were started, failed ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Files opened or created.
    pub opens: u64,
    /// Reads.
    pub reads: u64,
    /// Writes, of small files as well.
    pub writes: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Files renamed.
    pub renames: u64,
    /// Files removed.
    pub removals: u64,
    /// Syncs of directories.
    pub directory_syncs: u64,
}

impl OperationCounts {
    /// All but the removals: those that [`Fault::Crash`] counts.
    pub fn total(&self) -> u64 {
        self.opens + self.reads + self.writes + self.syncs + self.renames + self.directory_syncs
    }
}

/// An operation about to start.
pub(super) struct Attempt<'a> {
    pub(super) operation: IoOperation,
    pub(super) path: &'a Path,
    pub(super) range: Range<u64>,
}

/// What the plan makes of an operation.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    /// For a read: delays, in the order of their injection.
    pub(super) delays: Vec<ReadLatency>,
    /// For a read: bytes of the buffer to change, with the mask to change them by.
    pub(super) flips: Vec<(usize, u8)>,
}

#[derive(Debug, Default)]
pub(super) enum Outcome {
    #[default]
    Proceed,
    Fail(io::Error),
    Crashed,
}

/// The armed faults and the counts.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    /// With the matching operations, or bytes, seen since the injection.
    faults: Vec<(Fault, u64)>,
    counts: OperationCounts,
    crashed: bool,
}

impl FaultPlan {
    pub(super) fn inject(&mut self, fault: Fault) {
        match &fault {
            Fault::Fail { nth, .. } => assert!(*nth > 0, "the next is number 1"),
            Fault::FlipBit { bit, .. } => assert!(*bit < 8, "a byte has no bit {bit}"),
            _ => {}
        }
        self.faults.push((fault, 0));
    }

    /// Disarms every fault and ends a crash; counts go on.
    pub(super) fn clear(&mut self) {
        self.faults.clear();
        self.crashed = false;
    }

    pub(super) fn counts(&self) -> OperationCounts {
        self.counts
    }

    /// Refuses everything from now on.
    pub(super) fn crash(&mut self) {
        self.crashed = true;
    }

    pub(super) fn is_crashed(&self) -> bool {
        self.crashed
    }

    /// Judges the operation that is about to start.
    pub(super) fn judge(&mut self, attempt: &Attempt<'_>) -> Verdict {
        self.count(attempt.operation);
        let mut verdict = Verdict::default();
        for (fault, seen) in &mut self.faults {
            let failure = match fault {
                Fault::Crash { after_operations } => {
                    *seen += u64::from(attempt.operation != IoOperation::Remove);
                    self.crashed |= *seen > *after_operations;
                    None
                }
                _ => errno_of(fault, seen, attempt).map(io::Error::from_raw_os_error),
            };
            if let (Some(error), Outcome::Proceed) = (failure, &verdict.outcome) {
                verdict.outcome = Outcome::Fail(error);
            }
            if attempt.operation == IoOperation::Read {
                change_read(fault, attempt, &mut verdict);
            }
        }
        if self.crashed {
            verdict.outcome = Outcome::Crashed;
        }
        verdict
    }

    fn count(&mut self, operation: IoOperation) {
        let count = match operation {
            IoOperation::Open => &mut self.counts.opens,
            IoOperation::Read => &mut self.counts.reads,
            IoOperation::Write => &mut self.counts.writes,
            IoOperation::Sync => &mut self.counts.syncs,
            IoOperation::Rename => &mut self.counts.renames,
            IoOperation::Remove => &mut self.counts.removals,
            IoOperation::SyncDirectory => &mut self.counts.directory_syncs,
            // Directories are not created through a device.
            IoOperation::CreateDirectory => return,
        };
        *count += 1;
    }
}

/// With which error the fault fails the operation, if it does.
fn errno_of(fault: &Fault, seen: &mut u64, attempt: &Attempt<'_>) -> Option<i32> {
    match fault {
        Fault::Fail { operation, file, nth, errno } => {
            let is_kind = operation.map_or(attempt.operation != IoOperation::Remove, |kind| attempt.operation == kind);
            let is_counted = is_kind && is_file(file, attempt.path);
            *seen += u64::from(is_counted);
            (is_counted && *seen == *nth).then_some(*errno)
        }
        Fault::DiskFull { after_bytes } if attempt.operation == IoOperation::Write => {
            *seen = seen.saturating_add(attempt.range.end - attempt.range.start);
            let is_full = *seen > *after_bytes;
            if is_full {
                *seen = u64::MAX;
            }
            is_full.then_some(libc::ENOSPC)
        }
        Fault::FailReads { file, offsets, errno } => {
            let touches = attempt.range.start < offsets.end && offsets.start < attempt.range.end;
            (attempt.operation == IoOperation::Read && touches && is_file(file, attempt.path)).then_some(*errno)
        }
        Fault::DiskFull { .. } | Fault::FlipBit { .. } | Fault::DelayReads { .. } | Fault::Crash { .. } => None,
    }
}

/// Adds what the fault does to a read that succeeds.
fn change_read(fault: &Fault, attempt: &Attempt<'_>, verdict: &mut Verdict) {
    match fault {
        Fault::FlipBit { file, offset, bit } if attempt.range.contains(offset) && is_file(file, attempt.path) => {
            let index = usize::try_from(offset - attempt.range.start).expect("within a range that fits in memory");
            verdict.flips.push((index, 1 << bit));
        }
        Fault::DelayReads { file, latency } if is_file(file, attempt.path) => verdict.delays.push(*latency),
        _ => {}
    }
}

fn is_file(wanted: &Option<PathBuf>, path: &Path) -> bool {
    wanted.as_deref().is_none_or(|wanted| path.ends_with(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(plan: &mut FaultPlan, operation: IoOperation, range: Range<u64>) -> Verdict {
        plan.judge(&Attempt { operation, path: Path::new("/data/t1.seg"), range })
    }

    /// Ten operations of one kind: which of them fail, as `-`, crash, as `!`, or proceed, as `.`.
    fn run(fault: Fault, operation: IoOperation) -> String {
        let mut plan = FaultPlan::default();
        plan.inject(fault);
        let mark = |_| match judge(&mut plan, operation, 0..4096).outcome {
            Outcome::Proceed => '.',
            Outcome::Fail(_) => '-',
            Outcome::Crashed => '!',
        };
        (0..10).map(mark).collect()
    }

    #[test]
    fn faults_meet_the_operations_they_are_for() {
        use IoOperation::{Open, Read, Remove, Rename, Sync, SyncDirectory, Write};
        let any = |offsets| Fault::FailReads { file: None, offsets, errno: libc::EIO };
        let fail = |operation, file: Option<&str>, nth| Fault::Fail {
            operation,
            file: file.map(PathBuf::from),
            nth,
            errno: libc::EIO,
        };
        let of = |file: &str| Fault::FailReads { file: Some(file.into()), offsets: 0..1, errno: libc::EIO };
        for (fault, operation, expected) in [
            (fail(Some(Write), None, 3), Write, "..-......."),
            (fail(Some(Write), None, 3), Read, ".........."),
            (fail(Some(Sync), None, 1), Sync, "-........."),
            (fail(Some(Sync), None, 1), SyncDirectory, ".........."),
            (fail(Some(Rename), Some("t1.seg"), 2), Rename, ".-........"),
            (fail(Some(Rename), Some("t2.seg"), 2), Rename, ".........."),
            (fail(None, None, 4), Open, "...-......"),
            (fail(None, None, 4), Remove, ".........."),
            (fail(Some(Remove), None, 4), Remove, "...-......"),
            (Fault::DiskFull { after_bytes: 4 * 4096 }, Write, "....------"),
            (Fault::DiskFull { after_bytes: 4 * 4096 - 1 }, Write, "...-------"),
            (Fault::DiskFull { after_bytes: 0 }, Rename, ".........."),
            (Fault::DiskFull { after_bytes: 0 }, Sync, ".........."),
            (any(4095..5000), Read, "----------"),
            (any(4096..5000), Read, ".........."),
            (any(0..1), Write, ".........."),
            (of("t1.seg"), Read, "----------"),
            (of("1.seg"), Read, ".........."),
            (Fault::Crash { after_operations: 2 }, Open, "..!!!!!!!!"),
            (Fault::Crash { after_operations: 0 }, Read, "!!!!!!!!!!"),
            (Fault::Crash { after_operations: 0 }, Remove, ".........."),
        ] {
            assert_eq!(run(fault.clone(), operation), expected, "{fault:?} on {operation:?}");
        }
    }

    #[test]
    fn a_flipped_bit_is_placed_within_the_read() {
        let mut plan = FaultPlan::default();
        plan.inject(Fault::FlipBit { file: None, offset: 5000, bit: 7 });
        assert_eq!(judge(&mut plan, IoOperation::Read, 4096..8192).flips, [(904, 0x80)]);
        assert_eq!(judge(&mut plan, IoOperation::Read, 0..4096).flips, []);
    }

    #[test]
    fn clearing_ends_faults_and_a_crash_and_keeps_the_counts() {
        let mut plan = FaultPlan::default();
        plan.inject(Fault::Crash { after_operations: 0 });
        assert!(matches!(judge(&mut plan, IoOperation::Open, 0..0).outcome, Outcome::Crashed));
        assert!(plan.is_crashed());
        plan.clear();
        assert!(matches!(judge(&mut plan, IoOperation::Sync, 0..0).outcome, Outcome::Proceed));
        let counts = OperationCounts { opens: 1, syncs: 1, ..OperationCounts::default() };
        assert_eq!((plan.counts(), plan.counts().total()), (counts, 2));
    }
}
