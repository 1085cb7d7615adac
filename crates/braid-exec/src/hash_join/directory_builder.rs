//! From the build side's keys to the directory that finds them.
//!
//! What the keys are decides: a bitmap if only their presence matters, an array by address if there are few possible
//! keys, a ranked bitmap if there are some hundred times as many, and otherwise hashing. Memory is asked for before each
//! structure is made.

use std::ops::Range;
use std::sync::Arc;

use braid_base::VECTOR_ROWS;

use crate::hash_join::JoinSpec;
use crate::hash_join::direct_addresses::{Bitmap, DirectRows, groups_of_addresses};
use crate::hash_join::hashed_keys::{HashedAddresses, HashedColumns, Search};
use crate::hash_join::join_table::Directory;
use crate::hash_join::key_addresses::KeyAddresses;
use crate::hash_join::ranked_addresses::RankedAddresses;
use crate::hash_join::row_lists::RowLists;
use crate::key_hashes::KeyHasher;
use crate::vector::NO_ROW;
use crate::{ExecError, Reservation, Vector};

/// Addresses that an array may have for each row: 8 bytes of it.
const ADDRESSES_PER_ROW: u64 = 2;

/// Addresses that a ranked bitmap may have for each row: 64 bytes of it, about what a row takes in a hash table.
const RANKED_ADDRESSES_PER_ROW: u64 = 256;

/// Addresses that a bitmap may have for each row: 32 bytes of it.
const BITMAP_ADDRESSES_PER_ROW: u64 = 256;

/// An array of so many addresses is small whatever the number of rows: 256 KiB. Smaller in tests, so that few rows reach
/// all directories.
const ADDRESSES_SMALL: u64 = if cfg!(test) { 1 << 4 } else { 1 << 16 };

/// What a table is made from.
pub(crate) struct DirectoryBuilder<'a> {
    pub(crate) keys: &'a [Arc<Vector>],
    pub(crate) row_count: usize,
    pub(crate) spec: &'a JoinSpec,
    pub(crate) reservation: &'a mut Option<Reservation>,
}

impl DirectoryBuilder<'_> {
    /// The smallest directory that is fast for these keys, and the rows of its groups if keys repeat.
    pub(crate) fn build(&mut self, null_key_rows: &[u32]) -> Result<(Directory, Option<RowLists>), ExecError> {
        let Some(addresses) = KeyAddresses::of(self.keys, self.spec.nulls_equal) else {
            return self.hash_columns();
        };
        let row_count = (self.row_count - null_key_rows.len()) as u64;
        let fits = |per_row: u64, small: u64| {
            addresses.count <= (row_count * per_row).max(small) && addresses.count < u64::from(NO_ROW)
        };
        if self.spec.needs_keys_only() && fits(BITMAP_ADDRESSES_PER_ROW, ADDRESSES_SMALL * 32) {
            self.members(addresses)
        } else if fits(ADDRESSES_PER_ROW, ADDRESSES_SMALL) {
            self.by_address(addresses)
        } else if fits(RANKED_ADDRESSES_PER_ROW, 0) {
            self.by_rank(addresses, row_count as usize)
        } else {
            self.hash_addresses(addresses)
        }
    }

    fn members(&mut self, addresses: KeyAddresses) -> Result<(Directory, Option<RowLists>), ExecError> {
        grow(self.reservation, Bitmap::bytes(addresses.count))?;
        let mut bitmap = Bitmap::new(addresses.count);
        self.each_address(&addresses, |_, numbers| bitmap.insert(numbers));
        Ok((Directory::Members(addresses, Arc::new(bitmap)), None))
    }

    fn by_address(&mut self, addresses: KeyAddresses) -> Result<(Directory, Option<RowLists>), ExecError> {
        grow(self.reservation, DirectRows::bytes(addresses.count))?;
        let mut rows = DirectRows::new(addresses.count);
        let mut unique = true;
        self.each_address(&addresses, |first_row, numbers| unique = unique && rows.insert(first_row, numbers));
        if unique {
            return Ok((Directory::Rows(addresses, rows), None));
        }
        drop(rows);
        let group_count = addresses.count as usize;
        grow(self.reservation, RowLists::bytes(group_count, self.row_count) - DirectRows::bytes(addresses.count))?;
        let mut groups = Vec::new();
        let lists = RowLists::new(group_count, |each| {
            self.each_address(&addresses, |_, numbers| {
                groups_of_addresses(numbers, addresses.count, &mut groups);
                each(&groups);
            });
        });
        Ok((Directory::Addresses(addresses), Some(lists)))
    }

    /// `row_count` is without rows whose keys equal nothing.
    fn by_rank(
        &mut self,
        addresses: KeyAddresses,
        row_count: usize,
    ) -> Result<(Directory, Option<RowLists>), ExecError> {
        grow(self.reservation, RankedAddresses::bytes(addresses.count, row_count))?;
        let mut ranks = RankedAddresses::new(addresses.count);
        let mut order = Ascending::default();
        self.each_address(&addresses, |_, numbers| {
            ranks.insert(numbers);
            order.check(numbers);
        });
        let group_count = ranks.count();
        let mut groups = Vec::new();
        // Ranks are rows then.
        if order.holds && row_count == self.row_count {
            return Ok((Directory::Ranks(addresses, ranks), None));
        }
        if group_count == row_count {
            let mut rows = Vec::with_capacity(row_count + 1);
            rows.resize(row_count, 0);
            self.each_address(&addresses, |first_row, numbers| {
                ranks.find(numbers, &mut groups);
                let ranked = (first_row as u32..).zip(&groups).filter(|(_, rank)| **rank != NO_ROW);
                ranked.for_each(|(row, rank)| rows[*rank as usize] = row);
            });
            ranks.set_rows(rows);
            return Ok((Directory::Ranks(addresses, ranks), None));
        }
        grow(self.reservation, RowLists::bytes(group_count, row_count) - row_count * 4)?;
        let lists = RowLists::new(group_count, |each| {
            self.each_address(&addresses, |_, numbers| {
                ranks.find(numbers, &mut groups);
                each(&groups);
            });
        });
        Ok((Directory::Ranks(addresses, ranks), Some(lists)))
    }

    fn hash_addresses(&mut self, addresses: KeyAddresses) -> Result<(Directory, Option<RowLists>), ExecError> {
        grow(self.reservation, HashedAddresses::bytes(self.row_count) + self.row_count * 4)?;
        let mut hashed = HashedAddresses::new(self.row_count, addresses.count);
        let mut groups = Groups::new(self.row_count);
        let mut found = Vec::new();
        self.each_address(&addresses, |first_row, numbers| {
            hashed.insert(numbers, &mut found);
            groups.add(first_row, &found);
        });
        let lists = self.lists(groups)?;
        Ok((Directory::HashedAddresses(addresses, hashed), lists))
    }

    fn hash_columns(&mut self) -> Result<(Directory, Option<RowLists>), ExecError> {
        grow(self.reservation, HashedColumns::bytes(self.row_count) + self.row_count * 4)?;
        let mut hasher = KeyHasher::default();
        let mut hashed = HashedColumns::new(self.row_count);
        let mut groups = Groups::new(self.row_count);
        let (mut hashes, mut found, mut search) = (Vec::new(), Vec::new(), Search::default());
        for rows in vectors(self.row_count) {
            hasher.fill(self.keys, rows.clone(), &mut hashes);
            groups_with_keys(self.keys, rows.clone(), self.spec.nulls_equal, &mut found);
            hashed.insert(self.keys, rows.start as u32, &hashes, &mut search, &mut found);
            groups.add(rows.start, &found);
        }
        let lists = self.lists(groups)?;
        Ok((Directory::HashedColumns(hashed), lists))
    }

    /// Lists of rows by group, if keys repeat and rows matter.
    fn lists(&mut self, groups: Groups) -> Result<Option<RowLists>, ExecError> {
        if groups.unique || self.spec.needs_keys_only() {
            drop(groups);
            if let Some(reservation) = self.reservation {
                reservation.resize(reservation.held() - self.row_count * 4)?;
            }
            return Ok(None);
        }
        grow(self.reservation, RowLists::bytes(self.row_count, self.row_count))?;
        let vectors = |each: &mut dyn FnMut(&[u32])| groups.groups.chunks(VECTOR_ROWS).for_each(each);
        let lists = RowLists::new(self.row_count, vectors);
        drop(groups);
        if let Some(reservation) = self.reservation {
            reservation.resize(reservation.held() - self.row_count * 4)?;
        }
        Ok(Some(lists))
    }

    /// Calls `each` with the addresses of all rows, a vector at a time, and the number of the first.
    fn each_address(&self, addresses: &KeyAddresses, mut each: impl FnMut(usize, &[u64])) {
        let mut numbers = Vec::with_capacity(VECTOR_ROWS);
        for rows in vectors(self.row_count) {
            addresses.fill(self.keys, rows.clone(), &mut numbers);
            each(rows.start, &numbers);
        }
    }
}

/// The group of each row so far.
struct Groups {
    groups: Vec<u32>,
    /// Whether each row is its own group.
    unique: bool,
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

/// Whether numbers that come in vectors ascend strictly.
struct Ascending {
    holds: bool,
    /// One more than the last.
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

/// The rows of each vector.
pub(crate) fn vectors(row_count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..row_count).step_by(VECTOR_ROWS).map(move |start| start..row_count.min(start + VECTOR_ROWS))
}

/// Zero for rows whose keys may equal others, [`NO_ROW`] for those with nulls that equal nothing.
pub(crate) fn groups_with_keys(keys: &[Arc<Vector>], rows: Range<usize>, nulls_equal: bool, groups: &mut Vec<u32>) {
    groups.clear();
    groups.resize(rows.len(), 0);
    if nulls_equal {
        return;
    }
    for valid in keys.iter().filter_map(|key| key.valid()) {
        for (group, valid) in groups.iter_mut().zip(&valid[rows.clone()]) {
            *group |= if *valid { 0 } else { NO_ROW };
        }
    }
}

/// Without a reservation there are no rows, and nothing worth counting.
pub(crate) fn grow(reservation: &mut Option<Reservation>, bytes: usize) -> Result<(), ExecError> {
    match reservation {
        Some(reservation) => reservation.resize(reservation.held() + bytes),
        None => Ok(()),
    }
}
