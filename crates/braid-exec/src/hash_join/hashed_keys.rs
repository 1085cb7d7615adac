//! Keys found by their hashes: open addressing over row numbers, at most half full.
//!
//! A slot holds half of the hash beside the row, so that what is compared is nearly always equal. Of rows with equal
//! keys only the first has a slot; it gives the group its number.

use std::sync::Arc;

use crate::Vector;
use crate::hash_join::key_addresses::NO_ADDRESS;
use crate::hash_join::key_equality::RowPairs;
use crate::hash_join::key_hashes::HashSeed;
use crate::vector::NO_ROW;

/// The half of a hash that a slot holds. The slot's place comes from the other half's low end.
const TAG: u64 = 0xFFFF_FFFF_0000_0000;

/// Slots: a tag in the high half; row + 1 in the low half, zero where the slot is empty.
struct Slots {
    slots: Vec<u64>,
}

impl Slots {
    fn count(row_count: usize) -> usize {
        (row_count * 2).next_power_of_two().max(2)
    }

    fn new(row_count: usize) -> Self {
        Self { slots: vec![0; Self::count(row_count)] }
    }

    /// The place after this one.
    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// From `place` on, the first slot that is empty or has the hash's tag: its place and row, [`NO_ROW`] when empty.
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
        self.slots[place] = hash & TAG | u64::from(row + 1);
    }
}

/// Rows by the hash of their addresses.
pub(crate) struct HashedAddresses {
    slots: Slots,
    seed: HashSeed,
    /// Of each row; [`NO_ADDRESS`] of those without.
    addresses: Vec<u64>,
}

impl HashedAddresses {
    /// Bytes that so many rows take.
    pub(crate) fn bytes(row_count: usize) -> usize {
        Slots::count(row_count) * 8 + row_count * 8
    }

    pub(crate) fn new(row_count: usize, seed: HashSeed) -> Self {
        Self { slots: Slots::new(row_count), seed, addresses: Vec::with_capacity(row_count) }
    }

    /// Of all rows.
    pub(crate) fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    pub(crate) fn seed(&self) -> HashSeed {
        self.seed
    }

    /// Adds the next rows, and says in `groups` which their groups are.
    pub(crate) fn insert(&mut self, addresses: &[u64], groups: &mut Vec<u32>) {
        groups.clear();
        for address in addresses {
            let row = self.addresses.len() as u32;
            self.addresses.push(*address);
            groups.push(if *address == NO_ADDRESS { NO_ROW } else { self.insert_row(*address, row) });
        }
    }

    fn insert_row(&mut self, address: u64, row: u32) -> u32 {
        let hash = self.seed.hash(address);
        let mut place = hash as usize;
        loop {
            let (found, group) = self.slots.next(hash, place);
            if group == NO_ROW {
                self.slots.set(found, hash, row);
                return row;
            }
            if self.addresses[group as usize] == address {
                return group;
            }
            place = self.slots.after(found);
        }
    }

    /// The group of each address, [`NO_ROW`] for none. Slots are read before anything is compared, so that the
    /// processor waits for many of them at once.
    pub(crate) fn find(&self, addresses: &[u64], groups: &mut Vec<u32>) {
        groups.clear();
        let mask = self.slots.slots.len() - 1;
        groups.extend(addresses.iter().map(|address| {
            let hash = self.seed.hash(*address);
            let slot = self.slots.slots[hash as usize & mask];
            // What the slot says if it is empty or its own; otherwise its neighbours must be asked.
            if slot == 0 || *address == NO_ADDRESS {
                NO_ROW
            } else if (slot ^ hash) & TAG == 0 {
                slot as u32 - 1
            } else {
                self.find_from(hash, hash as usize + 1)
            }
        }));
        for (address, group) in addresses.iter().zip(groups.iter_mut()) {
            if *group != NO_ROW && self.addresses[*group as usize] != *address {
                *group = self.find_compared(*address);
            }
        }
    }

    fn find_from(&self, hash: u64, place: usize) -> u32 {
        self.slots.next(hash, place).1
    }

    #[cold]
    fn find_compared(&self, address: u64) -> u32 {
        let hash = self.seed.hash(address);
        let mut place = hash as usize;
        loop {
            let (found, group) = self.slots.next(hash, place);
            if group == NO_ROW || self.addresses[group as usize] == address {
                return group;
            }
            place = self.slots.after(found);
        }
    }
}

/// Rows by the hashes of their keys, which lie in the build side's columns.
pub(crate) struct HashedColumns {
    slots: Slots,
}

/// Rows that look for their group, round by round: each round finds candidates for all, then compares them column by
/// column, and those that differ look on.
#[derive(Default)]
pub(crate) struct Search {
    /// Positions that still look, and where.
    active: Vec<(u32, usize)>,
    /// What is compared in this round.
    left_rows: Vec<u32>,
    right_rows: Vec<u32>,
    equal: Vec<bool>,
}

impl HashedColumns {
    /// Bytes that so many rows take.
    pub(crate) fn bytes(row_count: usize) -> usize {
        Slots::count(row_count) * 8
    }

    pub(crate) fn new(row_count: usize) -> Self {
        Self { slots: Slots::new(row_count) }
    }

    /// Adds rows from `first_row` on, with these hashes, and says in `groups` which their groups are. Rows whose
    /// `groups` are [`NO_ROW`] before are left out.
    pub(crate) fn insert(
        &mut self,
        keys: &[Arc<Vector>],
        first_row: u32,
        hashes: &[u64],
        search: &mut Search,
        groups: &mut [u32],
    ) {
        let slots = &mut self.slots;
        search.run(hashes, groups, first_row, (keys, keys), |hash, place, row| {
            let (found, group) = slots.next(hash, place);
            if group != NO_ROW {
                return Some((found, group));
            }
            slots.set(found, hash, row);
            Some((found, row))
        });
    }

    /// The group of each row, [`NO_ROW`] for none. Rows whose `groups` are [`NO_ROW`] before are left out.
    pub(crate) fn find(
        &self,
        keys: &[Arc<Vector>],
        probe_keys: &[Arc<Vector>],
        hashes: &[u64],
        search: &mut Search,
        groups: &mut [u32],
    ) {
        search.run(hashes, groups, 0, (probe_keys, keys), |hash, place, _| {
            let (found, group) = self.slots.next(hash, place);
            (group != NO_ROW).then_some((found, group))
        });
    }
}

impl Search {
    /// `candidate` has, for a hash, a place and a row, the next place and group that may be the row's.
    fn run(
        &mut self,
        hashes: &[u64],
        groups: &mut [u32],
        first_row: u32,
        (left, right): (&[Arc<Vector>], &[Arc<Vector>]),
        mut candidate: impl FnMut(u64, usize, u32) -> Option<(usize, u32)>,
    ) {
        let looking = (0..).zip(groups.iter()).filter(|(_, group)| **group != NO_ROW);
        self.active.clear();
        self.active.extend(looking.map(|(at, _): (u32, _)| (at, hashes[at as usize] as usize)));
        while !self.active.is_empty() {
            self.left_rows.clear();
            self.right_rows.clear();
            self.active.retain_mut(|(at, place)| {
                let row = first_row + *at;
                let Some((found, group)) = candidate(hashes[*at as usize], *place, row) else {
                    groups[*at as usize] = NO_ROW;
                    return false;
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
