//! Numerics without a precision whose values all show the same digits after the point: their column is one of integers.
//!
//! A column of `numeric` holds values of any scale and size. Each chunk whose values have one scale and at most 38 digits is
//! stored as a segment of `numeric(38, scale)` ([`crate::SegmentMeta::scale`]). Where all chunks of a table version have the
//! same scale, scans of that version return integers, and plans compute with integers: that is a fact of the version, which
//! the next INSERT may end. A plan for a version with another fact is another plan.
//!
//! The number of digits is part of the fact, in a few steps, so that the plans of a table that grows change seldom.

use crate::types::{NUMERIC_64_PRECISION_MAX, NUMERIC_PRECISION_MAX};
use crate::{ColumnType, Scalar, ZoneMap};

/// Few enough digits for the product of four to have less than 38.
const DIGITS_FEW: u8 = 9;

/// What all values of a column of numerics without a precision have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommonScale {
    /// No value has more digits without its point: 9, 18 or 38.
    pub digits: u8,
    /// Digits after the point that each value shows, at most 38.
    pub scale: u8,
}

impl CommonScale {
    /// Of segments of a column with their scales, bounds and numbers of rows; `None` if one holds bytes, two have different
    /// scales, or there are no values.
    pub(crate) fn of<'a>(segments: impl Iterator<Item = (Option<u8>, &'a ZoneMap, u32)>) -> Option<Self> {
        let mut common: Option<Self> = None;
        for (scale, zone_map, row_count) in segments {
            let scale = scale?;
            if zone_map.null_count == row_count {
                continue;
            }
            let digits = digits_within(zone_map)?;
            let known = common.get_or_insert(Self { digits, scale });
            if known.scale != scale {
                return None;
            }
            known.digits = known.digits.max(digits);
        }
        common
    }

    /// The type of segments of this scale. Their values fit 64 bits or not, chunk by chunk.
    pub(crate) fn stored_type(scale: u8) -> ColumnType {
        ColumnType::Numeric { precision: NUMERIC_PRECISION_MAX, scale }
    }

    /// The narrowest type of all values.
    pub fn value_type(self) -> ColumnType {
        ColumnType::Numeric { precision: self.digits.max(self.scale), scale: self.scale }
    }
}

/// Most digits of the values within these bounds, in steps; `None` if they have more than 38.
fn digits_within(zone_map: &ZoneMap) -> Option<u8> {
    let digits = |bound: &Option<Scalar>| match bound {
        Some(Scalar::Int128(value)) => value.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1),
        _ => u32::from(NUMERIC_PRECISION_MAX),
    };
    let most = digits(&zone_map.min).max(digits(&zone_map.max));
    let steps = [DIGITS_FEW, NUMERIC_64_PRECISION_MAX, NUMERIC_PRECISION_MAX];
    steps.into_iter().find(|step| most <= u32::from(*step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(min: i128, max: i128) -> Option<u8> {
        let (min, max) = (Some(Scalar::Int128(min)), Some(Scalar::Int128(max)));
        digits_within(&ZoneMap { min, max, null_count: 0, exact: true })
    }

    #[test]
    fn digits_come_in_steps() {
        assert_eq!(digits(0, 0), Some(9));
        assert_eq!(digits(-999_999_999, 5), Some(9));
        assert_eq!(digits(-1_000_000_000, 5), Some(18));
        assert_eq!(digits(0, 10_i128.pow(18)), Some(38));
        assert_eq!(digits(i128::MIN, 0), None);
        assert_eq!(digits_within(&ZoneMap::default()), Some(38));
    }

    #[test]
    fn a_type_has_no_more_digits_after_its_point_than_in_all() {
        assert_eq!(CommonScale { digits: 9, scale: 12 }.value_type(), ColumnType::Numeric { precision: 12, scale: 12 });
    }
}
