//! A sum of times, each added when what it measures ends, also if that is given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A sum of times, to the microsecond. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct TimeSum(Arc<AtomicU64>);

/// A time that is measured: it is added when this is dropped.
#[derive(Debug)]
pub struct MeasuredTime {
    sum: TimeSum,
    begun: Instant,
}

impl TimeSum {
    /// Adds the time from now on until what is returned is dropped.
    pub fn measure(&self) -> MeasuredTime {
        MeasuredTime { sum: self.clone(), begun: Instant::now() }
    }

    /// The sum, which begins anew.
    pub fn take(&self) -> Duration {
        Duration::from_micros(self.0.swap(0, Ordering::Relaxed))
    }
}

impl Drop for MeasuredTime {
    fn drop(&mut self) {
        let took_us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.sum.0.fetch_add(took_us, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_when_they_end() {
        let sum = TimeSum::default();
        let (first, second) = (sum.measure(), sum.clone().measure());
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(sum.take(), Duration::ZERO, "they have not ended");
        drop((first, second));
        assert!(sum.take() >= Duration::from_millis(4), "clones share the sum");
        assert_eq!(sum.take(), Duration::ZERO);
    }
}
