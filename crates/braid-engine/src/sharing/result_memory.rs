//! The memory of results that wait for their readers, of all passes together.
//!
//! Such rows stay in memory after their pass, for as long as a reader takes. They may take an eighth of the total budget, so that
//! slow readers leave the rest to the operators of later passes. What is refused here goes to a temporary file.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_base::ByteSize;
use braid_exec::MemoryBudget;

/// The part of the total budget that results may hold.
const PART: u64 = 8;

/// The memory of the results of all passes.
#[derive(Debug)]
pub(crate) struct ResultMemory {
    limit: usize,
    used: AtomicUsize,
}

/// The budget of one pass's results: theirs of all passes, and that of the pass.
#[derive(Debug)]
struct ResultBudget {
    all: Arc<ResultMemory>,
    pass: Arc<dyn MemoryBudget>,
}

impl ResultMemory {
    /// The results' part of a total budget.
    pub fn of(total: ByteSize) -> Arc<Self> {
        let limit = usize::try_from(total.0 / PART).unwrap_or(usize::MAX);
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// The budget of a pass's results, which also count as memory of the pass.
    pub fn within(self: &Arc<Self>, pass: Arc<dyn MemoryBudget>) -> Arc<dyn MemoryBudget> {
        Arc::new(ResultBudget { all: self.clone(), pass })
    }
}

impl MemoryBudget for ResultBudget {
    fn try_grow(&self, bytes: usize) -> Result<(), String> {
        let ResultMemory { limit, used } = &*self.all;
        let grow = |used: usize| used.checked_add(bytes).filter(|used| used <= limit);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow).map_err(|used| {
            let (used, limit) = (ByteSize(used as u64).rounded(), ByteSize(*limit as u64).rounded());
            format!("{used} of {limit} for results are used")
        })?;
        let granted = self.pass.try_grow(bytes);
        if granted.is_err() {
            used.fetch_sub(bytes, Ordering::Relaxed);
        }
        granted
    }

    fn shrink(&self, bytes: usize) {
        self.pass.shrink(bytes);
        self.all.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn free(&self) -> usize {
        self.pass.free().min(self.all.limit.saturating_sub(self.all.used.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use braid_exec::FixedBudget;

    use super::*;

    #[test]
    fn results_hold_what_both_budgets_allow() {
        let results = ResultMemory::of(ByteSize(800));
        let (first, second) = (FixedBudget::new(ByteSize(70)), FixedBudget::new(ByteSize(70)));
        let (of_first, of_second) = (results.within(first.clone()), results.within(second.clone()));
        assert_eq!(of_first.try_grow(71), Err("0 B of 70 B are used".to_owned()));
        of_first.try_grow(60).unwrap();
        assert_eq!((of_first.free(), of_second.free()), (10, 40));
        assert_eq!(of_second.try_grow(41), Err("60 B of 100 B for results are used".to_owned()));
        of_second.try_grow(40).unwrap();
        of_first.shrink(60);
        of_second.shrink(40);
        assert_eq!((first.used(), second.used(), of_first.free()), (0, 0, 70));
    }
}
