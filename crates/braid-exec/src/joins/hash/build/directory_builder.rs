//! Construction of the directory of a build side's keys.
//!
//! The keys determine the directory: a bitmap if only the presence of keys matters, an array by address if there are few
//! possible keys, a ranked bitmap if there are some hundred times as many possible keys as rows, and otherwise hashing. Memory
//! is reserved before each structure is allocated.
//!
//! In this module one thread builds the directory, row by row. Several workers build the same directory from
//! [partitions](super::row_partitions) of the rows (`parallel_directories`, `parallel_hashing`), if the budget allows it.

use std::ops::Range;
use std::sync::Arc;

use braid_base::VECTOR_ROWS;

use crate::joins::hash::JoinSpec;
use crate::joins::hash::build_tasks::BuildTasks;
use crate::joins::hash::directory::Directory;
use crate::joins::hash::directory::direct_addresses::{DirectRows, groups_of_addresses};
use crate::joins::hash::directory::hashed_keys::{HashedAddresses, HashedColumns, Search};
use crate::joins::hash::directory::ranked_addresses::RankedAddresses;
use crate::joins::hash::directory::row_lists::{RowLists, RowListsBuilder};
use crate::keys::key_addresses::{KeyAddresses, KeyExtremes};
use crate::keys::key_bitmap::KeyBitmap;
use crate::keys::key_hashes::KeyHasher;
use crate::keys::null_keys::NullKeys;
use crate::values::vector::NO_ROW;
use crate::{ExecError, Vector};

/// Maximum addresses per row of an array, which take 8 bytes.
const ADDRESSES_PER_ROW: u64 = 2;

/// Maximum addresses per row of a ranked bitmap, which take 64 bytes, about as much as a row of a hash table.
const RANKED_ADDRESSES_PER_ROW: u64 = 256;

/// Maximum addresses per row of a bitmap, which take 32 bytes.
const BITMAP_ADDRESSES_PER_ROW: u64 = 256;

/// A directory, with the lists of rows if keys repeat.
pub(crate) type KeyedRows = (Directory, Option<RowLists>);

/// The builder of a directory.
pub(crate) struct DirectoryBuilder<'a> {
    pub(crate) keys: Arc<[Arc<Vector>]>,
    pub(crate) row_count: usize,
    pub(crate) spec: &'a JoinSpec,
    pub(crate) tasks: &'a mut BuildTasks,
}

impl DirectoryBuilder<'_> {
    /// Builds the smallest directory that is fast for these keys. `null_key_count` rows have a key that equals nothing.
    pub(crate) async fn build(&mut self, null_key_count: usize) -> Result<KeyedRows, ExecError> {
        let Some(addresses) = self.addresses().await? else {
            return self.hash_columns().await;
        };
        let row_count = (self.row_count - null_key_count) as u64;
        let fits = |per_row: u64, small: u64| {
            addresses.count <= (row_count * per_row).max(small) && addresses.count < u64::from(NO_ROW)
        };
        if self.spec.needs_keys_only() && fits(BITMAP_ADDRESSES_PER_ROW, self.spec.tuning.small_addresses * 32) {
            self.members(addresses).await
        } else if fits(ADDRESSES_PER_ROW, self.spec.tuning.small_addresses) {
            self.by_address(addresses, row_count as usize).await
        } else if fits(RANKED_ADDRESSES_PER_ROW, 0) {
            self.by_rank(addresses, row_count as usize).await
        } else {
            self.hash_addresses(addresses).await
        }
    }

    /// The addresses of the keys, if they have addresses.
    async fn addresses(&mut self) -> Result<Option<KeyAddresses>, ExecError> {
        let pieces = ranges(self.row_count, self.tasks.piece_rows(self.row_count));
        let keys = Arc::new(self.keys.clone());
        let extremes = self.tasks.each(&keys, pieces, |keys, rows, pace| {
            Box::pin(async move {
                let extremes: Option<Vec<_>> = keys.iter().map(|key| KeyExtremes::of(key, rows.clone())).collect();
                pace.step(rows.len()).await?;
                Ok(extremes)
            })
        });
        let mut united = vec![KeyExtremes::default(); self.keys.len()];
        for extremes in extremes.await? {
            let Some(extremes) = extremes else { return Ok(None) };
            united.iter_mut().zip(extremes).for_each(|(united, extremes)| *united = united.with(extremes));
        }
        Ok(KeyAddresses::of(&united, self.spec.null_keys))
    }

    async fn members(&mut self, addresses: KeyAddresses) -> Result<KeyedRows, ExecError> {
        self.tasks.memory.grow(KeyBitmap::bytes(addresses.count))?;
        let bitmap = match self.parallel_bitmap(&addresses).await? {
            Some(bitmap) => bitmap,
            None => {
                let mut bitmap = KeyBitmap::new(addresses.count);
                self.each_address(&addresses, |_, numbers| bitmap.insert(numbers)).await?;
                bitmap
            }
        };
        Ok((Directory::Members(addresses, Arc::new(bitmap)), None))
    }

    /// `row_count` excludes rows whose keys equal nothing, here and below.
    async fn by_address(&mut self, addresses: KeyAddresses, row_count: usize) -> Result<KeyedRows, ExecError> {
        self.tasks.memory.grow(DirectRows::bytes(addresses.count))?;
        if let Some(rows) = self.direct_rows(&addresses, row_count).await? {
            return Ok((Directory::Rows(addresses, rows), None));
        }
        let group_count = addresses.count as usize;
        self.tasks.memory.shrink(DirectRows::bytes(addresses.count));
        self.tasks.memory.grow(RowLists::bytes(group_count, self.row_count))?;
        if let Some(lists) = self.parallel_address_lists(&addresses).await? {
            return Ok((Directory::Addresses(addresses), Some(lists)));
        }
        let mut lists = RowListsBuilder::new(group_count);
        let mut groups = Vec::new();
        let group = |numbers: &[u64], groups: &mut Vec<u32>| groups_of_addresses(numbers, addresses.count, groups);
        self.each_address(&addresses, |_, numbers| {
            group(numbers, &mut groups);
            lists.count(&groups);
        })
        .await?;
        lists.sum(self.tasks.pace()).await?;
        self.each_address(&addresses, |_, numbers| {
            group(numbers, &mut groups);
            lists.place(&groups);
        })
        .await?;
        Ok((Directory::Addresses(addresses), Some(lists.finish())))
    }

    /// The row of each address; `None` if an address has several rows.
    async fn direct_rows(
        &mut self,
        addresses: &KeyAddresses,
        row_count: usize,
    ) -> Result<Option<DirectRows>, ExecError> {
        if self.tasks.is_parallel() {
            return self.parallel_direct_rows(addresses, row_count).await;
        }
        let mut rows = DirectRows::new(addresses.count);
        let mut unique = true;
        self.each_address(addresses, |first_row, numbers| unique = unique && rows.insert(first_row, numbers)).await?;
        Ok(unique.then_some(rows))
    }

    async fn by_rank(&mut self, addresses: KeyAddresses, row_count: usize) -> Result<KeyedRows, ExecError> {
        self.tasks.memory.grow(RankedAddresses::bytes(addresses.count, row_count))?;
        if let Some((ranks, lists)) = self.parallel_ranks(&addresses, row_count).await? {
            return Ok((Directory::Ranks(addresses, ranks), lists));
        }
        let mut ranks = RankedAddresses::new(addresses.count);
        let mut order = Ascending::default();
        self.each_address(&addresses, |_, numbers| {
            ranks.insert(numbers);
            order.check(numbers);
        })
        .await?;
        let group_count = ranks.count(self.tasks.pace()).await?;
        // Ranks are row numbers in this case.
        if order.holds && row_count == self.row_count {
            return Ok((Directory::Ranks(addresses, ranks), None));
        }
        let lists = if group_count == row_count {
            self.set_rows_of_ranks(&addresses, &mut ranks, row_count).await?;
            None
        } else {
            self.tasks.memory.grow(RowLists::bytes(group_count, row_count) - row_count * 4)?;
            Some(self.lists_of_ranks(&addresses, &ranks, group_count).await?)
        };
        Ok((Directory::Ranks(addresses, ranks), lists))
    }

    async fn set_rows_of_ranks(
        &mut self,
        addresses: &KeyAddresses,
        ranks: &mut RankedAddresses,
        row_count: usize,
    ) -> Result<(), ExecError> {
        let mut rows = Vec::with_capacity(row_count + 1);
        rows.resize(row_count, 0);
        let (mut groups, mut are_ranks) = (Vec::new(), true);
        self.each_address(addresses, |first_row, numbers| {
            ranks.find(numbers, &mut groups);
            for (row, rank) in (first_row as u32..).zip(&groups).filter(|(_, rank)| **rank != NO_ROW) {
                rows[*rank as usize] = row;
                are_ranks &= *rank == row;
            }
        })
        .await?;
        if !are_ranks {
            ranks.set_rows(rows);
        }
        Ok(())
    }

    async fn lists_of_ranks(
        &mut self,
        addresses: &KeyAddresses,
        ranks: &RankedAddresses,
        group_count: usize,
    ) -> Result<RowLists, ExecError> {
        let mut lists = RowListsBuilder::new(group_count);
        let mut groups = Vec::new();
        self.each_address(addresses, |_, numbers| {
            ranks.find(numbers, &mut groups);
            lists.count(&groups);
        })
        .await?;
        lists.sum(self.tasks.pace()).await?;
        self.each_address(addresses, |_, numbers| {
            ranks.find(numbers, &mut groups);
            lists.place(&groups);
        })
        .await?;
        Ok(lists.finish())
    }

    async fn hash_addresses(&mut self, addresses: KeyAddresses) -> Result<KeyedRows, ExecError> {
        self.tasks.memory.grow(HashedAddresses::bytes(self.row_count) + self.row_count * 4)?;
        if let Some((hashed, groups)) = self.parallel_hashed_addresses(&addresses).await? {
            let lists = self.parallel_lists(groups).await?;
            return Ok((Directory::HashedAddresses(addresses, hashed), lists));
        }
        let mut hashed = HashedAddresses::new(self.row_count, addresses.count);
        let mut groups = Groups::new(self.row_count);
        let mut found = Vec::new();
        self.each_address(&addresses, |first_row, numbers| {
            hashed.insert(numbers, &mut found);
            groups.add(first_row, &found);
        })
        .await?;
        let lists = self.lists(groups).await?;
        Ok((Directory::HashedAddresses(addresses, hashed), lists))
    }

    async fn hash_columns(&mut self) -> Result<KeyedRows, ExecError> {
        self.tasks.memory.grow(HashedColumns::bytes(self.row_count) + self.row_count * 4)?;
        if let Some((hashed, groups)) = self.parallel_hashed_columns().await? {
            let lists = self.parallel_lists(groups).await?;
            return Ok((Directory::HashedColumns(hashed), lists));
        }
        let mut hasher = KeyHasher::default();
        let mut hashed = HashedColumns::new(self.row_count);
        let mut groups = Groups::new(self.row_count);
        let (mut hashes, mut found, mut search) = (Vec::new(), Vec::new(), Search::default());
        for rows in vectors(self.row_count) {
            hasher.fill(&self.keys, rows.clone(), &mut hashes);
            groups_with_keys(&self.keys, rows.clone(), self.spec.null_keys, &mut found);
            hashed.insert(&self.keys, |at| rows.start as u32 + at, &hashes, &mut search, &mut found);
            groups.add(rows.start, &found);
            self.tasks.pace().step(rows.len()).await?;
        }
        let lists = self.lists(groups).await?;
        Ok((Directory::HashedColumns(hashed), lists))
    }

    /// Lists of rows by group, if keys repeat and the join needs rows.
    pub(crate) async fn lists(&mut self, groups: Groups) -> Result<Option<RowLists>, ExecError> {
        let mut lists = None;
        if !groups.unique && !self.spec.needs_keys_only() {
            self.tasks.memory.grow(RowLists::bytes(self.row_count, self.row_count))?;
            let mut builder = RowListsBuilder::new(self.row_count);
            for groups in groups.groups.chunks(VECTOR_ROWS) {
                builder.count(groups);
                self.tasks.pace().step(groups.len()).await?;
            }
            builder.sum(self.tasks.pace()).await?;
            for groups in groups.groups.chunks(VECTOR_ROWS) {
                builder.place(groups);
                self.tasks.pace().step(groups.len()).await?;
            }
            lists = Some(builder.finish());
        }
        drop(groups);
        self.tasks.memory.shrink(self.row_count * 4);
        Ok(lists)
    }

    /// Calls `each` with the addresses of all rows, one vector at a time, and the number of the first row.
    async fn each_address(
        &mut self,
        addresses: &KeyAddresses,
        mut each: impl FnMut(usize, &[u64]),
    ) -> Result<(), ExecError> {
        let mut numbers = Vec::with_capacity(VECTOR_ROWS);
        for rows in vectors(self.row_count) {
            addresses.fill(&self.keys, rows.clone(), &mut numbers);
            each(rows.start, &numbers);
            self.tasks.pace().step(rows.len()).await?;
        }
        Ok(())
    }
}

/// The groups of rows.
pub(crate) struct Groups {
    pub(crate) groups: Vec<u32>,
    /// Whether each row is its own group.
    pub(crate) unique: bool,
}

impl Groups {
    fn new(row_count: usize) -> Self {
        Self { groups: Vec::with_capacity(row_count), unique: true }
    }

    fn add(&mut self, first_row: usize, groups: &[u32]) {
        let own = (first_row as u32..).zip(groups).all(|(row, group)| *group == row || *group == NO_ROW);
        self.unique &= own;
        self.groups.extend_from_slice(groups);
    }
}

/// Checks whether numbers in consecutive vectors ascend strictly.
struct Ascending {
    holds: bool,
    /// One more than the last number.
    next: u64,
}

impl Default for Ascending {
    fn default() -> Self {
        Self { holds: true, next: 0 }
    }
}

impl Ascending {
    fn check(&mut self, numbers: &[u64]) {
        if let (true, [first, .., last] | [first @ last]) = (self.holds, numbers) {
            let pairs = numbers.iter().zip(&numbers[1..]);
            self.holds = *first >= self.next && pairs.fold(true, |holds, (a, b)| holds & (a < b));
            self.next = last.saturating_add(1);
        }
    }
}

/// All rows as ranges of one vector each.
pub(crate) fn vectors(row_count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..row_count).step_by(VECTOR_ROWS).map(move |start| start..row_count.min(start + VECTOR_ROWS))
}

/// All rows as ranges of `piece_rows` rows.
pub(crate) fn ranges(row_count: usize, piece_rows: usize) -> Vec<Range<usize>> {
    (0..row_count).step_by(piece_rows).map(|start| start..row_count.min(start + piece_rows)).collect()
}

/// Initial groups: zero, or [`NO_ROW`] for rows with nulls that equal nothing.
pub(crate) fn groups_with_keys(keys: &[Arc<Vector>], rows: Range<usize>, null_keys: NullKeys, groups: &mut Vec<u32>) {
    groups.clear();
    groups.resize(rows.len(), 0);
    if null_keys.are_equal() {
        return;
    }
    for valid in keys.iter().filter_map(|key| key.valid()) {
        for (group, valid) in groups.iter_mut().zip(&valid[rows.clone()]) {
            *group |= if *valid { 0 } else { NO_ROW };
        }
    }
}
