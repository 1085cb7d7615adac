//! States of numbers by group: each has a fixed size, and they lie side by side in memory.
//!
//! What a state is and what becomes of it is defined by braid-sql, for these and for its accumulators alike, so that both give the same
//! answers. Here rows are taken from arrays of numbers, without a value for each. A part of a state is its words in little-endian order.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryViewBuilder, Float64Array, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Float64Type, Int64Type};
use braid_exec::ExecError;
use braid_exec::plan::{ForeignError, ForeignStates};
use braid_exec::runtime::stop::StopFlag;
use braid_sql::aggregates::FixedState;
use braid_sql::aggregates::floats::{FloatFinish, FloatMoments};
use braid_sql::aggregates::folds::BitOperation;
use braid_sql::aggregates::regressions::{PairFinish, PairMoments};
use braid_sql::{SqlError, SqlState};

/// States of no groups.
pub(super) fn states_of(state: FixedState) -> Box<dyn ForeignStates> {
    match state {
        FixedState::Floats(finish) => Box::new(FixedStates::new(OfFloats(finish))),
        FixedState::Pairs(finish) => Box::new(FixedStates::new(OfPairs(finish))),
        FixedState::PairCount => Box::new(FixedStates::new(PairCounts)),
        FixedState::Bits(operation) => Box::new(FixedStates::new(OfBits(operation))),
    }
}

/// An aggregate whose states have `WORDS` words.
trait FixedAggregate<const WORDS: usize>: fmt::Debug + Send + Sync {
    /// The state; the default is that of no rows.
    type State: Copy + Default + fmt::Debug + Send + Sync;

    /// Takes rows in, given by their groups and their arguments.
    fn update(&self, states: &mut [Self::State], groups: &[u32], arguments: &[ArrayRef]) -> Result<(), SqlError>;

    /// The state of the rows of both.
    fn merged(&self, one: &Self::State, other: &Self::State) -> Result<Self::State, SqlError>;

    fn words(&self, state: &Self::State) -> [u64; WORDS];

    fn of_words(&self, words: [u64; WORDS]) -> Self::State;

    /// The result of each state.
    fn results(&self, states: impl Iterator<Item = Self::State>) -> ArrayRef;
}

/// A state for each group.
#[derive(Debug)]
struct FixedStates<A: FixedAggregate<WORDS>, const WORDS: usize> {
    aggregate: A,
    groups: Vec<A::State>,
}

impl<A: FixedAggregate<WORDS>, const WORDS: usize> FixedStates<A, WORDS> {
    fn new(aggregate: A) -> Self {
        Self { aggregate, groups: Vec::new() }
    }
}

impl<A: FixedAggregate<WORDS>, const WORDS: usize> ForeignStates for FixedStates<A, WORDS> {
    fn update(&mut self, groups: &[u32], group_count: usize, arguments: &[ArrayRef]) -> Result<(), ForeignError> {
        self.groups.resize(group_count, A::State::default());
        Ok(self.aggregate.update(&mut self.groups, groups, arguments)?)
    }

    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError> {
        let mut parts = BinaryViewBuilder::with_capacity(groups.len());
        let mut part = Vec::with_capacity(size_of::<[u64; WORDS]>());
        for group in groups {
            match self.groups.get(*group as usize) {
                None => parts.append_null(),
                Some(state) => {
                    part.clear();
                    part.extend(self.aggregate.words(state).iter().flat_map(|word| word.to_le_bytes()));
                    parts.append_value(&part);
                }
            }
        }
        Ok(Arc::new(parts.finish()))
    }

    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError> {
        self.groups.resize(group_count, A::State::default());
        for (group, part) in groups.iter().zip(parts.as_binary_view()) {
            let Some(part) = part else { continue };
            let (words, rest) = part.as_chunks::<{ size_of::<u64>() }>();
            let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let words = <[u64; WORDS]>::try_from(words).ok().filter(|_| rest.is_empty()).ok_or_else(no_parts)?;
            let state = &mut self.groups[*group as usize];
            *state = self.aggregate.merged(state, &self.aggregate.of_words(words))?;
        }
        Ok(())
    }

    fn results(&self, groups: Range<usize>, cancelled: &StopFlag) -> Result<ArrayRef, ForeignError> {
        if cancelled.is_raised() {
            return Err(Box::new(ExecError::Cancelled));
        }
        let state = |group: usize| self.groups.get(group).copied().unwrap_or_default();
        Ok(self.aggregate.results(groups.map(state)))
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<A::State>()
    }

    fn results_bytes(&self, groups: Range<usize>) -> usize {
        groups.len() * size_of::<u64>()
    }
}

fn no_parts() -> SqlError {
    SqlError::new(SqlState::InternalError, "the parts of an aggregate's state are broken")
}

/// Calls `take` with each row that is valid and its group.
#[inline(always)]
fn each_valid(
    groups: &[u32],
    nulls: Option<&NullBuffer>,
    mut take: impl FnMut(usize, usize) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mut rows = groups.iter().map(|group| *group as usize).enumerate();
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => rows.try_for_each(|(row, group)| take(row, group)),
        Some(nulls) => rows.filter(|(row, _)| nulls.is_valid(*row)).try_for_each(|(row, group)| take(row, group)),
    }
}

/// Averages, variances and deviations of floats.
#[derive(Debug)]
struct OfFloats(FloatFinish);

impl FixedAggregate<3> for OfFloats {
    type State = FloatMoments;

    fn update(&self, states: &mut [FloatMoments], groups: &[u32], arguments: &[ArrayRef]) -> Result<(), SqlError> {
        let floats = arguments[0].as_primitive::<Float64Type>();
        let values = &floats.values()[..groups.len()];
        each_valid(groups, arguments[0].nulls(), |row, group| states[group].add(values[row]))
    }

    fn merged(&self, one: &FloatMoments, other: &FloatMoments) -> Result<FloatMoments, SqlError> {
        one.with(other)
    }

    fn words(&self, state: &FloatMoments) -> [u64; 3] {
        state.parts().map(f64::to_bits)
    }

    fn of_words(&self, words: [u64; 3]) -> FloatMoments {
        FloatMoments::of_parts(words.map(f64::from_bits))
    }

    fn results(&self, states: impl Iterator<Item = FloatMoments>) -> ArrayRef {
        Arc::new(states.map(|state| (self.0)(&state)).collect::<Float64Array>())
    }
}

/// `corr`, `covar_*` and `regr_*`: y before x.
#[derive(Debug)]
struct OfPairs(PairFinish);

/// The rows in which neither argument is null.
fn valid_pairs(arguments: &[ArrayRef]) -> Option<NullBuffer> {
    NullBuffer::union(arguments[0].nulls(), arguments[1].nulls())
}

impl FixedAggregate<6> for OfPairs {
    type State = PairMoments;

    fn update(&self, states: &mut [PairMoments], groups: &[u32], arguments: &[ArrayRef]) -> Result<(), SqlError> {
        let [y, x] = [0, 1].map(|at| &arguments[at].as_primitive::<Float64Type>().values()[..groups.len()]);
        each_valid(groups, valid_pairs(arguments).as_ref(), |row, group| states[group].add(y[row], x[row]))
    }

    fn merged(&self, one: &PairMoments, other: &PairMoments) -> Result<PairMoments, SqlError> {
        one.with(other)
    }

    fn words(&self, state: &PairMoments) -> [u64; 6] {
        state.parts().map(f64::to_bits)
    }

    fn of_words(&self, words: [u64; 6]) -> PairMoments {
        PairMoments::of_parts(words.map(f64::from_bits))
    }

    fn results(&self, states: impl Iterator<Item = PairMoments>) -> ArrayRef {
        Arc::new(states.map(|state| (self.0)(&state)).collect::<Float64Array>())
    }
}

/// `regr_count`
#[derive(Debug)]
struct PairCounts;

impl FixedAggregate<1> for PairCounts {
    type State = i64;

    fn update(&self, states: &mut [i64], groups: &[u32], arguments: &[ArrayRef]) -> Result<(), SqlError> {
        each_valid(groups, valid_pairs(arguments).as_ref(), |_, group| {
            states[group] += 1;
            Ok(())
        })
    }

    fn merged(&self, one: &i64, other: &i64) -> Result<i64, SqlError> {
        let out_of_range = || SqlError::new(SqlState::NumericOutOfRange, "bigint out of range");
        one.checked_add(*other).ok_or_else(out_of_range)
    }

    fn words(&self, state: &i64) -> [u64; 1] {
        [state.cast_unsigned()]
    }

    fn of_words(&self, [count]: [u64; 1]) -> i64 {
        count.cast_signed()
    }

    fn results(&self, states: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(states.map(Some).collect::<Int64Array>())
    }
}

/// `bit_and`, `bit_or` and `bit_xor` of integers. Integers of fewer bits have the sign in those that they lack, and so has what is made of
/// them.
#[derive(Debug)]
struct OfBits(BitOperation);

impl FixedAggregate<2> for OfBits {
    type State = Option<i64>;

    fn update(&self, states: &mut [Option<i64>], groups: &[u32], arguments: &[ArrayRef]) -> Result<(), SqlError> {
        let values = &arguments[0].as_primitive::<Int64Type>().values()[..groups.len()];
        each_valid(groups, arguments[0].nulls(), |row, group| {
            let state = &mut states[group];
            *state = Some(state.map_or(values[row], |bits| self.0.combined(bits, values[row])));
            Ok(())
        })
    }

    fn merged(&self, one: &Option<i64>, other: &Option<i64>) -> Result<Option<i64>, SqlError> {
        Ok(match (*one, *other) {
            (Some(one), Some(other)) => Some(self.0.combined(one, other)),
            (one, other) => one.or(other),
        })
    }

    fn words(&self, state: &Option<i64>) -> [u64; 2] {
        [state.is_some().into(), state.unwrap_or_default().cast_unsigned()]
    }

    fn of_words(&self, [is_any, bits]: [u64; 2]) -> Option<i64> {
        (is_any != 0).then_some(bits.cast_signed())
    }

    fn results(&self, states: impl Iterator<Item = Option<i64>>) -> ArrayRef {
        Arc::new(states.collect::<Int64Array>())
    }
}
