//! `to_date` and `to_timestamp` of texts.
//!
//! What a format finds in a text is a day and a time, without a year in 1 BC. Where PostgreSQL computes with years and weeks that
//! its integers do not hold, Braid refuses.

use super::limits::{checked_timestamp, instant_us, overflow};
use super::parsed_fields::ParsedFields;
use super::template::{Convention, parse};
use super::timestamps::scaled;
use crate::functions::{Call, Implementations};
use crate::input::datetime_numbers::{Clock, DATE, DAY, MONTH, Mask, YEAR};
use crate::input::datetime_values::unreadable;
use crate::input::datetime_words::Unreadable;
use crate::values::calendar::{
    DAY_US, DAYS_MAX, DAYS_MIN, EPOCH_JULIAN_DAY, HOUR_US, MINUTE_US, SECOND_US, civil_of_days, days_of_civil,
    first_iso_week,
};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[("to_date", to_date), ("to_timestamp", to_timestamp)];

/// Hours of an offset from UTC are at most this (`MAX_TZDISP_HOUR`).
const ZONE_HOURS_MAX: i32 = 15;

/// The first day that PostgreSQL's calendar has, as a Julian day.
const JULIAN_DAY_MIN: i64 = -32_044;

/// Years of which weeks are counted: those of dates.
const WEEK_YEARS: std::ops::RangeInclusive<i32> = -4713..=5_874_897;

fn to_date(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let text = arguments[0].as_text();
    let days = Moment::read(text, arguments[1].as_text())?.clock.days();
    if (DAYS_MIN..=DAYS_MAX).contains(&days) {
        Ok(Value::Date(days as i32))
    } else {
        Err(overflow(&format!("date out of range: \"{text}\"")))
    }
}

fn to_timestamp(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Moment { clock, offset_s, second_digits } = Moment::read(arguments[0].as_text(), arguments[1].as_text())?;
    let local_us = i128::from(clock.days()) * i128::from(DAY_US) + i128::from(time_us(&clock));
    let us = match offset_s {
        Some(offset_s) => checked_timestamp(local_us - i128::from(offset_s) * i128::from(SECOND_US))?,
        None => instant_us(local_us, call)?,
    };
    let us = if second_digits > 0 { scaled(us, second_digits)? } else { us };
    Ok(Value::TimestampTz(us))
}

/// Microseconds since midnight.
pub(super) fn time_us(clock: &Clock) -> i64 {
    clock.hour * HOUR_US + clock.minute * MINUTE_US + clock.second * SECOND_US + clock.fraction_us
}

/// Day and time as a text has them.
pub(super) struct Moment {
    pub clock: Clock,
    /// East of UTC.
    pub offset_s: Option<i32>,
    /// Digits of a second to which it is rounded; 0 for all.
    pub second_digits: i32,
}

impl Moment {
    fn read(text: &str, format: &str) -> Result<Self, SqlError> {
        Self::of_fields(&ParsedFields::read(text, &parse(format))?, text)
    }

    /// What the fields of a text say.
    pub(super) fn of_fields(fields: &ParsedFields, text: &str) -> Result<Self, SqlError> {
        let out_of_range = |why| unreadable(why, text, "timestamp");
        let mut clock = Clock { month: 1, day: 1, ..Clock::default() };
        set_time(&mut clock, fields)?;
        let seen = set_date(&mut clock, fields)?;
        clock.validate(seen, true, false).map_err(|_| out_of_range(Unreadable::OutOfRange))?;
        let is_time = (0..24).contains(&clock.hour)
            && (0..60).contains(&clock.minute)
            && (0..60).contains(&clock.second)
            && (0..SECOND_US).contains(&clock.fraction_us);
        if !is_time {
            return Err(out_of_range(Unreadable::OutOfRange));
        }
        let offset_s = offset_s(fields).map_err(out_of_range)?;
        Ok(Self { clock, offset_s, second_digits: fields.second_digits })
    }
}

/// The offset from UTC; `None` if the text has none.
fn offset_s(fields: &ParsedFields) -> Result<Option<i32>, Unreadable> {
    if fields.zone_sign == 0 {
        return Ok(None);
    }
    if !(0..=ZONE_HOURS_MAX).contains(&fields.zone_hours) || !(0..60).contains(&fields.zone_minutes) {
        return Err(Unreadable::ZoneOutOfRange);
    }
    Ok(Some(fields.zone_sign * (fields.zone_hours * 60 + fields.zone_minutes) * 60))
}

fn set_time(clock: &mut Clock, fields: &ParsedFields) -> Result<(), SqlError> {
    let of_day = fields.day_second;
    let or = |field: i32, other: i32| i64::from(if field == 0 { other } else { field });
    clock.hour = or(fields.hour, of_day / 3600);
    clock.minute = or(fields.minute, of_day % 3600 / 60);
    clock.second = or(fields.second, of_day % 60);
    if fields.is_twelve_hour_clock {
        if !(1..=12).contains(&clock.hour) {
            let message = format!("hour \"{}\" is invalid for the 12-hour clock", clock.hour);
            return Err(SqlError::new(SqlState::InvalidDatetime, message)
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        clock.hour = clock.hour % 12 + 12 * i64::from(fields.pm);
    }
    // The sum of 32 bits is PostgreSQL's.
    clock.fraction_us = fields.millisecond.wrapping_mul(1000).wrapping_add(fields.microsecond).into();
    Ok(())
}

/// Sets year, month and day; returns which of them the text has.
fn set_date(clock: &mut Clock, fields: &ParsedFields) -> Result<Mask, SqlError> {
    let mut seen = 0;
    if fields.year != 0 || fields.century != 0 {
        clock.year = year(fields);
        seen |= YEAR;
    }
    if fields.julian_day != 0 {
        set_julian_day(clock, fields.julian_day.into())?;
        seen |= DATE;
    }
    let is_iso = fields.convention == Some(Convention::IsoWeek);
    let mut day_of_year = fields.day_of_year;
    if fields.week != 0 && is_iso {
        // Monday comes first, which is 2; without a day of the week it is Monday.
        let day = match fields.day_of_week {
            0 => 0,
            day @ 2.. => i64::from(day) - 2,
            _ => 6,
        };
        set_julian_day(clock, week_start(clock.year)? + (i64::from(fields.week) - 1) * 7 + day)?;
        seen |= DATE;
    } else if fields.week != 0 {
        day_of_year = first_day_of_week(fields.week);
    }
    let day = if fields.week_of_month == 0 { fields.day } else { first_day_of_week(fields.week_of_month) };
    if day != 0 {
        clock.day = day;
        seen |= DAY;
    }
    if fields.month != 0 {
        clock.month = fields.month;
        seen |= MONTH;
    }
    if day_of_year != 0 && (clock.month <= 1 || clock.day <= 1) {
        if clock.year == 0 && fields.bc == 0 {
            let message = "cannot calculate day of year without year information";
            return Err(SqlError::new(SqlState::InvalidDatetime, message));
        }
        if is_iso {
            set_julian_day(clock, week_start(clock.year)? - 1 + i64::from(day_of_year))?;
        } else {
            set_day_of_year(clock, day_of_year);
        }
        seen |= if is_iso { DATE } else { MONTH | DAY };
    }
    Ok(seen)
}

/// The year; 0 is 1 BC. A century completes a year of two digits. Years that are too large wrap, as PostgreSQL's do.
fn year(fields: &ParsedFields) -> i32 {
    let century = if fields.bc == 0 { fields.century } else { fields.century.wrapping_neg() };
    if fields.year == 0 {
        // The first year of the century.
        let before = if century >= 0 { century.wrapping_sub(1) } else { century };
        return before.wrapping_mul(100).wrapping_add(1);
    }
    if century == 0 || fields.year_digits > 2 {
        let year = if fields.bc == 0 { fields.year } else { fields.year.wrapping_neg() };
        return if year < 0 { year + 1 } else { year };
    }
    match (fields.year % 100, century) {
        (0, 0..) => century.wrapping_mul(100),
        (0, _) => century.wrapping_mul(100).wrapping_add(1),
        (year, 0..) => century.wrapping_sub(1).wrapping_mul(100).wrapping_add(year),
        (year, _) => century.wrapping_add(1).wrapping_mul(100).wrapping_sub(year).wrapping_add(1),
    }
}

/// The first day of a week that is counted from the first day.
fn first_day_of_week(week: i32) -> i32 {
    week.wrapping_sub(1).wrapping_mul(7).wrapping_add(1)
}

/// The Julian day of the Monday of a year's first week.
fn week_start(year: i32) -> Result<i64, SqlError> {
    if !WEEK_YEARS.contains(&year) {
        return Err(SqlError::unsupported(format!("weeks of the year {year} are not supported")));
    }
    Ok(first_iso_week(year.into()) + EPOCH_JULIAN_DAY)
}

fn set_julian_day(clock: &mut Clock, julian_day: i64) -> Result<(), SqlError> {
    if !(JULIAN_DAY_MIN..=i64::from(i32::MAX)).contains(&julian_day) {
        return Err(SqlError::unsupported(format!("the Julian day {julian_day} is not supported")));
    }
    let (year, month, day) = civil_of_days(julian_day - EPOCH_JULIAN_DAY);
    (clock.year, clock.month, clock.day) = (year as i32, month as i32, day as i32);
    Ok(())
}

/// Sets month and day, unless the text has them. A day that the year has not is in a 13th month.
fn set_day_of_year(clock: &mut Clock, day_of_year: i32) {
    let year = i64::from(clock.year);
    let days_before = |month: i64| match month {
        13 => (days_of_civil(year + 1, 1, 1) - days_of_civil(year, 1, 1)) as i32,
        month => (days_of_civil(year, month, 1) - days_of_civil(year, 1, 1)) as i32,
    };
    let month = (1..=12).find(|month| day_of_year <= days_before(month + 1)).unwrap_or(13);
    if clock.month <= 1 {
        clock.month = month as i32;
    }
    if clock.day <= 1 {
        clock.day = day_of_year - days_before(month);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::answer;

    #[test]
    fn errors_have_postgresqls_details_and_hints() {
        let width_hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        for (expression, detail, hint) in [
            ("to_date('20 0', 'YYYYMM')", "Field requires 4 characters, but only 2 could be parsed.", width_hint),
            ("to_date('202', 'YYYYMM')", "Field requires 4 characters, but only 3 remain.", width_hint),
            ("to_date('x', 'YYYY')", "Value must be an integer.", ""),
            ("to_date('9999999999', 'YYYY')", "Value must be in the range -2147483648 to 2147483647.", ""),
            ("to_date('Foo', 'Mon')", "The given value did not match any of the allowed values for this field.", ""),
            ("to_date('1 2', 'DD DD')", "This value contradicts a previous setting for the same field type.", ""),
            (
                "to_date('2020 1', 'YYYY IW')",
                "",
                "Do not mix Gregorian and ISO week date conventions in a formatting template.",
            ),
            ("to_date('13', 'HH')", "", "Use the 24-hour clock, or give an hour between 1 and 12."),
        ] {
            let error = answer(expression).unwrap().unwrap_err();
            assert_eq!(
                (error.detail().unwrap_or_default(), error.hint().unwrap_or_default()),
                (detail, hint),
                "{expression}"
            );
        }
    }
}
