//! Parallel construction of directories by address.
//!
//! Arrays of rows are written in any order, with one store per row. Keys repeat if fewer addresses have a row than rows were
//! stored. All other structures are built partition by partition, because a task reads what it has written: the bits of a
//! word, or the counts of a group.
//!
//! With one worker, or if the budget refuses the memory for partitions, these functions return `None`.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::joins::hash::build::atomic_cells::{plain_u32, plain_u64, zeroed_u32, zeroed_u64};
use crate::joins::hash::build::directory_builder::{DirectoryBuilder, ranges, vectors};
use crate::joins::hash::build::parallel_lists::{ListCells, first_places, sorted_lists};
use crate::joins::hash::build::row_partitions::{Numbering, RowPartitions, partitioned, release};
use crate::joins::hash::build_tasks::Pace;
use crate::joins::hash::directory::direct_addresses::DirectRows;
use crate::joins::hash::directory::ranked_addresses::RankedAddresses;
use crate::joins::hash::directory::row_lists::RowLists;
use crate::keys::key_addresses::{KeyAddresses, NO_ADDRESS};
use crate::keys::key_bitmap::KeyBitmap;
use crate::{ExecError, Vector};

/// Words of a bitmap are not shared between partitions.
const WORD_BITS_SHIFT: u32 = 6;

/// Partitions by ranges of 2^`shift` addresses.
struct AddressRanges {
    keys: Arc<[Arc<Vector>]>,
    addresses: KeyAddresses,
    shift: u32,
    partition_count: usize,
}

/// Rows stored by address.
struct StoredRows {
    keys: Arc<[Arc<Vector>]>,
    addresses: KeyAddresses,
    rows: Vec<AtomicU32>,
    repeated: AtomicBool,
}

/// A ranked bitmap during construction.
struct RankCells {
    partitions: RowPartitions,
    shift: u32,
    /// The bits of each word, and the number of bits before it.
    words: Vec<[AtomicU64; 2]>,
    /// The row of each rank, or lists of rows.
    rows: Vec<AtomicU32>,
    lists: Option<ListCells>,
}

/// A partition of a ranked bitmap.
struct RankedPartition {
    at: usize,
    ranks: Range<usize>,
    first_place: u32,
}

impl DirectoryBuilder<'_> {
    pub(crate) async fn parallel_bitmap(&mut self, addresses: &KeyAddresses) -> Result<Option<KeyBitmap>, ExecError> {
        if !self.tasks.is_parallel() {
            return Ok(None);
        }
        let numbering = self.address_ranges(addresses);
        let Some(partitions) = partitioned(&numbering, self.row_count, numbering.partition_count, self.tasks).await?
        else {
            return Ok(None);
        };
        let bitmap = Arc::new((partitions, zeroed_u64(KeyBitmap::word_count(addresses.count))));
        let pieces = (0..numbering.partition_count).collect();
        let work = self.tasks.each(&bitmap, pieces, |(partitions, words), at, pace| {
            Box::pin(async move { insert_bits(partitions, at, |word| &words[word], pace).await })
        });
        work.await?;
        let (partitions, words) = Arc::into_inner(bitmap).expect("tasks have ended");
        release(partitions, self.row_count, self.tasks);
        Ok(Some(KeyBitmap::of_words(plain_u64(words))))
    }

    /// The row of each address; `None` if an address has several rows.
    pub(crate) async fn parallel_direct_rows(
        &mut self,
        addresses: &KeyAddresses,
        row_count: usize,
    ) -> Result<Option<DirectRows>, ExecError> {
        let address_count = addresses.count as usize;
        let stored = Arc::new(StoredRows {
            keys: self.keys.clone(),
            addresses: addresses.clone(),
            rows: zeroed_u32(address_count + 1),
            repeated: AtomicBool::new(false),
        });
        let pieces = ranges(self.row_count, self.tasks.piece_rows(self.row_count));
        let store = self.tasks.each(&stored, pieces, |stored, rows, pace| Box::pin(stored.store(rows, pace)));
        store.await?;
        if stored.repeated.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let pieces = ranges(address_count, self.tasks.piece_rows(address_count));
        let counts = self.tasks.each(&stored, pieces, |stored, addresses, pace| {
            Box::pin(async move {
                pace.step(addresses.len()).await?;
                Ok(stored.rows[addresses].iter().filter(|row| row.load(Ordering::Relaxed) != 0).count())
            })
        });
        let found: usize = counts.await?.iter().sum();
        let rows = Arc::into_inner(stored).expect("tasks have ended").rows;
        Ok((found == row_count).then(|| DirectRows::of_rows(plain_u32(rows))))
    }

    pub(crate) async fn parallel_address_lists(
        &mut self,
        addresses: &KeyAddresses,
    ) -> Result<Option<RowLists>, ExecError> {
        if !self.tasks.is_parallel() {
            return Ok(None);
        }
        let numbering = self.address_ranges(addresses);
        let Some(partitions) = partitioned(&numbering, self.row_count, numbering.partition_count, self.tasks).await?
        else {
            return Ok(None);
        };
        let group_count = addresses.count as usize;
        let lists = sorted_lists(partitions, numbering.shift, group_count, self.row_count, self.tasks).await?;
        Ok(Some(lists))
    }

    /// A ranked bitmap of addresses. It has the rows of its ranks if these differ from the ranks, and lists of rows if addresses
    /// repeat.
    pub(crate) async fn parallel_ranks(
        &mut self,
        addresses: &KeyAddresses,
        row_count: usize,
    ) -> Result<Option<(RankedAddresses, Option<RowLists>)>, ExecError> {
        if !self.tasks.is_parallel() {
            return Ok(None);
        }
        let numbering = self.address_ranges(addresses);
        let Some(partitions) = partitioned(&numbering, self.row_count, numbering.partition_count, self.tasks).await?
        else {
            return Ok(None);
        };
        let words = vec![[0, 0]; RankedAddresses::word_count(addresses.count)];
        let words = words.into_iter().map(|[bits, before]| [AtomicU64::new(bits), AtomicU64::new(before)]).collect();
        let mut cells =
            Arc::new(RankCells { partitions, shift: numbering.shift, words, rows: Vec::new(), lists: None });
        let pieces = (0..numbering.partition_count).collect();
        let counts = self.tasks.each(&cells, pieces, |cells, at, pace| Box::pin(cells.set_bits(at, pace))).await?;
        let group_count: usize = counts.iter().sum();
        let cells_mut = Arc::get_mut(&mut cells).expect("tasks have ended");
        if group_count == row_count {
            // One more entry, for addresses without a rank.
            cells_mut.rows = zeroed_u32(row_count + 1);
        } else if self.tasks.memory.grow(RowLists::bytes(group_count, row_count) - row_count * 4).is_ok() {
            cells_mut.lists = Some(ListCells::new(group_count, row_count));
        } else {
            release(Arc::into_inner(cells).expect("tasks have ended").partitions, self.row_count, self.tasks);
            return Ok(None);
        }
        let pieces = cells.ranked_partitions(&counts);
        let ranked = self.tasks.each(&cells, pieces, |cells, partition, pace| Box::pin(cells.rank(partition, pace)));
        let rows_are_ranks = !ranked.await?.contains(&false);
        let RankCells { partitions, words, rows, lists, .. } = Arc::into_inner(cells).expect("tasks have ended");
        release(partitions, self.row_count, self.tasks);
        let words = words.into_iter().map(|[bits, before]| [bits.into_inner(), before.into_inner()]).collect();
        let mut ranks = RankedAddresses::of_words(words);
        if lists.is_none() && !rows_are_ranks {
            let mut rows = plain_u32(rows);
            rows.pop();
            ranks.set_rows(rows);
        }
        Ok(Some((ranks, lists.map(ListCells::into_lists))))
    }

    fn address_ranges(&self, addresses: &KeyAddresses) -> Arc<AddressRanges> {
        let wanted = self.tasks.partition_count(self.row_count) as u64;
        let shift = addresses.count.div_ceil(wanted).next_power_of_two().trailing_zeros().max(WORD_BITS_SHIFT);
        Arc::new(AddressRanges {
            keys: self.keys.clone(),
            addresses: addresses.clone(),
            shift,
            partition_count: addresses.count.div_ceil(1 << shift) as usize,
        })
    }
}

/// Sets the bits of a partition's addresses.
async fn insert_bits<'a>(
    partitions: &RowPartitions,
    at: usize,
    word: impl Fn(usize) -> &'a AtomicU64,
    pace: &mut Pace,
) -> Result<(), ExecError> {
    for run in partitions.runs(at) {
        for address in run.numbers {
            let word = word((address >> WORD_BITS_SHIFT) as usize);
            word.store(word.load(Ordering::Relaxed) | 1 << (address & 63), Ordering::Relaxed);
        }
        pace.step(run.numbers.len()).await?;
    }
    Ok(())
}

impl Numbering for AddressRanges {
    fn fill(&self, rows: Range<usize>, numbers: &mut Vec<u64>, partitions: &mut Vec<u16>) {
        self.addresses.fill(&self.keys, rows, numbers);
        let none = self.partition_count as u64;
        let partition = |address: &u64| if *address == NO_ADDRESS { none } else { address >> self.shift };
        partitions.extend(numbers.iter().map(|address| partition(address) as u16));
    }
}

impl StoredRows {
    async fn store(&self, rows: Range<usize>, pace: &mut Pace) -> Result<(), ExecError> {
        let mut addresses = Vec::new();
        for vector in vectors(rows.len()) {
            let vector = rows.start + vector.start..rows.start + vector.end;
            self.addresses.fill(&self.keys, vector.clone(), &mut addresses);
            let mut repeated = 0;
            for (row, address) in (vector.start as u32 + 1..).zip(&addresses) {
                if *address != NO_ADDRESS {
                    let cell = &self.rows[*address as usize];
                    repeated |= cell.load(Ordering::Relaxed);
                    cell.store(row, Ordering::Relaxed);
                }
            }
            if repeated != 0 {
                self.repeated.store(true, Ordering::Relaxed);
            }
            if self.repeated.load(Ordering::Relaxed) {
                return Ok(());
            }
            pace.step(vector.len()).await?;
        }
        Ok(())
    }
}

impl RankCells {
    /// The words of a partition.
    fn words(&self, at: usize) -> &[[AtomicU64; 2]] {
        let shift = self.shift - WORD_BITS_SHIFT;
        &self.words[at << shift..((at + 1) << shift).min(self.words.len())]
    }

    /// Number of bits set in a partition.
    async fn set_bits(&self, at: usize, pace: &mut Pace) -> Result<usize, ExecError> {
        insert_bits(&self.partitions, at, |word| &self.words[word][0], pace).await?;
        let mut count = 0;
        let words = self.words(at);
        for range in vectors(words.len()) {
            count +=
                words[range.clone()].iter().map(|[bits, _]| bits.load(Ordering::Relaxed).count_ones()).sum::<u32>();
            pace.step(range.len()).await?;
        }
        Ok(count as usize)
    }

    /// Partitions with these counts of bits.
    fn ranked_partitions(&self, counts: &[usize]) -> Vec<RankedPartition> {
        let mut next_rank = 0;
        let place = |((at, first_place), count): ((usize, u32), &usize)| {
            let first_rank = next_rank;
            next_rank += count;
            RankedPartition { at, ranks: first_rank..next_rank, first_place }
        };
        first_places(&self.partitions).into_iter().enumerate().zip(counts).map(place).collect()
    }

    /// Ranks a partition's bits and sorts its rows. True if the row numbers equal the ranks.
    async fn rank(&self, partition: RankedPartition, pace: &mut Pace) -> Result<bool, ExecError> {
        let RankedPartition { at, ranks, first_place } = partition;
        let words = self.words(at);
        let mut before = ranks.start as u64;
        for range in vectors(words.len()) {
            for [bits, sum] in &words[range.clone()] {
                sum.store(before, Ordering::Relaxed);
                before += u64::from(bits.load(Ordering::Relaxed).count_ones());
            }
            pace.step(range.len()).await?;
        }
        if let Some(lists) = &self.lists {
            let first_rank = ranks.start;
            let place_of = |address| self.rank_of(address) - first_rank;
            lists.sort(&self.partitions, at, ranks, first_place, place_of, pace).await?;
            return Ok(false);
        }
        let mut are_ranks = true;
        for run in self.partitions.runs(at) {
            for (address, row) in run.iter() {
                let rank = self.rank_of(address);
                self.rows[rank].store(row, Ordering::Relaxed);
                are_ranks &= rank == row as usize;
            }
            pace.step(run.numbers.len()).await?;
        }
        Ok(are_ranks)
    }

    #[inline]
    fn rank_of(&self, address: u64) -> usize {
        let [bits, before] = &self.words[(address >> WORD_BITS_SHIFT) as usize];
        let smaller = bits.load(Ordering::Relaxed) & ((1 << (address & 63)) - 1);
        before.load(Ordering::Relaxed) as usize + smaller.count_ones() as usize
    }
}
