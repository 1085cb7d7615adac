//! The groups of one partition in a shared pass: for each key, one group for each atom of its sets.
//!
//! Workers have one group for each pair of key and set. This module finds the distinct keys, and the sets of each key. Nearly
//! all keys have one set in all workers, and get one group for that set. The sets of other keys are split into atoms
//! ([`Refinement`]), and a worker's states of a set are merged into the group of each of its atoms.
//!
//! Without keys, every query has one row of results, also without input rows. The module therefore adds the set of all queries
//! with empty states.

use std::borrow::Cow;
use std::sync::Arc;

use crate::aggregation::MERGED_ROWS;
use crate::aggregation::OPERATOR;
use crate::aggregation::groups::group_table::{GROUPS_MAX, GroupTable, KeyOrder, too_many_groups};
use crate::keys::number_map::NumbersMap;
use crate::query_sets::set_calculator::{set_column, sets_of};
use crate::query_sets::set_refinement::{Refinement, Refinements};
use crate::tuning::AggregationTuning;
use crate::values::vector::Vector;
use crate::{ExecError, Reservation, SetNumber};

/// The entry of a key with one set, which needs no refinement.
const WHOLE: u32 = u32::MAX;

/// The keys of a partition, and the sets of each.
#[derive(Debug)]
pub(crate) struct KeySets {
    keys: GroupTable,
    /// The keys and sets of each worker's groups in the partition.
    parts: Vec<Part>,
    /// The first set of each key.
    first: Vec<SetNumber>,
    /// Pairs of a key and a further set.
    others: Vec<(u32, SetNumber)>,
    reservation: Reservation,
}

#[derive(Debug, Default)]
struct Part {
    keys: Vec<u32>,
    sets: Vec<SetNumber>,
}

/// The groups of the partition, and the mapping of workers' groups to them.
#[derive(Debug)]
pub(crate) struct AtomGroups {
    parts: Vec<Part>,
    /// The first group of each key. Empty if each key has exactly one group, with the same number.
    begins: Vec<u32>,
    /// The refinement of each key, or `WHOLE`.
    refined: Vec<u32>,
    refinements: Vec<Arc<Refinement>>,
    /// Bytes without those of one worker's targets.
    bytes: usize,
    reservation: Reservation,
}

/// The target groups of rows.
#[derive(Debug)]
pub(crate) struct Targets {
    groups: Vec<u32>,
    /// The end of each row's groups; empty if each row has one group.
    ends: Vec<u32>,
}

impl KeySets {
    /// No keys.
    pub(crate) fn new(key_count: usize, order: KeyOrder, tuning: AggregationTuning, refinements: &Refinements) -> Self {
        Self {
            keys: GroupTable::new(key_count, order, tuning),
            parts: Vec::new(),
            first: if key_count == 0 { vec![SetNumber::ALL] } else { Vec::new() },
            others: Vec::new(),
            reservation: Reservation::new(refinements.budget().clone(), OPERATOR),
        }
    }

    /// Adds groups of the next worker. The last of its key columns is the set.
    ///
    /// # Errors
    /// When memory is refused.
    pub(crate) fn add(&mut self, keys: &[Vector], rows: &[u32]) -> Result<(), ExecError> {
        let (sets, keys) = keys.split_last().expect("the set is the last key");
        let mut part = Part { keys: Vec::with_capacity(rows.len()), sets: sets_of(&sets.take(rows)) };
        let mut found = Vec::new();
        for rows in rows.chunks(MERGED_ROWS) {
            let keys: Vec<Arc<Vector>> = keys.iter().map(|key| Arc::new(key.take(rows))).collect();
            self.keys.find(&keys, rows.len(), &mut found)?;
            part.keys.extend_from_slice(&found);
        }
        self.first.resize(self.keys.group_count(), SetNumber::EMPTY);
        for (key, set) in part.keys.iter().zip(&part.sets) {
            debug_assert_ne!(*set, SetNumber::EMPTY, "rows with an empty set are not passed on");
            let first = &mut self.first[*key as usize];
            if *first == SetNumber::EMPTY {
                *first = *set;
            } else if first != set {
                self.others.push((*key, *set));
            }
        }
        self.parts.push(part);
        self.reservation.resize(self.bytes())
    }

    fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.keys.len() * 8).sum();
        self.keys.bytes() + parts + self.first.capacity() * 4 + self.others.capacity() * 8
    }

    /// The groups and their key columns; the last one is the set.
    ///
    /// # Errors
    /// When memory is refused, or the group numbers are used up.
    pub(crate) fn refine(mut self, refinements: &Refinements) -> Result<(AtomGroups, Vec<Vector>), ExecError> {
        self.others.sort_unstable();
        self.others.dedup();
        if self.others.is_empty() {
            let keys = self.keys.keys().iter().cloned().chain([set_column(&self.first)]).collect();
            let Self { parts, reservation, .. } = self;
            let (begins, refined, refinements, bytes) = (Vec::new(), Vec::new(), Vec::new(), reservation.held());
            return Ok((AtomGroups { parts, begins, refined, refinements, bytes, reservation }, keys));
        }
        let (refined, refinements) = self.refine_keys(refinements)?;
        let atoms = |refined: u32| refinements.get(refined as usize).map_or(1, |refined| refined.atoms().len());
        let group_count: usize = refined.iter().map(|refined| atoms(*refined)).sum();
        if group_count > GROUPS_MAX {
            return Err(too_many_groups());
        }
        // Each group takes a key, a set and the set's column. Each key takes a first group and a refinement.
        self.reservation.resize(self.bytes() + group_count * (4 + 4 + 8) + refined.len() * (4 + 4))?;
        let (mut key_rows, mut sets) = (Vec::with_capacity(group_count), Vec::with_capacity(group_count));
        let mut begins = Vec::with_capacity(refined.len());
        for (key, refined) in (0..).zip(&refined) {
            begins.push(key_rows.len() as u32);
            match refinements.get(*refined as usize) {
                None => sets.push(self.first[key as usize]),
                Some(refinement) => sets.extend_from_slice(refinement.atoms()),
            }
            key_rows.resize(sets.len(), key);
        }
        let keys = self.keys.keys().iter().map(|key| key.take(&key_rows)).chain([set_column(&sets)]).collect();
        let Self { parts, reservation, .. } = self;
        let bytes = reservation.held();
        Ok((AtomGroups { parts, begins, refined, refinements, bytes, reservation }, keys))
    }

    /// The position of each key's refinement, and the refinements.
    fn refine_keys(&self, refinements: &Refinements) -> Result<(Vec<u32>, Vec<Arc<Refinement>>), ExecError> {
        let mut of_key = vec![WHOLE; self.first.len()];
        let mut positions: NumbersMap<Vec<SetNumber>, u32> = NumbersMap::default();
        let mut used = Vec::new();
        let mut sets: Vec<SetNumber> = Vec::new();
        for others in self.others.chunk_by(|(a, _), (b, _)| a == b) {
            let key = others[0].0 as usize;
            sets.clear();
            sets.push(self.first[key]);
            sets.extend(others.iter().map(|(_, set)| *set));
            sets.sort_unstable();
            of_key[key] = match positions.get(&sets) {
                Some(position) => *position,
                None => {
                    used.push(refinements.of_sets(&sets)?);
                    positions.insert(sets.clone(), used.len() as u32 - 1);
                    used.len() as u32 - 1
                }
            };
        }
        Ok((of_key, used))
    }
}

impl AtomGroups {
    /// The targets of a worker's groups, in the order in which they were added. Can be called once per worker.
    ///
    /// # Errors
    /// When memory is refused.
    pub(crate) fn targets(&mut self, worker: usize) -> Result<Targets, ExecError> {
        let Part { keys, sets } = std::mem::take(&mut self.parts[worker]);
        if self.begins.is_empty() {
            return Ok(Targets { groups: keys, ends: Vec::new() });
        }
        let atoms = |key: u32, set: SetNumber| {
            let refinement = self.refinements.get(self.refined[key as usize] as usize);
            refinement.map_or(&[0][..], |refinement| refinement.atoms_of(set))
        };
        let rows = || keys.iter().copied().zip(sets.iter().copied());
        let target_count: usize = rows().map(|(key, set)| atoms(key, set).len()).sum();
        if target_count > u32::MAX as usize {
            return Err(too_many_groups());
        }
        // Each target takes a group and a row; each row takes an end.
        self.reservation.resize(self.bytes + target_count * (4 + 4) + keys.len() * 4)?;
        let (mut groups, mut ends) = (Vec::with_capacity(target_count), Vec::with_capacity(keys.len()));
        for (key, set) in rows() {
            let begin = self.begins[key as usize];
            groups.extend(atoms(key, set).iter().map(|atom| begin + atom));
            ends.push(groups.len() as u32);
        }
        Ok(Targets { groups, ends })
    }
}

impl Targets {
    /// Targets with one group per row.
    pub(crate) fn one_each(groups: Vec<u32>) -> Self {
        Self { groups, ends: Vec::new() }
    }

    /// The target groups of all rows, row by row.
    pub(crate) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// The rows, each repeated for its target groups.
    pub(crate) fn rows<'a>(&self, rows: &'a [u32]) -> Cow<'a, [u32]> {
        if self.ends.is_empty() {
            return Cow::Borrowed(rows);
        }
        let mut repeated = Vec::with_capacity(self.groups.len());
        for (row, end) in rows.iter().zip(&self.ends) {
            repeated.resize(*end as usize, *row);
        }
        Cow::Owned(repeated)
    }

    /// The target groups of items, given the positions of their rows, and the items, each repeated for its groups.
    pub(crate) fn follow<'a>(&self, places: impl Iterator<Item = u32>, items: &'a [u32]) -> (Vec<u32>, Cow<'a, [u32]>) {
        if self.ends.is_empty() {
            return (places.map(|place| self.groups[place as usize]).collect(), Cow::Borrowed(items));
        }
        let (mut groups, mut repeated) = (Vec::new(), Vec::new());
        for (place, item) in places.zip(items) {
            groups.extend_from_slice(self.of_place(place as usize));
            repeated.resize(groups.len(), *item);
        }
        (groups, Cow::Owned(repeated))
    }

    fn of_place(&self, place: usize) -> &[u32] {
        let begin = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.groups[begin as usize..self.ends[place] as usize]
    }
}
