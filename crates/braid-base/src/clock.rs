//! Time as a trait: policies take `now_us`, shells ask a [`Clock`], simulations turn a [`ManualClock`] by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A monotonic clock in microseconds since an arbitrary origin.
pub trait Clock: Send + Sync {
    /// Microseconds since the clock's origin; never decreases.
    fn now_us(&self) -> u64;
}

/// The operating system's monotonic clock; its origin is its construction.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that starts at zero now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_us(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

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

    #[test]
    fn the_system_clock_never_goes_back() {
        let clock = SystemClock::new();
        let times: Vec<u64> = (0..1000).map(|_| clock.now_us()).collect();
        assert!(times.is_sorted());
    }
}
