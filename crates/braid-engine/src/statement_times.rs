//! Where the time of a session's statements goes, as far as the engine knows: for the log of those that are slow.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use braid_base::TimeSum;

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
    planning: TimeSum,
    /// How many plannings run within each other. The outermost counts.
    plannings: AtomicU32,
    lock_waits: TimeSum,
}

impl StatementClock {
    /// Where waits for locks are added.
    pub fn lock_waits(&self) -> &TimeSum {
        &self.lock_waits
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
        let _measured = is_outermost.then(|| self.planning.measure());
        work.await
    }

    /// Counts the time of this work as waiting for locks.
    pub async fn of_lock_wait<T>(&self, work: impl Future<Output = T>) -> T {
        let _measured = self.lock_waits.measure();
        work.await
    }

    /// The times since the last call.
    pub fn take(&self) -> StatementTimes {
        StatementTimes { planning: self.planning.take(), locks: self.lock_waits.take() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

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
