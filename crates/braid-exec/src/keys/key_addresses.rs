//! Addresses: integer keys mapped to one number of a known range.
//!
//! The build side's keys determine the range of each column. The address numbers the combinations, like the index of a
//! multi-dimensional array. A key outside a column's range has no partner, without a lookup. If null equals null, it is one
//! more value of its column.

use std::ops::Range;
use std::sync::Arc;

use super::null_keys::NullKeys;
use crate::Vector;
use crate::values::vector::Values;

/// The address of a key that no build row has. Addresses are below 2^63, so that additions saturate here, and every range is
/// below this value.
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

const ADDRESS_COUNT_MAX: u128 = 1 << 63;

/// The mapping of keys to addresses.
#[derive(Clone, Debug)]
pub(crate) struct KeyAddresses {
    keys: Vec<KeyRange>,
    /// The end of all addresses.
    pub(crate) count: u64,
}

/// One column of the key, which adds `stride * (value - min)` to the address.
#[derive(Clone, Debug)]
struct KeyRange {
    min: i64,
    /// Number of values from `min` on; zero if there are only nulls.
    value_count: u64,
    stride: u64,
    /// The distance of null from `min`; [`NO_ADDRESS`] if null equals nothing or does not occur.
    null_distance: u64,
}

impl KeyAddresses {
    /// The mapping for keys with these extremes; `None` if there are too many combinations.
    pub(crate) fn of(extremes: &[KeyExtremes], null_keys: NullKeys) -> Option<Self> {
        let mut count: u128 = 1;
        let mut ranges = Vec::with_capacity(extremes.len());
        for KeyExtremes { values, has_null } in extremes {
            let (min, value_count) = match values {
                Some((min, max)) => (*min, (i128::from(*max) - i128::from(*min) + 1) as u128),
                None => (0, 0),
            };
            let has_null = null_keys.are_equal() && *has_null;
            let combinations = count.checked_mul(value_count + u128::from(has_null))?;
            if combinations > ADDRESS_COUNT_MAX {
                return None;
            }
            let (stride, value_count) = (count as u64, value_count as u64);
            let null_distance = if has_null { value_count } else { NO_ADDRESS };
            ranges.push(KeyRange { min, value_count, stride, null_distance });
            count = combinations;
        }
        Some(Self { keys: ranges, count: count as u64 })
    }

    /// The addresses of rows; [`NO_ADDRESS`] for a key outside the ranges.
    pub(crate) fn fill(&self, keys: &[Arc<Vector>], rows: Range<usize>, addresses: &mut Vec<u64>) {
        addresses.resize(rows.len(), 0);
        let mut keys = self.keys.iter().zip(keys);
        match keys.next() {
            // The stride of the first column is one.
            Some((range, key)) => range.each(key, rows.clone(), addresses, |_, distance| distance),
            None => addresses.fill(0),
        }
        for (range, key) in keys {
            let stride = range.stride;
            range.each(key, rows.clone(), addresses, |address, distance| {
                if distance == NO_ADDRESS { NO_ADDRESS } else { address.saturating_add(distance.wrapping_mul(stride)) }
            });
        }
    }

    /// The minimum and maximum of a key column, if nulls have no partners. The minimum exceeds the maximum if there is no value.
    pub(crate) fn bounds(&self, key: usize) -> Option<(i64, i64)> {
        let KeyRange { min, value_count, null_distance, .. } = self.keys[key];
        if null_distance != NO_ADDRESS {
            return None;
        }
        Some(if value_count == 0 { (i64::MAX, i64::MIN) } else { (min, min.wrapping_add((value_count - 1) as i64)) })
    }
}

impl KeyRange {
    /// Replaces each address by `combine` of the address and this column's distance from `min`, which is [`NO_ADDRESS`] outside
    /// the range.
    #[inline]
    fn each(&self, key: &Vector, rows: Range<usize>, addresses: &mut [u64], combine: impl Fn(u64, u64) -> u64) {
        let valid = key.valid().map(|valid| &valid[rows.clone()]);
        let from_min = |value: i64| (value as u64).wrapping_sub(self.min as u64);
        match key.values() {
            Values::Int(values) => self.each_value(&values[rows], valid, from_min, addresses, combine),
            Values::Int128(values) => {
                let from_min = |value: i128| i64::try_from(value).map_or(NO_ADDRESS, from_min);
                self.each_value(&values[rows], valid, from_min, addresses, combine);
            }
            Values::Bool(values) => {
                self.each_value(&values[rows], valid, |value| from_min(value.into()), addresses, combine);
            }
            // The build side has only nulls in this column, which may have any kind.
            Values::Float(_) | Values::Bytes(_) | Values::Coded(_) => {
                let nothing = vec![false; rows.len()];
                self.each_value(&nothing, valid, |_| NO_ADDRESS, addresses, combine);
            }
        }
    }

    #[inline]
    fn each_value<T: Copy>(
        &self,
        values: &[T],
        valid: Option<&[bool]>,
        from_min: impl Fn(T) -> u64,
        addresses: &mut [u64],
        combine: impl Fn(u64, u64) -> u64,
    ) {
        let Self { value_count, null_distance, .. } = *self;
        let distance = |value: T| {
            let distance = from_min(value);
            if distance < value_count { distance } else { NO_ADDRESS }
        };
        match valid {
            None => {
                for (address, value) in addresses.iter_mut().zip(values) {
                    *address = combine(*address, distance(*value));
                }
            }
            Some(valid) => {
                for ((address, value), valid) in addresses.iter_mut().zip(values).zip(valid) {
                    *address = combine(*address, if *valid { distance(*value) } else { null_distance });
                }
            }
        }
    }
}

/// The extremes of a key column in some rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyExtremes {
    /// Minimum and maximum; `None` without values.
    values: Option<(i64, i64)>,
    has_null: bool,
}

impl KeyExtremes {
    /// The extremes of these rows; `None` unless the values are 64-bit integers.
    pub(crate) fn of(key: &Vector, rows: Range<usize>) -> Option<Self> {
        let valid = key.valid().map(|valid| &valid[rows.clone()]);
        let values = match key.values() {
            Values::Int(values) => extremes_of(&values[rows], valid, i64::MIN, i64::MAX),
            Values::Int128(values) => match extremes_of(&values[rows], valid, i128::MIN, i128::MAX) {
                Some((min, max)) => Some((i64::try_from(min).ok()?, i64::try_from(max).ok()?)),
                None => None,
            },
            Values::Bool(values) => {
                let extremes = extremes_of(&values[rows], valid, false, true);
                extremes.map(|(min, max)| (min.into(), max.into()))
            }
            Values::Float(_) | Values::Bytes(_) | Values::Coded(_) => {
                let all_null = rows.is_empty() || valid.is_some_and(|valid| !valid.contains(&true));
                all_null.then_some(None)?
            }
        };
        Some(Self { values, has_null: valid.is_some_and(|valid| valid.contains(&false)) })
    }

    /// The extremes of both sets of rows.
    pub(crate) fn with(self, other: Self) -> Self {
        let values = match (self.values, other.values) {
            (Some((min, max)), Some((other_min, other_max))) => Some((min.min(other_min), max.max(other_max))),
            (values, None) | (None, values) => values,
        };
        Self { values, has_null: self.has_null || other.has_null }
    }
}

fn extremes_of<T: Copy + Ord>(values: &[T], valid: Option<&[bool]>, least: T, most: T) -> Option<(T, T)> {
    let within = |(min, max): (T, T), value: &T| (min.min(*value), max.max(*value));
    let (min, max) = match valid {
        None => values.iter().fold((most, least), within),
        Some(valid) => {
            let values = values.iter().zip(valid).filter(|(_, valid)| **valid);
            values.map(|(value, _)| value).fold((most, least), within)
        }
    };
    (min <= max).then_some((min, max))
}
