//! The memory that operators hold, asked for before it is used.

use std::fmt;
use std::sync::Arc;

use braid_base::ByteSize;

use crate::exec_error::{ExecError, MemoryExceeded};

/// What one query may hold. Whoever runs the query has the figures.
pub trait MemoryBudget: Send + Sync + fmt::Debug {
    /// Takes so many bytes more, or says why not.
    ///
    /// # Errors
    /// A sentence with the limit.
    fn try_grow(&self, bytes: usize) -> Result<(), String>;

    /// Gives so many bytes back.
    fn shrink(&self, bytes: usize);

    /// Bytes that could be asked for now; others may be faster.
    fn free(&self) -> usize;
}

/// What one operator holds of a query's budget; given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<dyn MemoryBudget>,
    operator: &'static str,
    held: usize,
}

impl Reservation {
    /// Nothing yet.
    pub fn new(budget: Arc<dyn MemoryBudget>, operator: &'static str) -> Self {
        Self { budget, operator, held: 0 }
    }

    /// Holds so many bytes from now on.
    ///
    /// # Errors
    /// When the budget does not allow it; what was held before is still held.
    pub fn resize(&mut self, bytes: usize) -> Result<(), ExecError> {
        if bytes > self.held {
            let asked = bytes - self.held;
            self.budget.try_grow(asked).map_err(|reason| {
                ExecError::Memory(MemoryExceeded { operator: self.operator, asked: ByteSize(asked as u64), reason })
            })?;
        } else {
            self.budget.shrink(self.held - bytes);
        }
        self.held = bytes;
        Ok(())
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.held
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.shrink(self.held);
    }
}

/// A fixed number of bytes: for tests, benchmarks and tools.
#[derive(Debug)]
pub struct FixedBudget {
    limit: ByteSize,
    used: std::sync::atomic::AtomicUsize,
}

impl FixedBudget {
    /// A budget of `limit`.
    pub fn new(limit: ByteSize) -> Arc<Self> {
        Arc::new(Self { limit, used: Default::default() })
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.used.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl MemoryBudget for FixedBudget {
    fn try_grow(&self, bytes: usize) -> Result<(), String> {
        use std::sync::atomic::Ordering::Relaxed;
        let grow = |used: usize| used.checked_add(bytes).filter(|used| *used as u64 <= self.limit.0);
        match self.used.fetch_update(Relaxed, Relaxed, grow) {
            Ok(_) => Ok(()),
            Err(used) => Err(format!("{} of {} are used", ByteSize(used as u64), self.limit)),
        }
    }

    fn shrink(&self, bytes: usize) {
        self.used.fetch_sub(bytes, std::sync::atomic::Ordering::Relaxed);
    }

    fn free(&self) -> usize {
        usize::try_from(self.limit.0).unwrap_or(usize::MAX).saturating_sub(self.used())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back() {
        let budget = FixedBudget::new(ByteSize(100));
        let mut reservation = Reservation::new(budget.clone(), "sort");
        reservation.resize(80).unwrap();
        reservation.resize(30).unwrap();
        let error = reservation.resize(101).unwrap_err();
        assert_eq!(error.to_string(), "sort asks for 71B more of memory: 30B of 100B are used");
        assert_eq!((budget.used(), reservation.held()), (30, 30));
        drop(reservation);
        assert_eq!(budget.used(), 0);
    }
}
