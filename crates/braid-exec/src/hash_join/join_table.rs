//! The build side when it is complete: its columns, its rows by key, and which of them found partners.
//!
//! Shared by all workers that probe. Only the marks change then; they are set and never cleared, so relaxed ordering is
//! enough: whoever reads them has joined the workers before.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use braid_base::VECTOR_ROWS;

use crate::batch::Origin;
use crate::hash_join::build_rows::BuildColumns;
use crate::hash_join::direct_addresses::{Bitmap, DirectRows, groups_of_addresses};
use crate::hash_join::hashed_keys::{HashedAddresses, HashedColumns, Search};
use crate::hash_join::key_addresses::KeyAddresses;
use crate::hash_join::key_hashes::{HashSeed, KeyHasher};
use crate::hash_join::row_lists::RowLists;
use crate::hash_join::{BuildRows, JoinSpec};
use crate::vector::NO_ROW;
use crate::{ExecError, Reservation, Vector};

/// Addresses that an array may have for each row: 64 bytes of it, about what a row takes in a hash table with its lists.
const ADDRESSES_PER_ROW: u64 = 16;

/// Addresses that a bitmap may have for each row: 16 bytes of it.
const BITMAP_ADDRESSES_PER_ROW: u64 = 128;

/// An array of so many addresses is small whatever the number of rows: 256 KiB.
const ADDRESSES_SMALL: u64 = 1 << 16;

/// The build side of a join, to be probed.
pub struct JoinTable {
    pub(crate) spec: JoinSpec,
    /// None are left where the keys are all that matters and lie elsewhere.
    columns: Vec<Arc<Vector>>,
    pub(crate) row_count: usize,
    pub(crate) directory: Directory,
    /// The rows of each group; `None` where a group is its row, or where rows do not matter.
    pub(crate) lists: Option<RowLists>,
    /// Rows whose key equals nothing because of a null.
    pub(crate) null_key_rows: Vec<u32>,
    /// Whether a row found a partner: by row with a residual, by group without one. Empty where nobody asks.
    pub(crate) marks: Vec<AtomicU8>,
    reservation: Option<Reservation>,
}

/// From keys to groups.
pub(crate) enum Directory {
    /// Which keys there are; the only group is zero.
    Members(KeyAddresses, Arc<Bitmap>),
    /// The row of each address.
    Rows(KeyAddresses, DirectRows),
    /// Addresses are groups.
    Addresses(KeyAddresses),
    /// By hash of the address; a group is its first row.
    HashedAddresses(KeyAddresses, HashedAddresses),
    /// By hash of the key; a group is its first row.
    HashedColumns(HashedColumns, HashSeed),
}

/// Where groups are looked up, with room for what is computed on the way; one for each worker.
pub(crate) struct Finder {
    numbers: Vec<u64>,
    hasher: Option<KeyHasher>,
    search: Search,
}

impl JoinTable {
    /// Brings what workers collected together.
    ///
    /// # Errors
    /// When there is not enough memory.
    ///
    /// # Panics
    /// On a join that makes no sense: see [`JoinSpec`].
    pub fn new(spec: JoinSpec, parts: Vec<BuildRows>) -> Result<Self, ExecError> {
        spec.check();
        let BuildColumns { columns, row_count, mut reservation } = BuildRows::unite(spec.build_column_count, parts)?;
        let columns: Vec<Arc<Vector>> = columns.into_iter().map(Arc::new).collect();
        let keys: Vec<Arc<Vector>> = spec.build_keys.iter().map(|key| columns[*key].clone()).collect();
        let null_key_rows = if spec.nulls_equal { Vec::new() } else { null_rows(&keys) };
        let mut builder = Builder { keys: &keys, row_count, spec: &spec, reservation: &mut reservation };
        let (directory, lists) = builder.build(&null_key_rows)?;
        let mark_count = match &lists {
            _ if !spec.kind.marks_build_rows() => 0,
            Some(lists) if !spec.has_residual => lists.group_count(),
            _ => row_count,
        };
        grow(&mut reservation, mark_count + null_key_rows.len() * 4)?;
        let marks = (0..mark_count).map(|_| AtomicU8::new(0)).collect();
        let mut table = Self { spec, columns, row_count, directory, lists, null_key_rows, marks, reservation };
        table.release_columns()?;
        Ok(table)
    }

    /// Drops columns that nobody reads any more.
    fn release_columns(&mut self) -> Result<(), ExecError> {
        if self.spec.needs_keys_only() && !matches!(self.directory, Directory::HashedColumns(..)) {
            let bytes: usize = self.columns.iter().map(|column| column.bytes()).sum();
            self.columns.clear();
            if let Some(reservation) = &mut self.reservation {
                reservation.resize(reservation.held().saturating_sub(bytes))?;
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The key's columns, where they are still held.
    pub(crate) fn keys(&self) -> Vec<Arc<Vector>> {
        self.spec.build_keys.iter().map(|key| self.columns[*key].clone()).collect()
    }

    pub(crate) fn finder(&self) -> Finder {
        let hasher = match &self.directory {
            Directory::HashedColumns(_, seed) => Some(KeyHasher::new(*seed, self.spec.build_keys.len())),
            _ => None,
        };
        Finder { numbers: Vec::new(), hasher, search: Search::default() }
    }

    /// The group of each of a vector of keys, [`NO_ROW`] for none. A group may have no rows.
    pub(crate) fn find(&self, keys: &[Arc<Vector>], row_count: usize, finder: &mut Finder, groups: &mut Vec<u32>) {
        let Finder { numbers, hasher, search } = finder;
        match &self.directory {
            Directory::Members(addresses, bitmap) => {
                addresses.fill(keys, 0..row_count, numbers);
                groups.clear();
                groups.extend(numbers.iter().map(|address| if bitmap.contains(*address) { 0 } else { NO_ROW }));
            }
            Directory::Rows(addresses, rows) => {
                addresses.fill(keys, 0..row_count, numbers);
                rows.find(numbers, groups);
            }
            Directory::Addresses(addresses) => {
                addresses.fill(keys, 0..row_count, numbers);
                groups_of_addresses(numbers, addresses.count, groups);
            }
            Directory::HashedAddresses(addresses, hashed) => {
                addresses.fill(keys, 0..row_count, numbers);
                hashed.find(numbers, groups);
            }
            Directory::HashedColumns(hashed, _) => {
                hasher.as_mut().expect("made for this table").fill(keys, 0..row_count, numbers);
                groups_with_keys(keys, 0..row_count, self.spec.nulls_equal, groups);
                hashed.find(&self.keys(), keys, numbers, search, groups);
            }
        }
    }

    /// Whether the group has rows.
    #[inline]
    pub(crate) fn has_rows(&self, group: u32) -> bool {
        match &self.lists {
            None => group != NO_ROW,
            Some(lists) => {
                let (start, end) = lists.range(group);
                start < end
            }
        }
    }

    /// Notes that a row or group found a partner.
    #[inline]
    pub(crate) fn mark(&self, at: u32) {
        let mark = &self.marks[at as usize];
        // Reading first keeps the line shared between workers when it says so already.
        if mark.load(Ordering::Relaxed) == 0 {
            mark.store(1, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_marked(&self, at: u32) -> bool {
        self.marks[at as usize].load(Ordering::Relaxed) != 0
    }
}

impl Origin for JoinTable {
    fn read(&self, column: usize, rows: &[u32]) -> Vector {
        self.columns[column].take(rows)
    }
}

/// What a table is made from.
struct Builder<'a> {
    keys: &'a [Arc<Vector>],
    row_count: usize,
    spec: &'a JoinSpec,
    reservation: &'a mut Option<Reservation>,
}

impl Builder<'_> {
    fn build(&mut self, null_key_rows: &[u32]) -> Result<(Directory, Option<RowLists>), ExecError> {
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

    fn hash_addresses(&mut self, addresses: KeyAddresses) -> Result<(Directory, Option<RowLists>), ExecError> {
        grow(self.reservation, HashedAddresses::bytes(self.row_count))?;
        let mut hashed = HashedAddresses::new(self.row_count, HashSeed::random());
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
        grow(self.reservation, HashedColumns::bytes(self.row_count))?;
        let seed = HashSeed::random();
        let mut hasher = KeyHasher::new(seed, self.keys.len());
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
        Ok((Directory::HashedColumns(hashed, seed), lists))
    }

    /// Lists of rows by group, if keys repeat and rows matter.
    fn lists(&mut self, groups: Groups) -> Result<Option<RowLists>, ExecError> {
        if groups.unique || self.spec.needs_keys_only() {
            return Ok(None);
        }
        grow(self.reservation, RowLists::bytes(self.row_count, self.row_count))?;
        let vectors = |each: &mut dyn FnMut(&[u32])| groups.groups.chunks(VECTOR_ROWS).for_each(each);
        Ok(Some(RowLists::new(self.row_count, vectors)))
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

/// The rows of each vector.
fn vectors(row_count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..row_count).step_by(VECTOR_ROWS).map(move |start| start..row_count.min(start + VECTOR_ROWS))
}

/// Zero for rows whose keys may equal others, [`NO_ROW`] for those with nulls that equal nothing.
fn groups_with_keys(keys: &[Arc<Vector>], rows: Range<usize>, nulls_equal: bool, groups: &mut Vec<u32>) {
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

fn null_rows(keys: &[Arc<Vector>]) -> Vec<u32> {
    let mut rows = Vec::new();
    for valid in keys.iter().filter_map(|key| key.valid()) {
        rows.extend((0u32..).zip(valid).filter(|(_, valid)| !**valid).map(|(row, _)| row));
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Without a reservation there are no rows, and nothing worth counting.
fn grow(reservation: &mut Option<Reservation>, bytes: usize) -> Result<(), ExecError> {
    match reservation {
        Some(reservation) => reservation.resize(reservation.held() + bytes),
        None => Ok(()),
    }
}
