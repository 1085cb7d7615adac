//! Groups found by hashing: open addressing on group numbers, with the hash beside the number.
//!
//! A slot holds the upper 32 bits of the hash and the group. The upper bits also determine the first position, so that a table
//! that doubles is read and written sequentially, and no hash is computed twice. A vector of rows is looked up in three
//! loops without dependencies between rows: find the slot with an equal hash, store the keys of free slots, and compare the
//! keys of the others column by column. The few rows whose keys differ continue the search.

use std::sync::Arc;

use super::stored_keys::StoredKeys;
use crate::Vector;
use crate::keys::key_hashes::KeyHasher;

/// A free slot: an unused group number.
const FREE: u64 = u64::MAX;

/// Groups by hash.
#[derive(Debug)]
pub(crate) struct HashedGroups {
    /// The slots: upper half of the hash, and group. Their number is a power of two, and at most 5/8 are used.
    slots: Vec<u64>,
    hasher: KeyHasher,
    scratch: Scratch,
}

/// Buffers of a lookup, which are reused.
#[derive(Debug, Default)]
struct Scratch {
    hashes: Vec<u64>,
    /// The current position of each row.
    positions: Vec<u32>,
    /// The rows without a group.
    pending: Vec<u32>,
    candidates: Vec<u32>,
    new: Vec<u32>,
}

impl HashedGroups {
    /// A table of the groups that have these keys, of at least this many slots.
    pub(crate) fn of_keys(keys: &StoredKeys, slots_min: usize) -> Self {
        let slots = vec![FREE; slot_count(keys.count()).max(slots_min)];
        let mut table = Self { slots, hasher: KeyHasher::default(), scratch: Scratch::default() };
        let mut hashes = Vec::new();
        KeyHasher::default().fill(keys.columns(), 0..keys.count(), &mut hashes);
        for (group, hash) in hashes.iter().enumerate() {
            insert(&mut table.slots, (hash >> 32) << 32 | group as u64);
        }
        table
    }

    /// Replaces `groups` by the groups of the rows, and appends new keys to `stored`.
    pub(crate) fn find(
        &mut self,
        keys: &[Arc<Vector>],
        row_count: usize,
        stored: &mut StoredKeys,
        groups: &mut Vec<u32>,
    ) {
        self.grow(stored.count() + row_count);
        self.hasher.fill(keys, 0..row_count, &mut self.scratch.hashes);
        let Scratch { hashes, positions, pending, candidates, new } = &mut self.scratch;
        let shift = shift(self.slots.len());
        positions.clear();
        positions.extend(hashes.iter().map(|hash| (hash >> shift) as u32));
        groups.clear();
        groups.resize(row_count, 0);
        pending.clear();
        pending.extend(0..row_count as u32);
        while !pending.is_empty() {
            candidates.clear();
            new.clear();
            let mut next = stored.count() as u32;
            let mask = self.slots.len() - 1;
            for row in &*pending {
                let at = *row as usize;
                let tag = hashes[at] >> 32;
                let mut position = positions[at] as usize;
                loop {
                    let slot = &mut self.slots[position & mask];
                    if *slot == FREE {
                        *slot = tag << 32 | u64::from(next);
                        groups[at] = next;
                        next += 1;
                        new.push(*row);
                        break;
                    }
                    if *slot >> 32 == tag {
                        groups[at] = *slot as u32;
                        positions[at] = position as u32;
                        candidates.push(*row);
                        break;
                    }
                    position = (position + 1) & mask;
                }
            }
            stored.append(keys, new);
            pending.clear();
            stored.retain_equal(keys, groups, candidates, pending);
            pending.iter().for_each(|row| {
                let position = &mut positions[*row as usize];
                *position = ((*position as usize + 1) & mask) as u32;
            });
        }
    }

    fn grow(&mut self, group_count: usize) {
        if slot_count(group_count) <= self.slots.len() {
            return;
        }
        let slots = vec![FREE; slot_count(group_count)];
        let full = std::mem::replace(&mut self.slots, slots);
        full.into_iter().filter(|slot| *slot != FREE).for_each(|slot| insert(&mut self.slots, slot));
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * 8 + self.hasher.bytes()
    }
}

/// Number of slots for `group_count` groups.
fn slot_count(group_count: usize) -> usize {
    (group_count * 8).div_ceil(5).next_power_of_two()
}

/// The shift that turns a hash into its first position.
fn shift(slot_count: usize) -> u32 {
    64 - slot_count.trailing_zeros()
}

/// Inserts the contents of a slot at the first free position of its search.
fn insert(slots: &mut [u64], contents: u64) {
    let mask = slots.len() - 1;
    let mut position = (contents >> shift(slots.len())) as usize;
    while slots[position] != FREE {
        position = (position + 1) & mask;
    }
    slots[position] = contents;
}
