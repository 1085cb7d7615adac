//! Time as a trait: policies take `now_us`, shells ask a [`Clock`], tests turn a `ManualClock` by hand.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_never_goes_back() {
        let clock = SystemClock::new();
        let times: Vec<u64> = (0..1000).map(|_| clock.now_us()).collect();
        assert!(times.is_sorted());
    }
}
