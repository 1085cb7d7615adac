//! What the build side's keys say to a scan of the probe side: which rows cannot have partners.
//!
//! A bitmap of all possible keys where they are few, and exact then; otherwise a Bloom filter. Either way a row with a
//! partner is never dropped.

use std::sync::Arc;

use super::bloom_filter::BloomFilter;
use super::key_addresses::{KeyAddresses, NO_ADDRESS};
use super::key_bitmap::KeyBitmap;
use super::key_hashes::{HashSeed, KeyHasher};
use crate::{Reservation, Vector};

/// Keys of the build side. Cheap to clone: each worker uses its own.
#[derive(Clone)]
pub struct KeyFilter {
    members: Members,
    nulls_equal: bool,
    /// Addresses or hashes of a vector.
    numbers: Vec<u64>,
    /// The memory that it takes, where no table holds it.
    _reservation: Option<Arc<Reservation>>,
}

/// What is known of the keys.
#[derive(Clone)]
pub(crate) enum Members {
    /// Exactly the addresses of the keys.
    Bitmap(KeyAddresses, Arc<KeyBitmap>),
    /// Hashes of the addresses of the keys, and perhaps others.
    Addresses(KeyAddresses, HashSeed, Arc<BloomFilter>),
    /// Hashes of the keys, and perhaps others.
    Hashes(KeyHasher, Arc<BloomFilter>),
}

impl KeyFilter {
    /// Of keys whose memory is held elsewhere.
    pub(crate) fn new(members: Members, nulls_equal: bool) -> Self {
        Self { members, nulls_equal, numbers: Vec::new(), _reservation: None }
    }

    /// Of a Bloom filter's words, for hashes of all keys.
    pub(crate) fn of_hashes(words: Vec<u64>, nulls_equal: bool, reservation: Reservation) -> Self {
        let members = Members::Hashes(KeyHasher::default(), Arc::new(BloomFilter::of_words(words)));
        Self { members, nulls_equal, numbers: Vec::new(), _reservation: Some(Arc::new(reservation)) }
    }

    /// Smallest and largest value that a partner has in the key's column at this position among the join's keys, for
    /// pruning; the first is above the second when nothing has a partner. `None` unless keys are integers and null is
    /// not among those that have partners.
    pub fn bounds(&self, key: usize) -> Option<(i64, i64)> {
        match &self.members {
            Members::Bitmap(addresses, _) | Members::Addresses(addresses, ..) => addresses.bounds(key),
            Members::Hashes(..) => None,
        }
    }

    /// Whether it keeps no row that has a null among its keys.
    pub fn drops_nulls(&self) -> bool {
        !self.nulls_equal
    }

    /// Sets `keep` to false for rows whose keys have no partner; others are left as they are, as are some of those.
    /// The keys are in the order of the join's. Panics unless there are as many of each.
    pub fn retain(&mut self, keys: &[Arc<Vector>], keep: &mut [bool]) {
        assert!(keys.iter().all(|key| key.len() == keep.len()), "one decision for each row");
        let Self { members, numbers, .. } = self;
        let rows = 0..keep.len();
        match members {
            Members::Bitmap(addresses, bitmap) => {
                addresses.fill(keys, rows, numbers);
                keep_where(keep, numbers, |address| bitmap.contains(address));
            }
            Members::Addresses(addresses, seed, bloom) => {
                addresses.fill(keys, rows, numbers);
                keep_where(keep, numbers, |address| (address != NO_ADDRESS) & bloom.may_contain(seed.hash(address)));
            }
            Members::Hashes(hasher, bloom) => {
                hasher.fill(keys, rows, numbers);
                keep_where(keep, numbers, |hash| bloom.may_contain(hash));
                if !self.nulls_equal {
                    drop_nulls(keys, keep);
                }
            }
        }
    }
}

#[inline]
fn keep_where(keep: &mut [bool], numbers: &[u64], may_contain: impl Fn(u64) -> bool) {
    for (keep, number) in keep.iter_mut().zip(numbers) {
        *keep &= may_contain(*number);
    }
}

fn drop_nulls(keys: &[Arc<Vector>], keep: &mut [bool]) {
    for valid in keys.iter().filter_map(|key| key.valid()) {
        keep.iter_mut().zip(valid).for_each(|(keep, valid)| *keep &= *valid);
    }
}
