//! What the build side's keys say to a scan of the probe side: which rows cannot have partners.
//!
//! A bitmap of all possible keys where they are few, and exact then; otherwise a Bloom filter whose bits for one key lie
//! in one word (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007), so that a key costs one
//! load. Either way a row with a partner is never dropped.

use std::sync::Arc;

use crate::Vector;
use crate::hash_join::JoinTable;
use crate::hash_join::direct_addresses::Bitmap;
use crate::hash_join::directory_builder::vectors;
use crate::hash_join::join_table::Directory;
use crate::hash_join::key_addresses::{KeyAddresses, NO_ADDRESS};
use crate::key_hashes::{HashSeed, KeyHasher};

/// A bitmap that takes up to so many bits for each row is better than a Bloom filter: it is exact and hashes nothing.
const BITMAP_BITS_PER_ROW: u64 = 64;

/// A bitmap of so many bits is small whatever the number of rows: 1 MiB, which stays in a core's cache.
/// Smaller in tests, so that few rows reach Bloom filters.
const BITMAP_BITS_SMALL: u64 = if cfg!(test) { 1 << 6 } else { 1 << 23 };

/// With four bits of a word for each key, about one key in 30 that is not there passes.
const BLOOM_BITS_PER_ROW: usize = 12;

/// Keys of the build side. Cheap to clone: each worker uses its own.
#[derive(Clone)]
pub struct KeyFilter {
    members: Members,
    nulls_equal: bool,
    /// Addresses or hashes of a vector.
    numbers: Vec<u64>,
}

#[derive(Clone)]
enum Members {
    Bitmap(KeyAddresses, Arc<Bitmap>),
    Addresses(KeyAddresses, HashSeed, Arc<Bloom>),
    Hashes(KeyHasher, Arc<Bloom>),
}

struct Bloom {
    words: Vec<u64>,
}

impl Bloom {
    fn new(row_count: usize) -> Self {
        Self { words: vec![0; (row_count * BLOOM_BITS_PER_ROW).div_ceil(64).max(1)] }
    }

    /// The word of a hash, from its high half, and its four bits, from its low 24.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let word = (((hash >> 32) * self.words.len() as u64) >> 32) as usize;
        let bit = |at: u64| 1 << (hash >> (at * 6) & 63);
        (word, bit(0) | bit(1) | bit(2) | bit(3))
    }

    fn insert(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word] |= bits;
    }

    #[inline]
    fn may_contain(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words[word] & bits == bits
    }
}

impl JoinTable {
    /// A filter for the probe side, made now; `None` where probe rows without partner matter, or all rows are partners.
    pub fn key_filter(&self) -> Option<KeyFilter> {
        if !self.spec.kind.drops_probe_rows() || self.spec.build_keys.is_empty() {
            return None;
        }
        let members = match &self.directory {
            Directory::Members(addresses, bitmap) => Members::Bitmap(addresses.clone(), bitmap.clone()),
            Directory::Rows(addresses, _) | Directory::Addresses(addresses) | Directory::Ranks(addresses, _) => {
                self.address_members(addresses, None)
            }
            Directory::HashedAddresses(addresses, hashed) => self.address_members(addresses, Some(hashed.addresses())),
            Directory::HashedColumns(_) => self.hash_members(),
        };
        Some(KeyFilter { members, nulls_equal: self.spec.nulls_equal, numbers: Vec::new() })
    }

    fn address_members(&self, addresses: &KeyAddresses, known: Option<&[u64]>) -> Members {
        let each = |each: &mut dyn FnMut(&[u64])| match known {
            Some(numbers) => each(numbers),
            None => {
                let (keys, mut numbers) = (self.keys(), Vec::new());
                for rows in vectors(self.row_count) {
                    addresses.fill(&keys, rows, &mut numbers);
                    each(&numbers);
                }
            }
        };
        if addresses.count <= BITMAP_BITS_SMALL.max(self.row_count as u64 * BITMAP_BITS_PER_ROW) {
            let mut bitmap = Bitmap::new(addresses.count);
            each(&mut |numbers| bitmap.insert(numbers));
            return Members::Bitmap(addresses.clone(), Arc::new(bitmap));
        }
        let seed = HashSeed::of_process();
        let mut bloom = Bloom::new(self.row_count);
        each(&mut |numbers| {
            let there = numbers.iter().filter(|address| **address != NO_ADDRESS);
            there.for_each(|address| bloom.insert(seed.hash(*address)));
        });
        Members::Addresses(addresses.clone(), seed, Arc::new(bloom))
    }

    fn hash_members(&self) -> Members {
        let (mut hasher, mut hashes) = (KeyHasher::default(), Vec::new());
        hasher.fill(&self.keys(), 0..self.row_count, &mut hashes);
        let mut bloom = Bloom::new(self.row_count);
        hashes.iter().for_each(|hash| bloom.insert(*hash));
        Members::Hashes(hasher, Arc::new(bloom))
    }
}

impl KeyFilter {
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
