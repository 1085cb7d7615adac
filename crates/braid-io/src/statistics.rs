//! Counters by reason and the queue-depth gauge.
//!
//! A transfer is counted when it has succeeded, before its future resolves: after awaiting a read, a caller sees it counted.
//! The counters are relaxed atomics, so a snapshot taken under load is not one instant of all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::OwnedSemaphorePermit;

use crate::io_reason::IoReason;

/// What was transferred for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReasonStats {
    /// Reads that succeeded.
    pub reads: u64,
    /// Writes that succeeded.
    pub writes: u64,
    /// Bytes of these reads.
    pub bytes_read: u64,
    /// Bytes of these writes.
    pub bytes_written: u64,
}

/// A device's counters and gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoStats {
    /// Reads that succeeded, for all reasons.
    pub reads: u64,
    /// Writes that succeeded, for all reasons.
    pub writes: u64,
    /// Bytes of these reads.
    pub bytes_read: u64,
    /// Bytes of these writes.
    pub bytes_written: u64,
    /// Syncs that succeeded.
    pub syncs: u64,
    /// Requests of any kind that failed.
    pub failures: u64,
    /// Requests that the device holds now.
    pub queue_depth_now: usize,
    /// The most requests it has held at a time.
    pub queue_depth_max: usize,
    /// The most requests it will hold at a time.
    pub queue_depth_limit: usize,
    /// In the order of [`IoReason::ALL`].
    pub by_reason: [ReasonStats; IoReason::ALL.len()],
}

impl IoStats {
    /// What was transferred for `reason`.
    pub fn of(&self, reason: IoReason) -> ReasonStats {
        self.by_reason[reason.index()]
    }
}

#[derive(Default)]
struct ReasonCounters {
    reads: AtomicU64,
    writes: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

/// The live side of [`IoStats`].
pub(crate) struct Counters {
    by_reason: [ReasonCounters; IoReason::ALL.len()],
    syncs: AtomicU64,
    failures: AtomicU64,
    queue_depth_now: AtomicUsize,
    queue_depth_max: AtomicUsize,
    queue_depth_limit: usize,
}

impl Counters {
    pub(crate) fn new(queue_depth_limit: usize) -> Self {
        Self {
            by_reason: Default::default(),
            syncs: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            queue_depth_now: AtomicUsize::new(0),
            queue_depth_max: AtomicUsize::new(0),
            queue_depth_limit,
        }
    }

    pub(crate) fn count_read(&self, reason: IoReason, bytes: usize) {
        let counters = &self.by_reason[reason.index()];
        counters.reads.fetch_add(1, Ordering::Relaxed);
        counters.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_write(&self, reason: IoReason, bytes: usize) {
        let counters = &self.by_reason[reason.index()];
        counters.writes.fetch_add(1, Ordering::Relaxed);
        counters.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> IoStats {
        let mut stats = IoStats {
            syncs: self.syncs.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            queue_depth_now: self.queue_depth_now.load(Ordering::Relaxed),
            queue_depth_max: self.queue_depth_max.load(Ordering::Relaxed),
            queue_depth_limit: self.queue_depth_limit,
            ..IoStats::default()
        };
        for (of_reason, counters) in stats.by_reason.iter_mut().zip(&self.by_reason) {
            *of_reason = ReasonStats {
                reads: counters.reads.load(Ordering::Relaxed),
                writes: counters.writes.load(Ordering::Relaxed),
                bytes_read: counters.bytes_read.load(Ordering::Relaxed),
                bytes_written: counters.bytes_written.load(Ordering::Relaxed),
            };
            stats.reads += of_reason.reads;
            stats.writes += of_reason.writes;
            stats.bytes_read += of_reason.bytes_read;
            stats.bytes_written += of_reason.bytes_written;
        }
        stats
    }
}

/// A place in the device's queue, held from submission to completion: dropping it gives the place to the next request.
pub(crate) struct InFlight {
    counters: Arc<Counters>,
    _permit: OwnedSemaphorePermit,
}

impl InFlight {
    pub(crate) fn enter(counters: &Arc<Counters>, permit: OwnedSemaphorePermit) -> Self {
        let now = counters.queue_depth_now.fetch_add(1, Ordering::Relaxed) + 1;
        counters.queue_depth_max.fetch_max(now, Ordering::Relaxed);
        Self { counters: Arc::clone(counters), _permit: permit }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // Before the permit goes: the next request must not see, and record, this one still counted.
        self.counters.queue_depth_now.fetch_sub(1, Ordering::Relaxed);
    }
}
