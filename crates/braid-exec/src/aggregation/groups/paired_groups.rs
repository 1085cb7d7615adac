//! Groups of an integer key and a set of queries: the key by address, and its set beside it.
//!
//! Most keys come with one set, so a key has room for one group and its set, and what else it comes with is in a table of
//! hashes. When that has more groups than there are keys, the caller goes over to hashing.

use super::direct_groups::DirectGroups;
use crate::keys::multiplicative_hasher::{NumberMap, pair};

/// No group.
const NONE: u32 = u32::MAX;

/// Groups that keys may have beside their first, for as long as there are few keys.
const OTHERS_MIN: usize = 1 << 10;

/// Groups by key and set.
#[derive(Debug)]
pub(crate) struct PairedGroups {
    keys: DirectGroups,
    /// By key: the set it came with first, and its group.
    first: Vec<(u32, u32)>,
    /// The groups of other sets, by key and set.
    others: NumberMap<u32>,
    /// Keys of the rows that are looked up, and the first rows of new ones.
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

    /// Replaces `groups` by the groups of the rows; the rows of the first of each new group are appended to `new`. False,
    /// without a new group, when the keys lie too far apart or have too many sets.
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
        // An entry of the map is a pair, a group and a byte of its hash.
        self.keys.bytes() + self.first.capacity() * 8 + self.others.capacity() * (8 + 8 + 1)
    }
}
