//! The key filter, with which a scan of the probe side drops rows without partners.
//!
//! It is an exact bitmap if there are few possible keys, and otherwise a Bloom filter. A row with a partner is never dropped.

use std::sync::Arc;

use super::bloom_filter::BloomFilter;
use super::key_addresses::{KeyAddresses, NO_ADDRESS};
use super::key_bitmap::KeyBitmap;
use super::key_hashes::{HashSeed, KeyHasher};
use super::null_keys::NullKeys;
use crate::{Reservation, Vector};

/// The filter of a build side's keys. It is cheap to clone; each worker uses its own clone.
#[derive(Clone)]
pub struct KeyFilter {
    members: Members,
    null_keys: NullKeys,
    /// A buffer for the addresses or hashes of a vector.
    numbers: Vec<u64>,
    /// The reservation for its memory, if no table holds it.
    _reservation: Option<Arc<Reservation>>,
}

/// The set of keys.
#[derive(Clone)]
pub(crate) enum Members {
    /// The exact addresses of the keys.
    Bitmap(KeyAddresses, Arc<KeyBitmap>),
    /// A superset of the hashes of the keys' addresses.
    Addresses(KeyAddresses, HashSeed, Arc<BloomFilter>),
    /// A superset of the hashes of the keys.
    Hashes(KeyHasher, Arc<BloomFilter>),
}

impl KeyFilter {
    /// A filter whose memory a table holds.
    pub(crate) fn new(members: Members, null_keys: NullKeys) -> Self {
        Self { members, null_keys, numbers: Vec::new(), _reservation: None }
    }

    /// A filter of a Bloom filter's words, for the hashes of all keys.
    pub(crate) fn of_hashes(words: Vec<u64>, null_keys: NullKeys, reservation: Reservation) -> Self {
        let members = Members::Hashes(KeyHasher::default(), Arc::new(BloomFilter::of_words(words)));
        Self { members, null_keys, numbers: Vec::new(), _reservation: Some(Arc::new(reservation)) }
    }

    /// The minimum and maximum of the build side's key at this position, for pruning. The minimum exceeds the maximum if there
    /// is no key. `None` unless the keys are integers and nulls have no partners.
    pub fn bounds(&self, key: usize) -> Option<(i64, i64)> {
        match &self.members {
            Members::Bitmap(addresses, _) | Members::Addresses(addresses, ..) => addresses.bounds(key),
            Members::Hashes(..) => None,
        }
    }

    /// Whether it drops every row with a null key.
    pub fn drops_nulls(&self) -> bool {
        !self.null_keys.are_equal()
    }

    /// Sets the entries of `keep` to false for rows without a partner, as far as the filter recognises them. Other entries are
    /// unchanged. The keys are in the join's order. Panics unless `keep` has one entry per row.
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
                if !self.null_keys.are_equal() {
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
