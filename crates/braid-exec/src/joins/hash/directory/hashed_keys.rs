//! Hash tables of keys: open addressing over row numbers, at most half full.
//!
//! A slot holds half of the hash beside the row, so that compared keys are nearly always equal. Of the rows with equal keys,
//! only the first has a slot; its number is the number of the group.

use std::sync::Arc;

use crate::Vector;
use crate::keys::key_addresses::NO_ADDRESS;
use crate::keys::key_equality::RowPairs;
use crate::keys::key_hashes::HashSeed;
use crate::values::vector::NO_ROW;

/// The half of a hash that a slot holds. The low bits of the other half give the slot's position.
pub(crate) const TAG: u64 = 0xFFFF_FFFF_0000_0000;

/// Slots: a tag in the high half, and row + 1 in the low half, which is zero in an empty slot.
struct Slots {
    slots: Vec<u64>,
}

impl Slots {
    fn new(row_count: usize) -> Self {
        Self { slots: vec![0; slot_count(row_count)] }
    }

    /// The next position.
    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// The first slot from `place` on that is empty or has the hash's tag: its position and row, [`NO_ROW`] if empty.
    #[inline]
    fn next(&self, hash: u64, mut place: usize) -> (usize, u32) {
        place &= self.slots.len() - 1;
        loop {
            let slot = self.slots[place];
            if slot == 0 || (slot ^ hash) & TAG == 0 {
                return (place, (slot as u32).wrapping_sub(1));
            }
            place = self.after(place);
        }
    }

    fn set(&mut self, place: usize, hash: u64, row: u32) {
        self.slots[place] = slot(hash, row);
    }
}

/// The contents of the slot of a row.
#[inline]
pub(crate) fn slot(hash: u64, row: u32) -> u64 {
    hash & TAG | u64::from(row + 1)
}

/// Number of slots for `row_count` rows: a power of two.
pub(crate) fn slot_count(row_count: usize) -> usize {
    (row_count * 2).next_power_of_two().max(2)
}

/// Rows by the hash of their addresses.
pub(crate) struct HashedAddresses {
    slots: Slots,
    seed: HashSeed,
    /// Whether addresses fit into a slot. They are then the tags, and a match of tags is exact.
    is_exact: bool,
    /// The address of each row, or [`NO_ADDRESS`].
    addresses: Vec<u64>,
}

impl HashedAddresses {
    /// Bytes for `row_count` rows.
    pub(crate) fn bytes(row_count: usize) -> usize {
        slot_count(row_count) * 8 + row_count * 8
    }

    /// Whether addresses below `address_count` fit into a slot.
    pub(crate) fn are_exact(address_count: u64) -> bool {
        // An address of 32 ones would look like none.
        address_count <= u64::from(u32::MAX)
    }

    /// An empty table for `row_count` rows with addresses below `address_count`.
    pub(crate) fn new(row_count: usize, address_count: u64) -> Self {
        Self {
            slots: Slots::new(row_count),
            seed: HashSeed::of_process(),
            is_exact: Self::are_exact(address_count),
            addresses: Vec::with_capacity(row_count),
        }
    }

    /// A table of filled slots and the addresses of all rows.
    pub(crate) fn of_slots(slots: Vec<u64>, addresses: Vec<u64>, address_count: u64) -> Self {
        let is_exact = Self::are_exact(address_count);
        Self { slots: Slots { slots }, seed: HashSeed::of_process(), is_exact, addresses }
    }

    /// The addresses of all rows.
    pub(crate) fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Adds the next rows, and writes their groups to `groups`.
    pub(crate) fn insert(&mut self, addresses: &[u64], groups: &mut Vec<u32>) {
        groups.clear();
        for address in addresses {
            let row = self.addresses.len() as u32;
            self.addresses.push(*address);
            groups.push(if *address == NO_ADDRESS { NO_ROW } else { self.insert_row(*address, row) });
        }
    }

    /// Adds a row with this address, and returns its group.
    pub(crate) fn insert_row(&mut self, address: u64, row: u32) -> u32 {
        let (place, group) = self.look_up(address);
        if group != NO_ROW {
            return group;
        }
        let tag = address_tag(self.is_exact, address, self.seed.hash(address));
        self.slots.set(place, tag, row);
        row
    }

    /// The position and group of an address; the position of an empty slot and [`NO_ROW`] if the address is missing.
    fn look_up(&self, address: u64) -> (usize, u32) {
        let hash = self.seed.hash(address);
        let tag = address_tag(self.is_exact, address, hash);
        let mut place = hash as usize;
        loop {
            let (found, group) = self.slots.next(tag, place);
            if group == NO_ROW || self.is_exact || self.addresses[group as usize] == address {
                return (found, group);
            }
            place = self.slots.after(found);
        }
    }

    /// The group of each address, or [`NO_ROW`]. `active` is a buffer for positions.
    pub(crate) fn find(&self, addresses: &[u64], active: &mut Vec<u32>, groups: &mut Vec<u32>) {
        groups.clear();
        groups.resize(addresses.len(), NO_ROW);
        if self.is_exact {
            self.find_tags(addresses, active, groups, |address, _| address << 32);
        } else {
            self.find_tags(addresses, active, groups, |_, hash| hash);
            self.correct(addresses, groups);
        }
    }

    /// Searches in rounds, one slot per active row and round. The loop has no branches on the result, because hits and misses
    /// are unpredictable.
    #[inline]
    fn find_tags(&self, addresses: &[u64], active: &mut Vec<u32>, groups: &mut [u32], tag: impl Fn(u64, u64) -> u64) {
        let slots = self.slots.slots.as_slice();
        let look = |address: u64, round: usize| {
            let hash = self.seed.hash(address);
            let slot = slots[(hash as usize).wrapping_add(round) & (slots.len() - 1)];
            let is_found = (slot ^ tag(address, hash)) & TAG == 0 && slot != 0;
            (if is_found { (slot as u32).wrapping_sub(1) } else { NO_ROW }, slot != 0 && !is_found)
        };
        active.resize(addresses.len(), 0);
        let mut count = 0;
        for (at, (address, group)) in addresses.iter().zip(groups.iter_mut()).enumerate() {
            let (found, goes_on) = look(*address, 0);
            *group = found;
            active[count] = at as u32;
            count += usize::from(goes_on);
        }
        let mut round = 1;
        while count > 0 {
            let looking = count;
            count = 0;
            for at in 0..looking {
                let position = active[at] as usize;
                let (found, goes_on) = look(addresses[position], round);
                groups[position] = found;
                active[count] = position as u32;
                count += usize::from(goes_on);
            }
            round += 1;
        }
    }

    /// Repeats the search for rows whose tag matched another address.
    fn correct(&self, addresses: &[u64], groups: &mut [u32]) {
        let last = self.addresses.len().saturating_sub(1);
        let is_wrong = |address: u64, group: u32| {
            // Reading an arbitrary address for rows without a match costs less than a branch.
            let found = self.addresses.get((group as usize).min(last)).copied();
            group != NO_ROW && found != Some(address)
        };
        let any_wrong = addresses.iter().zip(groups.iter()).fold(false, |any, (a, g)| any | is_wrong(*a, *g));
        if any_wrong {
            for (address, group) in addresses.iter().zip(groups) {
                if is_wrong(*address, *group) {
                    *group = self.look_up(*address).1;
                }
            }
        }
    }
}

/// The tag of an address.
#[inline]
pub(crate) fn address_tag(is_exact: bool, address: u64, hash: u64) -> u64 {
    if is_exact { address << 32 } else { hash }
}

/// Rows by the hashes of their keys, which are in the build side's columns.
pub(crate) struct HashedColumns {
    slots: Slots,
}

/// A search for the groups of rows, in rounds. Each round finds candidates for all active rows and compares them column by
/// column. Rows whose keys differ stay active.
#[derive(Default)]
pub(crate) struct Search {
    /// The active rows, and the position of each.
    active: Vec<(u32, usize)>,
    /// The comparisons of this round.
    left_rows: Vec<u32>,
    right_rows: Vec<u32>,
    equal: Vec<bool>,
}

/// The result of one step of a search.
pub(crate) enum Candidate {
    /// The position and number of a group whose key may equal the row's.
    Group(usize, u32),
    /// The row's final group, or [`NO_ROW`], without a comparison.
    Certain(u32),
}

impl HashedColumns {
    /// Bytes for `row_count` rows.
    pub(crate) fn bytes(row_count: usize) -> usize {
        slot_count(row_count) * 8
    }

    pub(crate) fn new(row_count: usize) -> Self {
        Self { slots: Slots::new(row_count) }
    }

    /// A table of filled slots.
    pub(crate) fn of_slots(slots: Vec<u64>) -> Self {
        Self { slots: Slots { slots } }
    }

    /// Adds rows with these hashes, and writes their groups to `groups`. `row_at` returns the number of a row. Rows whose entry
    /// in `groups` is [`NO_ROW`] are skipped.
    pub(crate) fn insert(
        &mut self,
        keys: &[Arc<Vector>],
        row_at: impl Fn(u32) -> u32,
        hashes: &[u64],
        search: &mut Search,
        groups: &mut [u32],
    ) {
        let slots = &mut self.slots;
        search.run(hashes, groups, row_at, (keys, keys), |hash, place, row| {
            let (found, group) = slots.next(hash, place);
            if group != NO_ROW {
                return Candidate::Group(found, group);
            }
            slots.set(found, hash, row);
            Candidate::Certain(row)
        });
    }

    /// The group of each row, or [`NO_ROW`]. Rows whose entry in `groups` is [`NO_ROW`] are skipped.
    pub(crate) fn find(
        &self,
        keys: &[Arc<Vector>],
        probe_keys: &[Arc<Vector>],
        hashes: &[u64],
        search: &mut Search,
        groups: &mut [u32],
    ) {
        search.run(
            hashes,
            groups,
            |at| at,
            (probe_keys, keys),
            |hash, place, _| {
                let (found, group) = self.slots.next(hash, place);
                if group == NO_ROW { Candidate::Certain(NO_ROW) } else { Candidate::Group(found, group) }
            },
        );
    }
}

impl Search {
    /// Runs the search. `candidate` returns the next possible group for a hash, a position and a row; `row_at` returns the row
    /// at a position.
    pub(crate) fn run(
        &mut self,
        hashes: &[u64],
        groups: &mut [u32],
        row_at: impl Fn(u32) -> u32,
        (left, right): (&[Arc<Vector>], &[Arc<Vector>]),
        mut candidate: impl FnMut(u64, usize, u32) -> Candidate,
    ) {
        let looking = (0..).zip(groups.iter()).filter(|(_, group)| **group != NO_ROW);
        self.active.clear();
        self.active.extend(looking.map(|(at, _): (u32, _)| (at, hashes[at as usize] as usize)));
        while !self.active.is_empty() {
            self.left_rows.clear();
            self.right_rows.clear();
            self.active.retain_mut(|(at, place)| {
                let row = row_at(*at);
                let (found, group) = match candidate(hashes[*at as usize], *place, row) {
                    Candidate::Group(found, group) => (found, group),
                    Candidate::Certain(group) => {
                        groups[*at as usize] = group;
                        return false;
                    }
                };
                groups[*at as usize] = group;
                *place = found + 1;
                self.left_rows.push(row);
                self.right_rows.push(group);
                true
            });
            let pairs = RowPairs { left_rows: &self.left_rows, right_rows: &self.right_rows };
            pairs.compare(left, right, &mut self.equal);
            let mut equal = self.equal.iter();
            self.active.retain(|_| equal.next() == Some(&false));
        }
    }
}
