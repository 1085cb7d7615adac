//! The memory that operators hold. An operator reserves memory before it uses it.

use std::fmt;
use std::sync::Arc;

use braid_base::ByteSize;

use crate::exec_error::{ExecError, MemoryExceeded};

/// The memory budget of one query. The caller that runs the query provides it.
pub trait MemoryBudget: Send + Sync + fmt::Debug {
    /// Reserves `bytes` more bytes.
    ///
    /// # Errors
    /// Returns the reason of the refusal, with the limit.
    fn try_grow(&self, bytes: usize) -> Result<(), String>;

    /// Returns `bytes` bytes to the budget.
    fn shrink(&self, bytes: usize);

    /// Bytes that are free now. Another operator may reserve them first.
    fn free(&self) -> usize;
}

/// One operator's part of a query's budget, returned on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<dyn MemoryBudget>,
    operator: &'static str,
    held: usize,
}

impl Reservation {
    /// A reservation of 0 bytes.
    pub fn new(budget: Arc<dyn MemoryBudget>, operator: &'static str) -> Self {
        Self { budget, operator, held: 0 }
    }

    /// Changes the reservation to `bytes` bytes.
    ///
    /// # Errors
    /// When the budget refuses the increase. The reservation then stays as it was.
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

    /// A budget that never refuses.
    pub fn unlimited() -> Arc<dyn MemoryBudget> {
        Self::new(ByteSize(u64::MAX))
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
            Err(used) => Err(format!("{} of {} are used", ByteSize(used as u64).rounded(), self.limit.rounded())),
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
        assert_eq!(error.to_string(), "sort needs 71 B more memory: 30 B of 100 B are used");
        assert_eq!((budget.used(), reservation.held()), (30, 30));
        drop(reservation);
        assert_eq!(budget.used(), 0);
    }
}
