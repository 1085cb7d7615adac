//! The memory of queries: the query budget of each query, and the total budget of all queries.
//!
//! Operators reserve memory from a pool before they grow. Each query has a [`FairSpillPool`] of the size of its query
//! budget: operators that can spill share it fairly, and spill before they fail. Every grant is also charged to the
//! total budget, first come, first served. A query that exceeds its query budget fails alone (SQLSTATE 53200). A query
//! fails within its query budget only when the total budget is used up.
//!
//! Neither budget counts the buffer (which has its own capacity), batches between operators (each is bounded, see
//! `braid_df::bounded`), or plans.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::ByteSize;
use braid_df::operators::QueryBudget;
use braid_exec::MemoryBudget;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

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

    fn charge(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.note_peak();
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

/// The pool of one query.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    budget: FairSpillPool,
    total: Arc<TotalMemory>,
    peak: AtomicU64,
}

impl QueryMemory {
    /// A pool of at most `budget`, charged to `total`.
    pub fn new(budget: ByteSize, total: Arc<TotalMemory>) -> Arc<Self> {
        let bytes = usize::try_from(budget.0).unwrap_or(usize::MAX);
        Arc::new(Self { budget: FairSpillPool::new(bytes), total, peak: AtomicU64::new(0) })
    }

    /// The largest number of bytes held at one time.
    pub fn peak(&self) -> ByteSize {
        ByteSize(self.peak.load(Ordering::Relaxed))
    }

    /// The pool as a budget of operators and of long values.
    pub fn as_budget(self: &Arc<Self>) -> Arc<dyn MemoryBudget> {
        let pool: Arc<dyn MemoryPool> = self.clone();
        QueryBudget::new(&pool)
    }

    fn note_peak(&self) {
        self.peak.fetch_max(self.budget.reserved() as u64, Ordering::Relaxed);
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.budget.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.budget.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.budget.grow(reservation, additional);
        self.total.charge(additional as u64);
        self.note_peak();
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.budget.shrink(reservation, shrink);
        self.total.release(shrink as u64);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.total.try_charge(additional as u64).map_err(|left| {
            DataFusionError::ResourcesExhausted(format!(
                "{} needs {} more memory; {} of the total budget of {} are free",
                reservation.consumer().name(),
                ByteSize(additional as u64).rounded(),
                ByteSize(left).rounded(),
                self.total.limit.rounded()
            ))
        })?;
        let granted = self.budget.try_grow(reservation, additional);
        match granted {
            Ok(()) => {
                self.total.note_peak();
                self.note_peak();
            }
            Err(_) => self.total.release(additional as u64),
        }
        granted
    }

    fn reserved(&self) -> usize {
        self.budget.reserved()
    }

    /// The query budget, or less if less of the total budget is free.
    fn memory_limit(&self) -> MemoryLimit {
        let left = self.total.limit.0.saturating_sub(self.total.used().0);
        let within_total = self.reserved().saturating_add(usize::try_from(left).unwrap_or(usize::MAX));
        match self.budget.memory_limit() {
            MemoryLimit::Finite(budget) => MemoryLimit::Finite(budget.min(within_total)),
            _ => MemoryLimit::Finite(within_total),
        }
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (all queries: {} of {})", self.budget, self.total.used(), self.total.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(pool: &Arc<QueryMemory>) -> MemoryReservation {
        let pool: Arc<dyn MemoryPool> = pool.clone();
        MemoryConsumer::new("test").register(&pool)
    }

    #[test]
    fn a_query_fails_at_its_budget_and_leaves_the_others_theirs() {
        let total = TotalMemory::new(ByteSize::kib(10));
        let (first, second) =
            (QueryMemory::new(ByteSize::kib(4), total.clone()), QueryMemory::new(ByteSize::kib(8), total.clone()));
        let (a, b) = (reservation(&first), reservation(&second));
        a.try_grow(4096).unwrap();
        let error = a.try_grow(1).unwrap_err();
        assert_eq!(crate::EngineError::from(error).sqlstate(), "53200");
        b.try_grow(6144).unwrap();
        assert_eq!(total.used(), ByteSize::kib(10));
        // Within its own budget, but the total budget is used up.
        assert!(b.try_grow(1).is_err());
        drop(a);
        b.try_grow(2048).unwrap();
        drop(b);
        assert_eq!(total.used(), ByteSize(0));
    }
}
