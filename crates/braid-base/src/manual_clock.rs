//! A clock for tests, turned by hand.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Clock;

/// A clock that moves only when told to: virtual time for simulations and tests.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_us: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at `now_us`.
    pub fn at(now_us: u64) -> Self {
        Self { now_us: AtomicU64::new(now_us) }
    }

    /// Moves the clock forward by `delta_us` microseconds.
    pub fn advance(&self, delta_us: u64) {
        self.now_us.fetch_add(delta_us, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> u64 {
        self.now_us.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::at(5);
        assert_eq!(clock.now_us(), 5);
        clock.advance(10);
        assert_eq!((clock.now_us(), clock.now_us()), (15, 15));
    }
}
