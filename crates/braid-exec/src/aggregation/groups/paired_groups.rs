//! Groups of an integer key and a query set. The key is found by address, and its set is stored beside it.
//!
//! Most keys have one set, so that a key has space for one group and its set. The groups of further sets are in a hash table.
//! When this table has more groups than there are keys, the caller switches to hashing.

use super::direct_groups::DirectGroups;
use crate::keys::number_map::{NumberMap, pair};

/// The entry for a missing group.
const NONE: u32 = u32::MAX;

/// Number of further groups that are allowed for any number of keys.
const OTHERS_MIN: usize = 1 << 10;

/// Groups by key and set.
#[derive(Debug)]
pub(crate) struct PairedGroups {
    keys: DirectGroups,
    /// For each key, its first set and that set's group.
    first: Vec<(u32, u32)>,
    /// The groups of further sets, by key and set.
    others: NumberMap<u32>,
    /// The keys of the current rows, and the first rows of new keys.
    row_keys: Vec<u32>,
    new_keys: Vec<u32>,
}

impl PairedGroups {
    /// No groups yet.
    pub(crate) fn new(slot_allowance: usize) -> Self {
        Self {
            keys: DirectGroups::new(slot_allowance),
            first: Vec::new(),
            others: NumberMap::default(),
            row_keys: Vec::new(),
            new_keys: Vec::new(),
        }
    }

    /// Replaces `groups` by the groups of the rows, and appends the first row of each new group to `new`. False, without a new
    /// group, if the range of the keys is too large or they have too many sets.
    pub(crate) fn find(
        &mut self,
        keys: &[i64],
        valid: Option<&[bool]>,
        sets: &[i64],
        group_count: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        self.new_keys.clear();
        let key_count = self.first.len();
        if self.others.len() > key_count.max(OTHERS_MIN)
            || !self.keys.find(keys, valid, key_count, &mut self.row_keys, &mut self.new_keys)
        {
            return false;
        }
        self.first.resize(key_count + self.new_keys.len(), (0, NONE));
        let Self { first, others, row_keys, .. } = self;
        groups.clear();
        groups.extend((0..).zip(&*row_keys).zip(sets).map(|((row, key), set)| {
            let set = *set as u32;
            let mut next = || {
                new.push(row);
                (group_count + new.len() - 1) as u32
            };
            match &mut first[*key as usize] {
                (known, group) if *known == set && *group != NONE => *group,
                first if first.1 == NONE => {
                    *first = (set, next());
                    first.1
                }
                _ => *others.entry(pair(*key, set)).or_insert_with(next),
            }
        }));
        true
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        // An entry of the map has a pair, a group and one byte of the hash.
        self.keys.bytes() + self.first.capacity() * 8 + self.others.capacity() * (8 + 8 + 1)
    }
}
