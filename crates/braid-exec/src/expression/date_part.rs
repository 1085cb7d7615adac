//! Fields of a date, from its days since 1970.
//!
//! The calendar's arithmetic is that of Neri and Schneider, "Euclidean affine functions and their application to calendar
//! algorithms" (Software: Practice and Experience 2022), figures 12 and 13: years begin in March, so that the leap day is
//! their last, and each step is a division by a constant. The loop has no branch per row.
//!
//! Dates are 32 bits wide. The values under nulls are cut to 32 bits.

use crate::Vector;
use crate::expression::DatePart;
use crate::expression::operand::{Operand, nulls};
use crate::values::vector::Values;

/// Days in 400 years.
const ERA_DAYS: u64 = 146_097;

/// Eras that are added so that all 32-bit dates count from the start: 2^31 / 146097 rounded up.
const ERAS_BEFORE: u64 = 14_700;

/// Days from 1 March of year -400 * `ERAS_BEFORE` to 1970; 719468 is that from year 0.
const DAYS_BEFORE: i64 = (719_468 + ERA_DAYS * ERAS_BEFORE) as i64;

/// One field of each date.
pub(super) fn date_part(part: DatePart, dates: &Operand, row_count: usize) -> Operand {
    if dates.is_null() {
        return nulls();
    }
    let vector = dates.clone().into_vector(row_count);
    let fields = match vector.values() {
        Values::Int(days) => fields(part, days.iter().copied()),
        Values::Int128(days) => fields(part, days.iter().map(|days| *days as i64)),
        _ => panic!("dates are integers"),
    };
    Vector::new(Values::Int(fields), vector.valid().map(<[bool]>::to_vec)).into()
}

fn fields(part: DatePart, days: impl Iterator<Item = i64>) -> Vec<i64> {
    match part {
        DatePart::Year => days.map(|days| civil(days).0).collect(),
        DatePart::Quarter => days.map(|days| (civil(days).1 + 2) / 3).collect(),
        DatePart::Month => days.map(|days| civil(days).1).collect(),
        DatePart::Day => days.map(|days| civil(days).2).collect(),
    }
}

/// One field of a date.
#[cfg(test)]
pub(super) fn field(part: DatePart, days: i64) -> i64 {
    fields(part, std::iter::once(days))[0]
}

/// Year, month and day.
#[inline(always)]
fn civil(days: i64) -> (i64, i64, i64) {
    let day_number = (i64::from(days as i32) + DAYS_BEFORE) as u64;
    let in_quarter_days = 4 * day_number + 3;
    let century = in_quarter_days / ERA_DAYS;
    let day_of_century = (in_quarter_days % ERA_DAYS / 4) as u32;
    // A product with 2^32 / 1461 instead of a division by 1461: exact for the days of a century.
    let scaled = 2_939_745 * u64::from(4 * day_of_century + 3);
    let year_of_century = scaled >> 32;
    let day_of_year = scaled as u32 / 2_939_745 / 4;
    // Months of March to January have 153 days in five: 2141 / 2^16 months a day.
    let month_and_day = 2141 * day_of_year + 197_913;
    let after_december = day_of_year >= 306;
    let year = (100 * century + year_of_century) as i64 - 400 * ERAS_BEFORE as i64 + i64::from(after_december);
    let month = (month_and_day >> 16) - if after_december { 12 } else { 0 };
    let day = (month_and_day & 0xFFFF) / 2141 + 1;
    (year, month.into(), day.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_leap(year: i64) -> bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    #[test]
    fn days_are_as_a_calendar_that_is_leafed_through() {
        let (mut year, mut month, mut day) = (-4713, 1, 1);
        let from = (year..1970).map(|year| if is_leap(year) { -366 } else { -365 }).sum::<i64>();
        let mut days = from;
        while year < 10_000 {
            assert_eq!(civil(days), (year, month, day), "{days} days since 1970");
            let february = if is_leap(year) { 29 } else { 28 };
            let month_days = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            days += 1;
            day += 1;
            if day > month_days {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!(civil(0), (1970, 1, 1));
    }

    #[test]
    fn the_extremes_of_32_bits_are_dates() {
        assert_eq!(civil(i32::MAX.into()), (5_881_580, 7, 11));
        assert_eq!(civil(i32::MIN.into()), (-5_877_641, 6, 23));
        // Under a null, anything.
        civil(i64::MAX);
    }
}
