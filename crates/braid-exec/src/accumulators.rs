//! Aggregates by (group, owner): an owner is a bucket of rows while a pass is under way, a query once it is over.
//!
//! Each aggregate keeps its state in columns over slots; a slot belongs to one (group, owner). Sums are 128 bits wide, so
//! sums of 64-bit values cannot overflow: 2^64 rows would have to be added.

use crate::integer_expression::{IntegerExpression, IntegerOverflow, IntegerVector};
use crate::multiplicative_hasher::{NumberMap, pair};

/// Entries of the cache of slots: the (group, owner) pairs of a busy vector, 4096 * 16 bytes.
const CACHE_ENTRIES: usize = 1 << 12;

/// An aggregate function and its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// `count(*)`.
    CountRows,
    /// `count(x)`: rows where it is not null.
    Count(IntegerExpression),
    /// `sum(x)`; null without a value.
    Sum(IntegerExpression),
    /// `min(x)`; null without a value.
    Minimum(IntegerExpression),
    /// `max(x)`; null without a value.
    Maximum(IntegerExpression),
}

impl Aggregate {
    /// The argument; none for `count(*)`.
    pub fn argument(&self) -> Option<&IntegerExpression> {
        match self {
            Self::CountRows => None,
            Self::Count(argument) | Self::Sum(argument) | Self::Minimum(argument) | Self::Maximum(argument) => {
                Some(argument)
            }
        }
    }
}

/// The aggregates of all slots.
#[derive(Debug)]
pub(crate) struct Accumulators {
    slots: NumberMap<u32>,
    cache: Box<[(u64, u32)]>,
    /// The group and the owner of each slot.
    owners: Vec<(u32, u32)>,
    row_counts: Vec<u64>,
    states: Vec<State>,
}

/// One aggregate's state for each slot.
#[derive(Debug)]
struct State {
    combine: Combine,
    /// Values that were not null.
    counts: Vec<u64>,
    /// Meaningless where the count is 0.
    values: Vec<i128>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combine {
    Nothing,
    Sum,
    Minimum,
    Maximum,
}

impl Accumulators {
    pub(crate) fn new(aggregates: &[Aggregate]) -> Self {
        let state = |aggregate: &Aggregate| {
            let combine = match aggregate {
                Aggregate::CountRows | Aggregate::Count(_) => Combine::Nothing,
                Aggregate::Sum(_) => Combine::Sum,
                Aggregate::Minimum(_) => Combine::Minimum,
                Aggregate::Maximum(_) => Combine::Maximum,
            };
            State { combine, counts: Vec::new(), values: Vec::new() }
        };
        // No slot of group u32::MAX exists, so an unused entry answers nothing.
        let cache = vec![(u64::MAX, 0); CACHE_ENTRIES].into();
        let states = aggregates.iter().map(state).collect();
        Self { slots: NumberMap::default(), cache, owners: Vec::new(), row_counts: Vec::new(), states }
    }

    /// The slot of a group and an owner.
    #[inline]
    pub(crate) fn slot(&mut self, group: u32, owner: u32) -> u32 {
        let key = pair(group, owner);
        let at = (group.wrapping_mul(0x9E37_79B1) ^ owner) as usize % CACHE_ENTRIES;
        let (cached, slot) = self.cache[at];
        if cached == key {
            return slot;
        }
        let slot = self.find_slot(key, group, owner);
        self.cache[at] = (key, slot);
        slot
    }

    fn find_slot(&mut self, key: u64, group: u32, owner: u32) -> u32 {
        let next = self.owners.len() as u32;
        let slot = *self.slots.entry(key).or_insert(next);
        if slot == next {
            self.owners.push((group, owner));
            self.row_counts.push(0);
            for state in &mut self.states {
                state.counts.push(0);
                state.values.push(0);
            }
        }
        slot
    }

    /// Counts a row in each of the slots.
    pub(crate) fn count_rows(&mut self, slots: &[u32]) {
        slots.iter().for_each(|slot| self.row_counts[*slot as usize] += 1);
    }

    /// Adds to an aggregate the values at `rows` of its argument, each to the slot beside it; where `valid` says false
    /// the value is null.
    pub(crate) fn add(
        &mut self,
        aggregate: usize,
        slots: &[u32],
        rows: &[u16],
        values: &IntegerVector,
        valid: Option<&[bool]>,
    ) -> Result<(), IntegerOverflow> {
        let state = &mut self.states[aggregate];
        match (values, valid) {
            (IntegerVector::Narrow(values), None) if state.combine == Combine::Sum => {
                for (slot, row) in slots.iter().zip(rows) {
                    let slot = *slot as usize;
                    state.counts[slot] += 1;
                    // 2^64 values of 64 bits fit 128.
                    state.values[slot] += i128::from(values[usize::from(*row)]);
                }
                Ok(())
            }
            (IntegerVector::Narrow(values), _) => state.add_each(slots, rows, |row| i128::from(values[row]), valid),
            (IntegerVector::Wide(values), _) => state.add_each(slots, rows, |row| values[row], valid),
        }
    }

    /// The group and the owner of each slot.
    pub(crate) fn owners(&self) -> &[(u32, u32)] {
        &self.owners
    }

    /// Adds what a slot of `other`, which has the same aggregates, has come to.
    pub(crate) fn fold(&mut self, slot: u32, other: &Self, other_slot: u32) -> Result<(), IntegerOverflow> {
        let (to, from) = (slot as usize, other_slot as usize);
        self.row_counts[to] += other.row_counts[from];
        for (state, other) in self.states.iter_mut().zip(&other.states) {
            state.fold(to, other.counts[from], other.values[from])?;
        }
        Ok(())
    }

    /// The results of a slot: for `count(*)` its rows, for `count` its values, else null without any.
    pub(crate) fn results(&self, aggregates: &[Aggregate], slot: u32) -> Box<[Option<i128>]> {
        let slot = slot as usize;
        let result = |(aggregate, state): (&Aggregate, &State)| match aggregate {
            Aggregate::CountRows => Some(self.row_counts[slot].into()),
            Aggregate::Count(_) => Some(state.counts[slot].into()),
            _ => (state.counts[slot] > 0).then(|| state.values[slot]),
        };
        aggregates.iter().zip(&self.states).map(result).collect()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        // A slot: its entry in the map, its owner, its rows; a count and a value for each aggregate.
        self.owners.len() * (24 + 8 + 8 + self.states.len() * 24) + size_of_val(&*self.cache)
    }
}

impl State {
    fn add_each(
        &mut self,
        slots: &[u32],
        rows: &[u16],
        value: impl Fn(usize) -> i128,
        valid: Option<&[bool]>,
    ) -> Result<(), IntegerOverflow> {
        for (slot, row) in slots.iter().zip(rows) {
            let row = usize::from(*row);
            if valid.is_none_or(|valid| valid[row]) {
                self.fold(*slot as usize, 1, value(row))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn fold(&mut self, slot: usize, count: u64, value: i128) -> Result<(), IntegerOverflow> {
        if count == 0 {
            return Ok(());
        }
        let before = self.values[slot];
        self.values[slot] = match self.combine {
            Combine::Nothing => 0,
            Combine::Sum => before.checked_add(value).ok_or(IntegerOverflow)?,
            _ if self.counts[slot] == 0 => value,
            Combine::Minimum => before.min(value),
            Combine::Maximum => before.max(value),
        };
        self.counts[slot] += count;
        Ok(())
    }
}
