//! What the build side's keys say to a scan of the probe side: which rows cannot have partners.
//!
//! A bitmap of all possible keys where they are few, and exact then; otherwise a Bloom filter whose bits for one key lie
//! in one word (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007), so that a key costs one
//! load. Either way a row with a partner is never dropped.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::joins::hash::JoinTable;
use crate::joins::hash::build::atomic_cells::{plain_u64, zeroed_u64};
use crate::joins::hash::build::build_tasks::{BuildTasks, without_waiting};
use crate::joins::hash::build::directory_builder::{DirectoryBuilder, vectors};
use crate::joins::hash::build::parallel_directories::{partitioned, release};
use crate::joins::hash::build::row_partitions::Numbering;
use crate::joins::hash::directory::direct_addresses::Bitmap;
use crate::joins::hash::directory::key_addresses::{KeyAddresses, NO_ADDRESS};
use crate::joins::hash::join_table::Directory;
use crate::values::key_hashes::{HashSeed, KeyHasher};
use crate::{ExecError, Reservation, Vector};

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
    /// The memory that it takes, where no table holds it.
    _reservation: Option<Arc<Reservation>>,
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

/// The word of a hash among so many, from its high half, and its four bits, from its low 24.
#[inline]
pub(super) fn bloom_place(word_count: usize, hash: u64) -> (usize, u64) {
    let word = (((hash >> 32) * word_count as u64) >> 32) as usize;
    let bit = |at: u64| 1 << (hash >> (at * 6) & 63);
    (word, bit(0) | bit(1) | bit(2) | bit(3))
}

impl Bloom {
    fn word_count(row_count: usize) -> usize {
        (row_count * BLOOM_BITS_PER_ROW).div_ceil(64).max(1)
    }

    fn new(row_count: usize) -> Self {
        Self { words: vec![0; Self::word_count(row_count)] }
    }

    fn insert(&mut self, hash: u64) {
        let (word, bits) = bloom_place(self.words.len(), hash);
        self.words[word] |= bits;
    }

    #[inline]
    fn may_contain(&self, hash: u64) -> bool {
        let (word, bits) = bloom_place(self.words.len(), hash);
        self.words[word] & bits == bits
    }
}

/// Partitions of a Bloom filter's words.
struct BloomRanges {
    keys: Arc<[Arc<Vector>]>,
    /// Where addresses are what is hashed.
    addresses: Option<(KeyAddresses, HashSeed)>,
    word_count: usize,
    shift: u32,
    partition_count: usize,
}

impl Numbering for BloomRanges {
    fn fill(&self, rows: Range<usize>, numbers: &mut Vec<u64>, partitions: &mut Vec<u16>) {
        let partition = |hash: u64| (bloom_place(self.word_count, hash).0 >> self.shift) as u16;
        let Some((addresses, seed)) = &self.addresses else {
            KeyHasher::default().fill(&self.keys, rows, numbers);
            return partitions.extend(numbers.iter().map(|hash| partition(*hash)));
        };
        addresses.fill(&self.keys, rows, numbers);
        for number in numbers {
            let is_there = *number != NO_ADDRESS;
            *number = seed.hash(*number);
            partitions.push(if is_there { partition(*number) } else { self.partition_count as u16 });
        }
    }
}

impl JoinTable {
    /// A filter for the probe side; `None` where probe rows without partner matter, or all rows are partners. Made now
    /// unless [`JoinTable::build`] has.
    pub fn key_filter(&self) -> Option<KeyFilter> {
        self.filter.clone().or_else(|| {
            let made = without_waiting(self.make_key_filter(&mut BuildTasks::synchronous(self.row_count)));
            made.expect("nobody cancels what does not wait")
        })
    }

    pub(super) async fn make_key_filter(&self, tasks: &mut BuildTasks) -> Result<Option<KeyFilter>, ExecError> {
        if !self.spec.kind.drops_probe_rows() || self.spec.build_keys.is_empty() {
            return Ok(None);
        }
        let members = match &self.directory {
            Directory::Members(addresses, bitmap) => Members::Bitmap(addresses.clone(), bitmap.clone()),
            Directory::Rows(addresses, _)
            | Directory::Addresses(addresses)
            | Directory::Ranks(addresses, _)
            | Directory::HashedAddresses(addresses, _) => self.address_members(addresses, tasks).await?,
            Directory::HashedColumns(_) => self.hash_members(tasks).await?,
        };
        let nulls_equal = self.spec.nulls_equal;
        Ok(Some(KeyFilter { members, nulls_equal, numbers: Vec::new(), _reservation: None }))
    }

    async fn address_members(&self, addresses: &KeyAddresses, tasks: &mut BuildTasks) -> Result<Members, ExecError> {
        if addresses.count <= BITMAP_BITS_SMALL.max(self.row_count as u64 * BITMAP_BITS_PER_ROW) {
            let bitmap = match self.parallel_bitmap(addresses, tasks).await? {
                Some(bitmap) => bitmap,
                None => {
                    let mut bitmap = Bitmap::new(addresses.count);
                    self.each_address(addresses, tasks, |numbers| bitmap.insert(numbers)).await?;
                    bitmap
                }
            };
            return Ok(Members::Bitmap(addresses.clone(), Arc::new(bitmap)));
        }
        let seed = HashSeed::of_process();
        let bloom = match self.parallel_bloom(Some((addresses.clone(), seed)), tasks).await? {
            Some(bloom) => bloom,
            None => {
                let mut bloom = Bloom::new(self.row_count);
                let insert = |numbers: &[u64]| {
                    let there = numbers.iter().filter(|address| **address != NO_ADDRESS);
                    there.for_each(|address| bloom.insert(seed.hash(*address)));
                };
                self.each_address(addresses, tasks, insert).await?;
                bloom
            }
        };
        Ok(Members::Addresses(addresses.clone(), seed, Arc::new(bloom)))
    }

    async fn hash_members(&self, tasks: &mut BuildTasks) -> Result<Members, ExecError> {
        if let Some(bloom) = self.parallel_bloom(None, tasks).await? {
            return Ok(Members::Hashes(KeyHasher::default(), Arc::new(bloom)));
        }
        let (mut hasher, mut hashes, keys) = (KeyHasher::default(), Vec::new(), self.keys());
        let mut bloom = Bloom::new(self.row_count);
        for rows in vectors(self.row_count) {
            hasher.fill(&keys, rows, &mut hashes);
            hashes.iter().for_each(|hash| bloom.insert(*hash));
            tasks.pace().step(hashes.len()).await?;
        }
        Ok(Members::Hashes(hasher, Arc::new(bloom)))
    }

    /// Calls `each` with the addresses of all rows, a vector at a time.
    async fn each_address(
        &self,
        addresses: &KeyAddresses,
        tasks: &mut BuildTasks,
        mut each: impl FnMut(&[u64]),
    ) -> Result<(), ExecError> {
        let mut numbers = Vec::new();
        for rows in vectors(self.row_count) {
            let row_count = rows.len();
            match &self.directory {
                // Its keys may be gone.
                Directory::HashedAddresses(_, hashed) => each(&hashed.addresses()[rows]),
                _ => {
                    addresses.fill(&self.keys(), rows, &mut numbers);
                    each(&numbers);
                }
            }
            tasks.pace().step(row_count).await?;
        }
        Ok(())
    }

    async fn parallel_bitmap(
        &self,
        addresses: &KeyAddresses,
        tasks: &mut BuildTasks,
    ) -> Result<Option<Bitmap>, ExecError> {
        if !tasks.is_parallel() {
            return Ok(None);
        }
        let keys = self.keys().into();
        DirectoryBuilder { keys, row_count: self.row_count, spec: &self.spec, tasks }.parallel_bitmap(addresses).await
    }

    async fn parallel_bloom(
        &self,
        addresses: Option<(KeyAddresses, HashSeed)>,
        tasks: &mut BuildTasks,
    ) -> Result<Option<Bloom>, ExecError> {
        if !tasks.is_parallel() {
            return Ok(None);
        }
        let word_count = Bloom::word_count(self.row_count);
        let shift = word_count.div_ceil(tasks.partition_count(self.row_count)).next_power_of_two().trailing_zeros();
        let partition_count = word_count.div_ceil(1 << shift);
        let ranges = BloomRanges { keys: self.keys().into(), addresses, word_count, shift, partition_count };
        let partitioned = partitioned(&Arc::new(ranges), self.row_count, partition_count, tasks).await?;
        let Some(partitions) = partitioned else { return Ok(None) };
        let bloom = Arc::new((partitions, zeroed_u64(word_count)));
        let work = tasks.each(&bloom, (0..partition_count).collect(), |(partitions, words), at, pace| {
            Box::pin(async move {
                for run in partitions.runs(at) {
                    for hash in run.numbers {
                        let (word, bits) = bloom_place(words.len(), *hash);
                        words[word].store(words[word].load(Ordering::Relaxed) | bits, Ordering::Relaxed);
                    }
                    pace.step(run.numbers.len()).await?;
                }
                Ok(())
            })
        });
        work.await?;
        let (partitions, words) = Arc::into_inner(bloom).expect("tasks have ended");
        release(partitions, self.row_count, tasks);
        Ok(Some(Bloom { words: plain_u64(words) }))
    }
}

impl KeyFilter {
    /// Of a Bloom filter's words, for hashes of all keys.
    pub(super) fn of_hashes(words: Vec<u64>, nulls_equal: bool, reservation: Reservation) -> Self {
        let members = Members::Hashes(KeyHasher::default(), Arc::new(Bloom { words }));
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
