//! A Bloom filter that all workers fill while they partition a build side that exceeds the memory.
//!
//! The number of keys is unknown, so that the free memory determines the filter's size. A filter that becomes too full to drop
//! many rows is discarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::atomic_cells::{plain_u64, zeroed_u64};
use crate::keys::bloom_filter::bloom_place;
use crate::keys::key_filter::KeyFilter;
use crate::keys::null_keys::NullKeys;
use crate::{ExecError, MemoryBudget, Reservation};

/// Maximum bytes. A larger filter causes a miss in every cache for each key, and helps only with hundreds of millions of keys.
const BYTES_MAX: usize = 64 << 20;

/// Maximum number of set bits per eight bits for a filter to be used. It then drops more than half of the rows without a
/// partner.
const EIGHTHS_SET_MAX: u64 = 6;

/// A filter during its construction.
#[derive(Debug)]
pub(crate) struct SharedBloom {
    words: Vec<AtomicU64>,
    reservation: Reservation,
}

impl SharedBloom {
    /// A filter of about `bytes` bytes; `None` if the budget refuses them.
    pub(crate) fn of_bytes(bytes: usize, budget: Arc<dyn MemoryBudget>) -> Option<Self> {
        let word_count = (bytes.min(BYTES_MAX) / 8).max(1);
        let mut reservation = Reservation::new(budget, "hash join");
        match reservation.resize(word_count * 8) {
            Ok(()) => Some(Self { words: zeroed_u64(word_count), reservation }),
            Err(ExecError::Memory(_)) => None,
            Err(error) => unreachable!("a reservation fails for memory only: {error}"),
        }
    }

    /// Adds keys with these hashes.
    pub(crate) fn insert(&self, hashes: &[u64]) {
        for hash in hashes {
            let (word, bits) = bloom_place(self.words.len(), *hash);
            // The bits are mostly set already. A write would take the cache line from other workers.
            if self.words[word].load(Ordering::Relaxed) & bits != bits {
                self.words[word].fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// The filter for the probe side; `None` if it would drop too few rows.
    pub(crate) fn into_filter(self, null_keys: NullKeys) -> Option<KeyFilter> {
        let Self { words, reservation } = self;
        let words = plain_u64(words);
        let set: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        let is_full = set * 8 > words.len() as u64 * 64 * EIGHTHS_SET_MAX;
        (!is_full).then(|| KeyFilter::of_hashes(words, null_keys, reservation))
    }
}

#[cfg(test)]
mod tests {
    use braid_base::ByteSize;

    use super::*;
    use crate::keys::key_hashes::KeyHasher;
    use crate::{FixedBudget, Vector};

    fn keys(range: std::ops::Range<i64>) -> Arc<Vector> {
        Arc::new(Vector::integers(range.collect()))
    }

    fn filled(bytes: usize, budget: &Arc<FixedBudget>) -> Option<KeyFilter> {
        let bloom = SharedBloom::of_bytes(bytes, budget.clone())?;
        let mut hashes = Vec::new();
        KeyHasher::default().fill(&[keys(0..10_000)], 0..10_000, &mut hashes);
        let halves = hashes.split_at(5_000);
        std::thread::scope(|threads| {
            threads.spawn(|| bloom.insert(halves.0));
            threads.spawn(|| bloom.insert(halves.1));
        });
        bloom.into_filter(NullKeys::EqualNothing)
    }

    #[test]
    fn keys_pass_and_most_others_do_not() {
        let budget = FixedBudget::new(ByteSize(16_000));
        let mut filter = filled(15_000, &budget).unwrap();
        assert_eq!(budget.used(), 15_000);
        let mut keep = vec![true; 20_000];
        filter.retain(&[keys(0..20_000)], &mut keep);
        assert!(keep[..10_000].iter().all(|keep| *keep));
        let passed = keep[10_000..].iter().filter(|keep| **keep).count();
        assert!(passed < 500, "{passed} of 10000 others passed");
        drop(filter);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn one_that_is_too_full_or_too_large_is_none() {
        let budget = FixedBudget::new(ByteSize(16_000));
        assert!(filled(1_000, &budget).is_none());
        assert!(filled(17_000, &budget).is_none());
        assert_eq!(budget.used(), 0);
    }
}
