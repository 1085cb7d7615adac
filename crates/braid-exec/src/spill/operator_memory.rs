//! The share of memory of one operator, and the decision when its workers spill.
//!
//! An operator's share is half of the query budget that is free when the operator starts. Each operator of a chain that holds
//! rows at the same time therefore gets a share, although the number of operators is unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::QuerySpill;

/// The memory that the workers of an operator hold together.
#[derive(Debug)]
pub(crate) struct OperatorMemory {
    share: usize,
    worker_count: usize,
    bytes_min: usize,
    held: AtomicUsize,
}

/// One worker's part of that memory, released on drop.
#[derive(Debug)]
pub(crate) struct WorkerMemory {
    of: Arc<OperatorMemory>,
    bytes: usize,
}

impl OperatorMemory {
    /// The memory of a new operator.
    pub(crate) fn new(spill: &QuerySpill, worker_count: usize) -> Arc<Self> {
        let settings = spill.settings();
        let share = (spill.budget().free() / 2).min(settings.operator_bytes_max);
        Arc::new(Self { share, worker_count, bytes_min: settings.operator_bytes_min, held: AtomicUsize::new(0) })
    }

    /// The bytes that all workers together may hold.
    pub(crate) fn share(&self) -> usize {
        self.share
    }

    /// Whether the workers hold more than the share.
    pub(crate) fn is_over(&self) -> bool {
        self.held.load(Ordering::Relaxed) > self.share
    }

    /// Whether `bytes` bytes are enough to be worth writing.
    pub(crate) fn is_worth_writing(&self, bytes: usize) -> bool {
        bytes >= self.bytes_min
    }

    /// The memory of one more worker.
    pub(crate) fn of_worker(self: &Arc<Self>) -> WorkerMemory {
        WorkerMemory { of: self.clone(), bytes: 0 }
    }
}

impl WorkerMemory {
    /// An equal part of the share for each worker.
    pub(crate) fn part(&self) -> usize {
        self.of.share / self.of.worker_count
    }

    /// Records that the worker holds `bytes` bytes. True if the operator exceeds its share and this worker must spill.
    pub(crate) fn set_held(&mut self, bytes: usize) -> bool {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.of.held.fetch_sub(before, Ordering::Relaxed);
        let held = self.of.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // The worker with the most memory has more than half of its part.
        held > self.of.share && bytes > self.of.share / (2 * self.of.worker_count) && self.is_worth_writing()
    }

    /// The least number of bytes that are worth writing.
    pub(crate) fn bytes_min(&self) -> usize {
        self.of.bytes_min
    }

    /// Whether the worker holds enough to be worth writing.
    pub(crate) fn is_worth_writing(&self) -> bool {
        self.of.is_worth_writing(self.bytes)
    }
}

impl Drop for WorkerMemory {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
