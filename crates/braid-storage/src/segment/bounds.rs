//! Zone maps: the bounds of the values that are about to be encoded.

use std::cmp::Ordering;

use super::body::scalar_of_sixteen_bytes;
use super::column_values::ColumnValues;
use crate::scalar::compare_floats;
use crate::zone_map::ZONE_BYTES_MAX;
use crate::{PhysicalType, Scalar, ZoneMap};

/// The zone map of values with `null_count` nulls, which are filled with other values of the segment.
pub(crate) fn zone_map(values: &ColumnValues<'_>, physical: PhysicalType, null_count: usize) -> ZoneMap {
    let (min, max) = match values {
        ColumnValues::Bits(bits) => extremes(bits, Ord::cmp).map(Scalar::Bool),
        ColumnValues::Integers(integers) => extremes(integers, Ord::cmp).map(|value| match physical {
            PhysicalType::Int128 => Scalar::Int128(value.into()),
            _ => Scalar::Int(value),
        }),
        ColumnValues::SixteenBytes(_) if physical == PhysicalType::Interval => {
            return ZoneMap { min: None, max: None, null_count: null_count as u32, exact: false };
        }
        ColumnValues::SixteenBytes(wide) => {
            extremes(wide, Ord::cmp).map(|value| scalar_of_sixteen_bytes(value, physical))
        }
        ColumnValues::Floats32(floats) => {
            extremes(floats, |a, b| compare_floats((*a).into(), (*b).into())).map(|value| Scalar::Float(value.into()))
        }
        ColumnValues::Floats64(floats) => extremes(floats, |a, b| compare_floats(*a, *b)).map(Scalar::Float),
        ColumnValues::Strings(strings) => return string_zone_map(strings, null_count),
    }
    .into();
    ZoneMap { min: Some(min), max: Some(max), null_count: null_count as u32, exact: true }
}

/// The smallest and the largest value.
struct Extremes<T>(T, T);

impl<T> Extremes<T> {
    fn map<U>(self, f: impl Fn(T) -> U) -> Extremes<U> {
        Extremes(f(self.0), f(self.1))
    }
}

impl<T> From<Extremes<T>> for (T, T) {
    fn from(extremes: Extremes<T>) -> Self {
        (extremes.0, extremes.1)
    }
}

fn extremes<T: Copy>(values: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Extremes<T> {
    let first = Extremes(values[0], values[0]);
    values.iter().fold(first, |Extremes(min, max), value| {
        Extremes(
            if compare(value, &min) == Ordering::Less { *value } else { min },
            if compare(value, &max) == Ordering::Greater { *value } else { max },
        )
    })
}

fn string_zone_map(strings: &[&[u8]], null_count: usize) -> ZoneMap {
    let Extremes(min, max) = extremes(strings, Ord::cmp);
    let exact = min.len() <= ZONE_BYTES_MAX && max.len() <= ZONE_BYTES_MAX;
    ZoneMap {
        // A prefix is never above the string it was cut from.
        min: Some(Scalar::Bytes(min[..min.len().min(ZONE_BYTES_MAX)].to_vec())),
        max: upper_bound(max).map(Scalar::Bytes),
        null_count: null_count as u32,
        exact,
    }
}

/// A string of at most [`ZONE_BYTES_MAX`] bytes that is not below `string` nor any string with the same beginning;
/// `None` when no such string exists. Not always UTF-8.
fn upper_bound(string: &[u8]) -> Option<Vec<u8>> {
    if string.len() <= ZONE_BYTES_MAX {
        return Some(string.to_vec());
    }
    let prefix = &string[..ZONE_BYTES_MAX];
    // The last byte that can be raised; bytes after it do not matter once it is.
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut bound = prefix[..=last].to_vec();
    bound[last] += 1;
    Some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_and_the_upper_bound_rounded_up() {
        let long_a = [b'a'; 40];
        let mut near_top = [0xFF; 40];
        near_top[3] = 7;
        let zone = string_zone_map(&[&long_a, &near_top], 0);
        assert_eq!(zone.min, Some(Scalar::Bytes(vec![b'a'; ZONE_BYTES_MAX])));
        assert_eq!(zone.max, Some(Scalar::Bytes(vec![0xFF, 0xFF, 0xFF, 8])));
        assert!(!zone.exact);
        assert_eq!(string_zone_map(&[&long_a, &[0xFF; 40]], 0).max, None);
        let exact = string_zone_map(&[b"b", &[b'c'; ZONE_BYTES_MAX]], 1);
        assert_eq!((exact.max, exact.exact, exact.null_count), (Some(Scalar::Bytes(vec![b'c'; 32])), true, 1));
    }

    #[test]
    fn nan_is_the_largest_float() {
        let zone = zone_map(&ColumnValues::Floats64(vec![1.0, f64::NAN, -2.0]), PhysicalType::Float64, 0);
        assert_eq!((zone.min, zone.max), (Some(Scalar::Float(-2.0)), Some(Scalar::Float(f64::NAN))));
    }
}
