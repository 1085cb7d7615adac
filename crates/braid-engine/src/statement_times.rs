//! Where the time of a session's statements goes, as far as the engine knows: for the log of those that are slow.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Times that the statements of a session have taken together since they were last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementTimes {
    /// Binding and planning, with the wait for a planning thread.
    pub planning: Duration,
    /// Waiting for locks of other transactions.
    pub locks: Duration,
}

/// Adds up the times.
#[derive(Debug, Default)]
pub(crate) struct StatementClock {
    planning_us: Arc<AtomicU64>,
    /// How many plannings run within each other. The outermost counts.
    plannings: AtomicU32,
    lock_wait_us: Arc<AtomicU64>,
}

impl StatementClock {
    /// Where microseconds of waits for locks are added.
    pub fn lock_wait_us(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lock_wait_us)
    }

    /// Counts the time of this work as planning.
    pub async fn of_planning<T>(&self, work: impl Future<Output = T>) -> T {
        struct Within<'a>(&'a AtomicU32);
        impl Drop for Within<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let is_outermost = self.plannings.fetch_add(1, Ordering::Relaxed) == 0;
        let _within = Within(&self.plannings);
        if is_outermost { added_to(&self.planning_us, work).await } else { work.await }
    }

    /// Counts the time of this work as waiting for locks.
    pub async fn of_lock_wait<T>(&self, work: impl Future<Output = T>) -> T {
        added_to(&self.lock_wait_us, work).await
    }

    /// The times since the last call.
    pub fn take(&self) -> StatementTimes {
        let take = |total_us: &AtomicU64| Duration::from_micros(total_us.swap(0, Ordering::Relaxed));
        StatementTimes { planning: take(&self.planning_us), locks: take(&self.lock_wait_us) }
    }
}

/// Adds the time of work to a total, also if the work is dropped before its end.
async fn added_to<T>(total_us: &AtomicU64, work: impl Future<Output = T>) -> T {
    struct Added<'a>(&'a AtomicU64, Instant);
    impl Drop for Added<'_> {
        fn drop(&mut self) {
            let took_us = u64::try_from(self.1.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.0.fetch_add(took_us, Ordering::Relaxed);
        }
    }
    let _added = Added(total_us, Instant::now());
    work.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn times_are_added_until_they_are_taken() {
        let (clock, begun) = (StatementClock::default(), Instant::now());
        let inner = clock.of_planning(tokio::time::sleep(Duration::from_millis(20)));
        clock.of_planning(inner).await;
        let dropped = clock.of_lock_wait(std::future::pending::<()>());
        assert!(tokio::time::timeout(Duration::from_millis(3), dropped).await.is_err());
        let times = clock.take();
        assert!(times.planning >= Duration::from_millis(20), "{times:?}");
        assert!(times.planning <= begun.elapsed(), "it counts once: {times:?}");
        assert!(times.locks >= Duration::from_millis(3), "a wait that is given up counts: {times:?}");
        assert_eq!(clock.take(), StatementTimes::default());
    }
}
