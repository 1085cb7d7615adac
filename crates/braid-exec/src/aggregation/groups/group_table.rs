//! The mapping of key columns to group numbers, which are dense from 0 in order of appearance.
//!
//! There are four methods of finding a group, from the cheapest to the most general: the only group, by ids of few values, by
//! address for one integer key, and by hash. The first vector determines the initial method. A method that no longer
//! suffices is replaced by hashing permanently.

use std::borrow::Cow;
use std::sync::Arc;

use braid_base::ByteSize;

use super::dense_groups::DenseGroups;
use super::direct_groups::DirectGroups;
use super::hashed_groups::HashedGroups;
use super::paired_groups::PairedGroups;
use super::stored_keys::StoredKeys;
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::tuning::AggregationTuning;
use crate::values::narrow_integers::narrow;
use crate::values::vector::{Values, Vector};

/// Limit of group numbers. Higher numbers have special meanings in tables.
pub(crate) const GROUPS_MAX: usize = u32::MAX as usize - 1;

/// Groups, and the method of finding them.
#[derive(Debug)]
pub(crate) struct GroupTable {
    keys: StoredKeys,
    finder: Finder,
    tuning: AggregationTuning,
    /// Whether the last key column holds query sets.
    has_sets: bool,
    new: Vec<u32>,
}

/// The order in which a table receives its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    /// Any order. The table chooses its method by the first keys.
    Any,
    /// The order of the keys' hashes. A table by address would touch another page for each key, so the table hashes from the
    /// start.
    ByHash,
}

#[derive(Debug)]
enum Finder {
    /// The method is undecided before the first lookup.
    Undecided,
    /// Without keys there is exactly one group.
    Single,
    Dense(DenseGroups),
    Direct(DirectGroups),
    /// One integer and a set.
    Paired(PairedGroups),
    Hashed(HashedGroups),
}

impl GroupTable {
    /// A table without groups for `column_count` key columns. Without key columns it has the one group.
    pub(crate) fn new(column_count: usize, order: KeyOrder, tuning: AggregationTuning) -> Self {
        let keys = StoredKeys::new(column_count);
        let finder = match order {
            _ if column_count == 0 => Finder::Single,
            KeyOrder::Any => Finder::Undecided,
            KeyOrder::ByHash => Finder::Hashed(HashedGroups::of_keys(&keys, tuning.hash_slots_min)),
        };
        Self { keys, finder, tuning, has_sets: false, new: Vec::new() }
    }

    /// As [`Self::new`] for keys in any order. The last key column holds query sets.
    pub(crate) fn with_sets(column_count: usize, tuning: AggregationTuning) -> Self {
        Self { has_sets: true, ..Self::new(column_count, KeyOrder::Any, tuning) }
    }

    /// A table of these distinct keys, for reading only.
    pub(crate) fn of_keys(columns: Vec<Vector>, tuning: AggregationTuning) -> Self {
        Self {
            keys: StoredKeys::of_columns(columns),
            finder: Finder::Undecided,
            tuning,
            has_sets: false,
            new: Vec::new(),
        }
    }

    /// Replaces `groups` by the groups of the rows.
    ///
    /// # Errors
    /// When the group numbers are used up.
    pub(crate) fn find(
        &mut self,
        keys: &[Arc<Vector>],
        row_count: usize,
        groups: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        if self.keys.count() + row_count > GROUPS_MAX {
            return Err(too_many_groups());
        }
        if matches!(self.finder, Finder::Undecided) && row_count > 0 {
            self.finder = self.decide(keys);
        }
        let is_found = self.find_without_hashing(keys, row_count, groups)
            || self.pair_up() && self.find_without_hashing(keys, row_count, groups);
        if !is_found {
            self.finder = Finder::Hashed(HashedGroups::of_keys(&self.keys, self.tuning.hash_slots_min));
        }
        if let Finder::Hashed(hashed) = &mut self.finder {
            hashed.find(keys, row_count, &mut self.keys, groups);
        }
        Ok(())
    }

    /// False if the current method does not suffice.
    fn find_without_hashing(&mut self, keys: &[Arc<Vector>], row_count: usize, groups: &mut Vec<u32>) -> bool {
        let (group_count, new) = (self.keys.count(), &mut self.new);
        new.clear();
        let found = match &mut self.finder {
            Finder::Hashed(_) => return true,
            Finder::Single | Finder::Undecided => {
                groups.clear();
                groups.resize(row_count, 0);
                true
            }
            Finder::Dense(dense) => dense.find(keys, row_count, group_count, groups, new),
            Finder::Direct(direct) => {
                integers(&keys[0]).is_some_and(|values| direct.find(&values, keys[0].valid(), group_count, groups, new))
            }
            Finder::Paired(paired) => find_paired(paired, keys, group_count, groups, new),
        };
        if found {
            self.keys.append(keys, &self.new);
        }
        found
    }

    /// Switches from ids of few values to pairs of one integer and a set. False if the keys are not such pairs.
    fn pair_up(&mut self) -> bool {
        if !self.has_sets || self.keys.columns().len() != 2 || !matches!(self.finder, Finder::Dense(_)) {
            return false;
        }
        let mut paired = PairedGroups::new(self.tuning.direct_slots);
        let keys: Vec<Arc<Vector>> = self.keys.columns().iter().cloned().map(Arc::new).collect();
        // The keys are distinct, so that the groups keep their numbers.
        let is_found = find_paired(&mut paired, &keys, 0, &mut Vec::new(), &mut Vec::new());
        if is_found {
            self.finder = Finder::Paired(paired);
        }
        is_found
    }

    fn decide(&self, keys: &[Arc<Vector>]) -> Finder {
        match keys[0].values() {
            Values::Int(_) | Values::Int128(_) if keys.len() == 1 => {
                Finder::Direct(DirectGroups::new(self.tuning.direct_slots))
            }
            _ => Finder::Dense(DenseGroups::new(keys.len(), self.tuning.dense_index_bits)),
        }
    }

    /// Whether groups are found by hashing.
    pub(crate) fn is_hashed(&self) -> bool {
        matches!(self.finder, Finder::Hashed(_))
    }

    /// Number of groups.
    pub(crate) fn group_count(&self) -> usize {
        if matches!(self.finder, Finder::Single) { 1 } else { self.keys.count() }
    }

    /// The key columns: row g is the key of group g.
    pub(crate) fn keys(&self) -> &[Vector] {
        self.keys.columns()
    }

    /// Ends the lookups, and keeps only the keys.
    pub(crate) fn finish(&mut self) {
        self.keys.shrink();
        if !matches!(self.finder, Finder::Single) {
            self.finder = Finder::Undecided;
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let finder = match &self.finder {
            Finder::Undecided | Finder::Single => 0,
            Finder::Dense(dense) => dense.bytes(),
            Finder::Direct(direct) => direct.bytes(),
            Finder::Paired(paired) => paired.bytes(),
            Finder::Hashed(hashed) => hashed.bytes(),
        };
        self.keys.bytes() + finder
    }
}

fn find_paired(
    paired: &mut PairedGroups,
    keys: &[Arc<Vector>],
    group_count: usize,
    groups: &mut Vec<u32>,
    new: &mut Vec<u32>,
) -> bool {
    let sets = integers(&keys[1]).expect("sets are integers");
    let found = |values: Cow<'_, [i64]>| paired.find(&values, keys[0].valid(), &sets, group_count, groups, new);
    integers(&keys[0]).is_some_and(found)
}

/// The integers of a vector, if all fit 64 bits.
fn integers(vector: &Vector) -> Option<Cow<'_, [i64]>> {
    match vector.values() {
        Values::Int(values) => Some(Cow::Borrowed(values)),
        Values::Int128(values) => narrow(values, vector.valid()).map(Cow::Owned),
        _ => None,
    }
}

pub(crate) fn too_many_groups() -> ExecError {
    let reason = format!("an aggregation has at most {GROUPS_MAX} groups");
    ExecError::Memory(MemoryExceeded { operator: "aggregation", asked: ByteSize(0), reason })
}
