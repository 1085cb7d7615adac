//! The modifier of `interval`: which fields it keeps, and how many digits of a second.

use crate::values::Interval;
use crate::values::calendar::{DAY_US, HOUR_US, MINUTE_US};

/// Bits of the fields, as PostgreSQL numbers them in the upper half of the modifier.
pub const MONTH: i32 = 1 << 1;
/// Years.
pub const YEAR: i32 = 1 << 2;
/// Days.
pub const DAY: i32 = 1 << 3;
/// Hours.
pub const HOUR: i32 = 1 << 10;
/// Minutes.
pub const MINUTE: i32 = 1 << 11;
/// Seconds.
pub const SECOND: i32 = 1 << 12;
/// All fields: `interval` without fields.
pub const FULL_RANGE: i32 = 0x7fff;
/// All digits that there are: no precision is given.
pub const FULL_PRECISION: i32 = 0xffff;
/// The most digits of a second.
const PRECISION_MAX: i32 = 6;

/// What the modifier of an interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalModifier {
    /// Bits of the fields.
    pub fields: i32,
    /// Digits of a second, or [`FULL_PRECISION`].
    pub precision: i32,
}

impl IntervalModifier {
    /// What a modifier says; -1 is that of `interval`.
    pub fn of(modifier: i32) -> Self {
        if modifier < 0 {
            return Self { fields: FULL_RANGE, precision: FULL_PRECISION };
        }
        Self { fields: modifier >> 16 & FULL_RANGE, precision: modifier & FULL_PRECISION }
    }

    /// The modifier.
    pub fn encoded(self) -> i32 {
        self.fields << 16 | self.precision
    }

    /// The interval with only the fields and digits that the type keeps. `None` if its time does not fit after rounding.
    pub fn apply(self, mut interval: Interval) -> Option<Interval> {
        let days_and_hours = DAY | HOUR;
        match self.fields {
            YEAR => interval = Interval::new(interval.months / 12 * 12, 0, 0),
            fields if fields == MONTH || fields == YEAR | MONTH => interval = Interval::new(interval.months, 0, 0),
            DAY => interval.us = 0,
            fields if fields == HOUR || fields == days_and_hours => interval.us = interval.us / HOUR_US * HOUR_US,
            fields if [MINUTE, HOUR | MINUTE, days_and_hours | MINUTE].contains(&fields) => {
                interval.us = interval.us / MINUTE_US * MINUTE_US;
            }
            _ => {}
        }
        if (0..=PRECISION_MAX).contains(&self.precision) {
            interval.us = round_to_digits(interval.us, self.precision)?;
        }
        Some(interval)
    }
}

/// Microseconds rounded to digits of a second, halves away from zero; more than six digits change nothing.
pub fn round_to_digits(us: i64, digits: i32) -> Option<i64> {
    if !(0..PRECISION_MAX).contains(&digits) {
        return Some(us);
    }
    let unit = 10_i64.pow((PRECISION_MAX - digits) as u32);
    let half = unit / 2 * us.signum();
    us.checked_add(half).map(|us| us / unit * unit)
}

/// The digits of a second that the modifier of a time or timestamp gives; `None` for all.
pub fn second_digits(modifier: i32) -> Option<i32> {
    (0..=PRECISION_MAX).contains(&modifier).then_some(modifier)
}

const _: () = assert!(DAY_US % HOUR_US == 0 && HOUR_US % MINUTE_US == 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_cut_and_round() {
        let interval = Interval::new(14, 3, 4 * HOUR_US + 5 * MINUTE_US + 6_789_500);
        let with = |fields, precision| IntervalModifier { fields, precision }.apply(interval);
        assert_eq!(with(YEAR, FULL_PRECISION), Some(Interval::new(12, 0, 0)));
        assert_eq!(with(DAY | HOUR, FULL_PRECISION), Some(Interval::new(14, 3, 4 * HOUR_US)));
        assert_eq!(with(FULL_RANGE, 0).map(|interval| interval.us % MINUTE_US), Some(7_000_000));
        assert_eq!(round_to_digits(-1_500_000, 0), Some(-2_000_000));
        assert_eq!(round_to_digits(i64::MAX, 0), None);
    }
}
