//! LIMIT across the consumers of one scan.
//!
//! Rows are claimed when they are selected, before they are decoded, so that consumers never decode more than the
//! limit between them, and a consumer that holds claimed rows back for a fuller batch hands them on once the limit is
//! used up. Claims are not given back: a consumer that is dropped with claimed rows loses them, as it loses any row it
//! has not yet produced.

use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that may still be claimed; unlimited if it never had a limit.
#[derive(Debug)]
pub struct RowLimit {
    /// `u64::MAX` stands for no limit: no table has that many rows.
    remaining: AtomicU64,
}

impl RowLimit {
    /// A limit of `rows`, or none.
    pub fn new(rows: Option<u64>) -> Self {
        Self { remaining: AtomicU64::new(rows.unwrap_or(u64::MAX)) }
    }

    /// Claims up to `wanted` rows; returns how many are granted.
    pub fn claim(&self, wanted: u64) -> u64 {
        if self.remaining.load(Ordering::Relaxed) == u64::MAX {
            return wanted;
        }
        let mut granted = 0;
        let take = |remaining: u64| {
            granted = wanted.min(remaining);
            (granted > 0).then_some(remaining - granted)
        };
        // Err means that nothing was left, and then `granted` is 0.
        let _ = self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        granted
    }

    /// Whether nothing is left to claim.
    pub fn is_used_up(&self) -> bool {
        self.remaining.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_never_exceed_the_limit() {
        let limit = RowLimit::new(Some(10));
        assert_eq!((limit.claim(4), limit.claim(0), limit.claim(7), limit.claim(1)), (4, 0, 6, 0));
        assert!(limit.is_used_up());
        let unlimited = RowLimit::new(None);
        assert_eq!(unlimited.claim(u64::MAX - 1), u64::MAX - 1);
        assert!(!unlimited.is_used_up());
    }

    #[test]
    fn concurrent_claims_add_up_to_the_limit() {
        let limit = RowLimit::new(Some(100_000));
        let claimed: u64 = std::thread::scope(|scope| {
            let claim_all = || std::iter::from_fn(|| Some(limit.claim(7)).filter(|n| *n > 0)).sum::<u64>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(claim_all)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(claimed, 100_000);
    }
}
