//! Construction of key filters, which a build side sends to the scans of the probe side.
//!
//! The filter is a bitmap if that is small, or cheap enough for an exact filter; otherwise it is a Bloom filter. Several workers
//! build it in parallel.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::joins::hash::JoinTable;
use crate::joins::hash::build::atomic_cells::{plain_u64, zeroed_u64};
use crate::joins::hash::build::directory_builder::{DirectoryBuilder, vectors};
use crate::joins::hash::build::row_partitions::{Numbering, partitioned, release};
use crate::joins::hash::build_tasks::{BuildTasks, without_waiting};
use crate::joins::hash::directory::Directory;
use crate::keys::bloom_filter::{BloomFilter, bloom_place};
use crate::keys::key_addresses::{KeyAddresses, NO_ADDRESS};
use crate::keys::key_bitmap::KeyBitmap;
use crate::keys::key_filter::{KeyFilter, Members};
use crate::keys::key_hashes::{HashSeed, KeyHasher};
use crate::{ExecError, Vector};

/// Maximum bits per row of a bitmap. Up to this size, a bitmap is better than a Bloom filter: it is exact and needs no hash.
const BITMAP_BITS_PER_ROW: u64 = 64;

/// Partitions of a Bloom filter's words.
struct BloomRanges {
    keys: Arc<[Arc<Vector>]>,
    /// The addresses, if these are hashed instead of the keys.
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
    /// The filter for the probe side; `None` if the join returns probe rows without a partner, or has no keys. Built now unless
    /// [`JoinTable::build`] has built it.
    pub fn key_filter(&self) -> Option<KeyFilter> {
        self.filter.clone().or_else(|| {
            let made = without_waiting(self.make_key_filter(&mut BuildTasks::synchronous(self.row_count)));
            made.expect("synchronous work cannot be cancelled")
        })
    }

    pub(crate) async fn make_key_filter(&self, tasks: &mut BuildTasks) -> Result<Option<KeyFilter>, ExecError> {
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
        Ok(Some(KeyFilter::new(members, self.spec.null_keys)))
    }

    async fn address_members(&self, addresses: &KeyAddresses, tasks: &mut BuildTasks) -> Result<Members, ExecError> {
        if addresses.count <= self.spec.tuning.small_filter_bits.max(self.row_count as u64 * BITMAP_BITS_PER_ROW) {
            let bitmap = match self.parallel_bitmap(addresses, tasks).await? {
                Some(bitmap) => bitmap,
                None => {
                    let mut bitmap = KeyBitmap::new(addresses.count);
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
                let mut bloom = BloomFilter::new(self.row_count);
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
        let mut bloom = BloomFilter::new(self.row_count);
        for rows in vectors(self.row_count) {
            hasher.fill(&keys, rows, &mut hashes);
            hashes.iter().for_each(|hash| bloom.insert(*hash));
            tasks.pace().step(hashes.len()).await?;
        }
        Ok(Members::Hashes(hasher, Arc::new(bloom)))
    }

    /// Calls `each` with the addresses of all rows, one vector at a time.
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
                // The key columns may be released already.
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
    ) -> Result<Option<KeyBitmap>, ExecError> {
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
    ) -> Result<Option<BloomFilter>, ExecError> {
        if !tasks.is_parallel() {
            return Ok(None);
        }
        let word_count = BloomFilter::word_count(self.row_count);
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
        Ok(Some(BloomFilter::of_words(plain_u64(words))))
    }
}
