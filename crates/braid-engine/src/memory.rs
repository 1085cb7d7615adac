//! The memory of queries: the query budget of each query, and the total budget of all queries.
//!
//! Operators reserve memory before they grow, and those that can spill do so before they fail. Every grant is also charged to
//! the total budget, first come, first served. A query that exceeds its query budget fails alone (SQLSTATE 53200). A query
//! fails within its query budget only when the total budget is used up.
//!
//! Neither budget counts the buffer (which has its own capacity), batches between operators (each has at most
//! [`BATCH_BYTES_MAX`](braid_base::BATCH_BYTES_MAX) or one row), or plans.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::ByteSize;
use braid_exec::MemoryBudget;

/// The total budget: the memory that the operators of all queries of a database may hold together.
#[derive(Debug)]
pub struct TotalMemory {
    limit: ByteSize,
    used: AtomicU64,
    peak: AtomicU64,
}

impl TotalMemory {
    /// A total budget of `limit`, all of it free.
    pub fn new(limit: ByteSize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicU64::new(0), peak: AtomicU64::new(0) })
    }

    /// Bytes that queries hold now.
    pub fn used(&self) -> ByteSize {
        ByteSize(self.used.load(Ordering::Relaxed))
    }

    /// The largest number of bytes held at one time since [`Self::forget_peak`].
    pub fn peak(&self) -> ByteSize {
        ByteSize(self.peak.load(Ordering::Relaxed))
    }

    /// Starts a new measurement of the peak.
    pub fn forget_peak(&self) {
        self.peak.store(self.used().0, Ordering::Relaxed);
    }

    /// Bytes that queries may hold.
    pub fn limit(&self) -> ByteSize {
        self.limit
    }

    /// Updates the peak. Callers do this after a grant, so that refused bytes do not count.
    fn note_peak(&self) {
        self.peak.fetch_max(self.used.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn try_charge(&self, bytes: u64) -> Result<(), u64> {
        let charge = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit.0);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge) {
            Ok(_) => Ok(()),
            Err(used) => Err(self.limit.0.saturating_sub(used)),
        }
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The memory of one query, charged to the total budget. What it has not used yet is free for all.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    limit: ByteSize,
    used: AtomicU64,
    peak: AtomicU64,
    total: Arc<TotalMemory>,
}

impl QueryMemory {
    /// At most `limit`, charged to `total`.
    pub fn new(limit: ByteSize, total: Arc<TotalMemory>) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicU64::new(0), peak: AtomicU64::new(0), total })
    }

    /// The largest number of bytes held at one time.
    pub fn peak(&self) -> ByteSize {
        ByteSize(self.peak.load(Ordering::Relaxed))
    }

    fn try_charge(&self, bytes: u64) -> Result<u64, u64> {
        let charge = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit.0);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge) {
            Ok(before) => Ok(before + bytes),
            Err(used) => Err(self.limit.0.saturating_sub(used)),
        }
    }
}

impl MemoryBudget for QueryMemory {
    fn try_grow(&self, bytes: usize) -> Result<(), String> {
        let asked = bytes as u64;
        let refusal = |left: u64, what: &str, limit: ByteSize| {
            format!("{} of the {what} of {} are free", ByteSize(left).rounded(), limit.rounded())
        };
        let used = self.try_charge(asked).map_err(|left| refusal(left, "query budget", self.limit))?;
        if let Err(left) = self.total.try_charge(asked) {
            self.used.fetch_sub(asked, Ordering::Relaxed);
            return Err(refusal(left, "total budget", self.total.limit));
        }
        self.total.note_peak();
        self.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    fn shrink(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
        self.total.release(bytes as u64);
    }

    /// What is free of the query budget, or less if less of the total budget is free.
    fn free(&self) -> usize {
        let of_query = self.limit.0.saturating_sub(self.used.load(Ordering::Relaxed));
        let of_total = self.total.limit.0.saturating_sub(self.total.used().0);
        usize::try_from(of_query.min(of_total)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_fails_at_its_budget_and_leaves_the_others_theirs() {
        let total = TotalMemory::new(ByteSize::kib(10));
        let (first, second) =
            (QueryMemory::new(ByteSize::kib(4), total.clone()), QueryMemory::new(ByteSize::kib(8), total.clone()));
        first.try_grow(4096).unwrap();
        let refused = first.try_grow(1).unwrap_err();
        assert_eq!(refused, "0 B of the query budget of 4.0 kB are free");
        second.try_grow(6144).unwrap();
        assert_eq!(total.used(), ByteSize::kib(10));
        // Within its own budget, but the total budget is used up.
        let refused = second.try_grow(1).unwrap_err();
        assert_eq!(refused, "0 B of the total budget of 10.0 kB are free");
        assert_eq!((first.free(), second.free()), (0, 0));
        first.shrink(4096);
        assert_eq!((first.free(), second.free()), (4096, 2048));
        second.try_grow(2048).unwrap();
        second.shrink(8192);
        assert_eq!((total.used(), second.peak()), (ByteSize(0), ByteSize::kib(8)));
    }
}
