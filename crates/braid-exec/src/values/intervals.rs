//! Intervals in vectors: strings of 16 bytes that keep months, days and microseconds apart, as PostgreSQL shows them.
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 4 | months, little-endian |
//! | 4 | 4 | days, little-endian |
//! | 8 | 8 | microseconds, little-endian |
//!
//! Intervals are equal and ordered by their lengths, with months of 30 days and days of 24 hours, so that equal intervals may have different
//! bytes. Operators therefore never compare these bytes: a plan compares keys that it computes of them. They have no zone maps either.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, IntervalMonthDayNanoType, IntervalUnit};

use crate::Vector;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::Values;

/// Bytes of an interval.
pub const INTERVAL_BYTES: usize = 16;

/// Nanoseconds of a microsecond: segments count nanoseconds.
const NS_PER_US: i64 = 1000;

/// The bytes of an interval.
pub fn interval_bytes(months: i32, days: i32, us: i64) -> [u8; INTERVAL_BYTES] {
    let mut bytes = [0; INTERVAL_BYTES];
    bytes[..4].copy_from_slice(&months.to_le_bytes());
    bytes[4..8].copy_from_slice(&days.to_le_bytes());
    bytes[8..].copy_from_slice(&us.to_le_bytes());
    bytes
}

/// The months, days and microseconds of an interval's bytes; `None` for other bytes.
pub fn interval_of_bytes(bytes: &[u8]) -> Option<(i32, i32, i64)> {
    let (months, rest) = bytes.split_first_chunk()?;
    let (days, rest) = rest.split_first_chunk()?;
    let us = rest.try_into().ok()?;
    Some((i32::from_le_bytes(*months), i32::from_le_bytes(*days), i64::from_le_bytes(us)))
}

/// The intervals that a segment holds; `None` for an array of another type. Parts of a microsecond are cut off, as they are when such an
/// interval is shown.
pub fn interval_vector(array: &dyn Array) -> Option<Vector> {
    if array.data_type() != &DataType::Interval(IntervalUnit::MonthDayNano) {
        return None;
    }
    let intervals = array.as_primitive::<IntervalMonthDayNanoType>().values().iter();
    let bytes: Vec<[u8; INTERVAL_BYTES]> =
        intervals.map(|value| interval_bytes(value.months, value.days, value.nanoseconds / NS_PER_US)).collect();
    let valid = array.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.iter().collect());
    Some(Vector::new(
        Values::Bytes(ByteStrings::from_strings(bytes.iter().map(<[u8; INTERVAL_BYTES]>::as_slice))),
        valid,
    ))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, IntervalMonthDayNanoArray};
    use arrow::datatypes::IntervalMonthDayNano;

    use super::*;

    #[test]
    fn intervals_keep_their_parts() {
        for (months, days, us) in [(0, 0, 0), (1, -2, 3), (i32::MIN, i32::MAX, i64::MIN), (-1, 0, i64::MAX)] {
            assert_eq!(interval_of_bytes(&interval_bytes(months, days, us)), Some((months, days, us)));
        }
        for other in [&b""[..], b"too short", &[0; INTERVAL_BYTES - 1], &[0; INTERVAL_BYTES + 1]] {
            assert_eq!(interval_of_bytes(other), None);
        }
    }

    #[test]
    fn segments_count_nanoseconds() {
        let interval = |ns| Some(IntervalMonthDayNano::new(1, -30, ns));
        let array = IntervalMonthDayNanoArray::from(vec![interval(2_999), None, interval(-2_999)]);
        let vector = interval_vector(&array).unwrap();
        let part = |row: usize| vector.is_valid(row).then(|| interval_of_bytes(vector.values().string(row)).unwrap());
        assert_eq!((0..3).map(part).collect::<Vec<_>>(), [Some((1, -30, 2)), None, Some((1, -30, -2))]);
        assert!(interval_vector(&Int32Array::from(vec![1])).is_none());
    }
}
