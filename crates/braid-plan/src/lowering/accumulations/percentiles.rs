//! `percentile_cont` and `percentile_disc` of one fraction over numbers: the values of a group in any order, of which one or two are
//! selected at the end.
//!
//! Selection takes time in proportion to the values, and sorting is not needed. Parts of a group are put together in any order, so that all
//! workers take rows in. A part is the values in little-endian order. Of 0 and -0, which are equal, -0 comes first.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewBuilder, PrimitiveArray};
use arrow::datatypes::{Float64Type, Int64Type};
use braid_exec::ExecError;
use braid_exec::plan::{ForeignError, ForeignStates};
use braid_exec::runtime::stop::StopFlag;
use braid_sql::aggregates::ordered_sets::{Percentile, float_between};
use braid_sql::{SqlError, SqlState};
use braid_storage::scalar::compare_floats;

use crate::values::Form;

/// Bytes of a value in a part.
const VALUE_BYTES: usize = size_of::<u64>();

/// A percentile of one fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct PercentileCall {
    pub percentile: Percentile,
    /// `None` for null, of which the result is null.
    pub fraction: Option<f64>,
    pub is_descending: bool,
}

impl PercentileCall {
    /// States of no groups, of values of this form; `None` for a form that has none.
    pub fn states(self, form: Form) -> Option<Box<dyn ForeignStates>> {
        match form {
            Form::Float => Some(Box::new(GroupValues::<Float64Type>::new(self))),
            Form::Integer if self.percentile == Percentile::Discrete => {
                Some(Box::new(GroupValues::<Int64Type>::new(self)))
            }
            _ => None,
        }
    }
}

/// Numbers that are selected.
trait Selected: ArrowPrimitiveType<Native: Default> + fmt::Debug {
    fn compare(one: &Self::Native, other: &Self::Native) -> Ordering;

    /// The value at a fraction of the way from one to another.
    fn between(low: Self::Native, high: Self::Native, fraction: f64) -> Self::Native;

    fn to_word(value: Self::Native) -> u64;

    fn of_word(word: u64) -> Self::Native;
}

impl Selected for Float64Type {
    fn compare(one: &f64, other: &f64) -> Ordering {
        compare_floats(*one, *other).then_with(|| other.is_sign_negative().cmp(&one.is_sign_negative()))
    }

    fn between(low: f64, high: f64, fraction: f64) -> f64 {
        float_between(low, high, fraction)
    }

    fn to_word(value: f64) -> u64 {
        value.to_bits()
    }

    fn of_word(word: u64) -> f64 {
        f64::from_bits(word)
    }
}

impl Selected for Int64Type {
    fn compare(one: &i64, other: &i64) -> Ordering {
        one.cmp(other)
    }

    fn between(_: i64, _: i64, _: f64) -> i64 {
        unreachable!("a discrete percentile is the value of a row")
    }

    fn to_word(value: i64) -> u64 {
        value.cast_unsigned()
    }

    fn of_word(word: u64) -> i64 {
        word.cast_signed()
    }
}

/// The values of each group that are not null.
#[derive(Debug)]
struct GroupValues<T: Selected> {
    call: PercentileCall,
    groups: Vec<Vec<T::Native>>,
    /// Values that the groups have room for.
    capacity: usize,
}

impl<T: Selected> GroupValues<T> {
    fn new(call: PercentileCall) -> Self {
        Self { call, groups: Vec::new(), capacity: 0 }
    }

    fn push(&mut self, group: u32, value: T::Native) {
        let values = &mut self.groups[group as usize];
        let before = values.capacity();
        values.push(value);
        self.capacity += values.capacity() - before;
    }

    /// The percentile of a group's values. `scratch` is for a copy of them.
    fn result(&self, group: usize, scratch: &mut Vec<T::Native>) -> Result<Option<T::Native>, SqlError> {
        let PercentileCall { percentile, fraction, is_descending } = self.call;
        let Some(fraction) = fraction else { return Ok(None) };
        let values = self.groups.get(group).map_or(&[][..], Vec::as_slice);
        let (first, second, rest) = percentile.places(values.len(), fraction)?;
        if values.is_empty() {
            return Ok(None);
        }
        scratch.clear();
        scratch.extend_from_slice(values);
        let last = values.len() - 1;
        let lower = if is_descending { last - second } else { first };
        let (_, low, above) = scratch.select_nth_unstable_by(lower, T::compare);
        let low = *low;
        if first == second {
            return Ok(Some(low));
        }
        let high = above.iter().copied().min_by(T::compare).expect("there is a row behind");
        let (first, second) = if is_descending { (high, low) } else { (low, high) };
        Ok(Some(T::between(first, second, rest)))
    }
}

impl<T: Selected> ForeignStates for GroupValues<T> {
    fn update(&mut self, groups: &[u32], group_count: usize, arguments: &[ArrayRef]) -> Result<(), ForeignError> {
        self.groups.resize(group_count, Vec::new());
        let values = arguments[0].as_primitive::<T>();
        for (row, group) in groups.iter().enumerate() {
            if values.is_valid(row) {
                self.push(*group, values.value(row));
            }
        }
        Ok(())
    }

    fn save(&self, groups: &[u32]) -> Result<ArrayRef, ForeignError> {
        let mut parts = BinaryViewBuilder::new();
        for group in groups {
            match self.groups.get(*group as usize).filter(|values| !values.is_empty()) {
                None => parts.append_null(),
                Some(values) if i32::try_from(values.len() * VALUE_BYTES).is_err() => return Err(Box::new(too_long())),
                Some(values) => {
                    let bytes: Vec<u8> = values.iter().flat_map(|value| T::to_word(*value).to_le_bytes()).collect();
                    parts.append_value(bytes);
                }
            }
        }
        Ok(Arc::new(parts.finish()))
    }

    fn merge(&mut self, groups: &[u32], group_count: usize, parts: &ArrayRef) -> Result<(), ForeignError> {
        self.groups.resize(group_count, Vec::new());
        for (group, part) in groups.iter().zip(parts.as_binary_view()) {
            let (words, rest) = part.unwrap_or_default().as_chunks::<VALUE_BYTES>();
            if !rest.is_empty() {
                return Err(Box::new(SqlError::new(SqlState::InternalError, "the values of a group are broken")));
            }
            words.iter().for_each(|word| self.push(*group, T::of_word(u64::from_le_bytes(*word))));
        }
        Ok(())
    }

    fn results(&self, groups: Range<usize>, cancelled: &StopFlag) -> Result<ArrayRef, ForeignError> {
        let (mut results, mut scratch) = (Vec::with_capacity(groups.len()), Vec::new());
        for group in groups {
            if cancelled.is_raised() {
                return Err(Box::new(ExecError::Cancelled));
            }
            results.push(self.result(group, &mut scratch)?);
        }
        Ok(Arc::new(results.into_iter().collect::<PrimitiveArray<T>>()))
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<T::Native>>() + self.capacity * VALUE_BYTES
    }

    fn results_bytes(&self, groups: Range<usize>) -> usize {
        let longest = groups.clone().filter_map(|group| self.groups.get(group)).map(Vec::len).max();
        // Each is there with and without a place for null, and the copy may be moved once.
        (3 * groups.len() + 2 * longest.unwrap_or(0)) * VALUE_BYTES
    }
}

fn too_long() -> SqlError {
    SqlError::new(SqlState::ProgramLimitExceeded, "a percentile has more than 2 GiB of values in one group")
}
