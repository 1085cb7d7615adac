//! When the workers of one operator have enough in memory.
//!
//! An operator may take half of what its query has left when it begins. So each of a chain of operators, which hold their
//! rows at the same time, gets something, without anybody knowing how many there will be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::QuerySpill;

/// What the workers of an operator hold together.
#[derive(Debug)]
pub(crate) struct OperatorMemory {
    share: usize,
    worker_count: usize,
    bytes_min: usize,
    held: AtomicUsize,
}

/// What one worker holds of it; nothing any more when it is dropped.
#[derive(Debug)]
pub(crate) struct WorkerMemory {
    of: Arc<OperatorMemory>,
    bytes: usize,
}

impl OperatorMemory {
    /// Nothing yet.
    pub(crate) fn new(spill: &QuerySpill, worker_count: usize) -> Arc<Self> {
        let settings = spill.settings();
        let share = (spill.budget().free() / 2).min(settings.operator_bytes_max);
        Arc::new(Self { share, worker_count, bytes_min: settings.operator_bytes_min, held: AtomicUsize::new(0) })
    }

    /// Bytes that all workers may hold.
    pub(crate) fn share(&self) -> usize {
        self.share
    }

    /// Whether all workers hold more.
    pub(crate) fn is_over(&self) -> bool {
        self.held.load(Ordering::Relaxed) > self.share
    }

    /// Whether so many bytes are more than some rows.
    pub(crate) fn is_worth_writing(&self, bytes: usize) -> bool {
        bytes >= self.bytes_min
    }

    /// For one more worker.
    pub(crate) fn of_worker(self: &Arc<Self>) -> WorkerMemory {
        WorkerMemory { of: self.clone(), bytes: 0 }
    }
}

impl WorkerMemory {
    /// The worker's part, if all hold as much.
    pub(crate) fn part(&self) -> usize {
        self.of.share / self.of.worker_count
    }

    /// Notes that the worker holds so many bytes now. True when the operator holds too much and this worker is to spill.
    pub(crate) fn is_full(&mut self, bytes: usize) -> bool {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.of.held.fetch_sub(before, Ordering::Relaxed);
        let held = self.of.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // The one with most has more than half of its part.
        held > self.of.share && bytes > self.of.share / (2 * self.of.worker_count) && self.is_worth_writing()
    }

    /// Bytes below which rows are not worth writing.
    pub(crate) fn bytes_min(&self) -> usize {
        self.of.bytes_min
    }

    /// Whether the worker has more than some rows.
    pub(crate) fn is_worth_writing(&self) -> bool {
        self.of.is_worth_writing(self.bytes)
    }
}

impl Drop for WorkerMemory {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
