//! `extract`, whose result is numeric, and `date_part`, whose result is a float, of all types of date and time.

use super::limits::{is_finite, is_finite_date, local_us, midnight_us};
use super::part_fields::{Part, folded, unknown_unit, unsupported_unit, years_in};
use super::times::timetz_of;
use crate::functions::{Call, Implementations};
use crate::input::time_zones::zone_offset_s;
use crate::values::calendar::{
    DAY_US, EPOCH_JULIAN_DAY, HOUR_US, MINUTE_US, civil_of_days, day_of_week, days_of_civil, iso_day_of_week,
    iso_year_and_week,
};
use crate::values::{Interval, Numeric};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("time_part", |arguments, call| as_float(of_time(arguments, call)?)),
    ("timetz_part", |arguments, call| as_float(of_timetz(arguments, call)?)),
    ("timestamp_part", |arguments, call| as_float(of_timestamp(arguments, call)?)),
    ("timestamptz_part", |arguments, call| as_float(of_timestamptz(arguments, call)?)),
    ("interval_part", |arguments, call| as_float(of_interval(arguments, call)?)),
    ("date_part(text date)", |arguments, call| {
        let midnight = Value::Timestamp(midnight_us(arguments[1].as_date())?);
        as_float(of_timestamp(&[arguments[0].clone(), midnight], call)?)
    }),
    ("extract_date", |arguments, call| of_date(arguments, call).map(as_numeric)),
    ("extract_time", |arguments, call| of_time(arguments, call).map(as_numeric)),
    ("extract_timetz", |arguments, call| of_timetz(arguments, call).map(as_numeric)),
    ("extract_timestamp", |arguments, call| of_timestamp(arguments, call).map(as_numeric)),
    ("extract_timestamptz", |arguments, call| of_timestamptz(arguments, call).map(as_numeric)),
    ("extract_interval", |arguments, call| of_interval(arguments, call).map(as_numeric)),
];

/// A field's value, before it has a type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extracted {
    /// It has none: a field that comes again and again, of an infinite time.
    Nothing,
    /// Infinity, or minus infinity.
    Infinity(bool),
    /// A whole number.
    Whole(i64),
    /// Microseconds, and how many digits of them are a fraction.
    Fraction(i128, u32),
    /// Day and microseconds of the day.
    JulianDay(i64, i64),
    /// Seconds of an interval: microseconds, and the float that PostgreSQL computes.
    Seconds(i128, f64),
}

use Extracted::{Fraction, Infinity, JulianDay, Nothing, Seconds, Whole};

fn as_float(extracted: Extracted) -> Result<Value, SqlError> {
    Ok(Value::Float8(match extracted {
        Nothing => return Ok(Value::Null),
        Infinity(true) => f64::INFINITY,
        Infinity(false) => f64::NEG_INFINITY,
        Whole(number) => number as f64,
        Fraction(us, 3) => (us / 1000) as f64 + (us % 1000) as f64 / 1000.0,
        Fraction(us, _) => us as f64 / 1e6,
        JulianDay(day, us) => day as f64 + us as f64 / DAY_US as f64,
        Seconds(_, float) => float,
    }))
}

fn as_numeric(extracted: Extracted) -> Value {
    match extracted {
        Nothing => Value::Null,
        Infinity(true) => Value::Numeric(Numeric::INFINITY),
        Infinity(false) => Value::Numeric(Numeric::NEGATIVE_INFINITY),
        Whole(number) => numeric(number.into(), 0),
        Fraction(us, digits) => numeric(us, digits),
        Seconds(us, _) => numeric(us, 6),
        JulianDay(day, us) => {
            let digits = julian_digits(us);
            let unit = 10_i128.pow(digits);
            let day_us = i128::from(DAY_US);
            let fraction = (i128::from(us) * unit + day_us / 2) / day_us;
            numeric(i128::from(day) * unit + fraction, digits)
        }
    }
}

/// The digits that PostgreSQL's division of microseconds by those of a day gives: at least 16 that count, in groups of four.
fn julian_digits(us: i64) -> u32 {
    // A day is 864 * 10^8 us: its first group of four digits is 864, and two groups follow.
    let (mut groups, mut first) = (0, us);
    while first >= 10_000 {
        (groups, first) = (groups + 1, first / 10_000);
    }
    let groups = groups - 2 - i32::from(first <= 864);
    (16 - groups * 4) as u32
}

/// `unscaled / 10^digits` as a numeric.
fn numeric(unscaled: i128, digits: u32) -> Value {
    Value::Numeric(Numeric::from_unscaled(unscaled, digits as u16))
}

const TIMESTAMP: &str = "timestamp without time zone";
const TIMESTAMPTZ: &str = "timestamp with time zone";

/// The field of a name.
fn part_named(name: &str, type_name: &str) -> Result<Part, SqlError> {
    Part::of(&folded(name)).ok_or_else(|| unknown_unit(&folded(name), type_name))
}

fn of_date(arguments: &[Value], _: &Call<'_>) -> Result<Extracted, SqlError> {
    let (name, date) = (arguments[0].as_text(), arguments[1].as_date());
    let part = part_named(name, "date")?;
    let unsupported = || unsupported_unit(&folded(name), "date");
    if !is_finite_date(date) {
        return infinite_part(part, date > 0, false).ok_or_else(unsupported);
    }
    match part {
        Part::Epoch => Ok(Whole(i64::from(date) * 86_400)),
        Part::Julian => Ok(Whole(i64::from(date) + EPOCH_JULIAN_DAY)),
        part => calendar_part(part, date.into()).map(Whole).ok_or_else(unsupported),
    }
}

/// A field of an infinite time.
fn infinite_part(part: Part, is_late: bool, has_time: bool) -> Option<Extracted> {
    use Part::{Hour, Microsecond, Millisecond, Minute, Second, Special, Timezone, TimezoneHour, TimezoneMinute};
    match part {
        Special => None,
        Microsecond | Millisecond | Second | Minute | Hour | Timezone | TimezoneHour | TimezoneMinute if !has_time => {
            None
        }
        part if part.is_monotonic() => Some(Infinity(is_late)),
        _ => Some(Nothing),
    }
}

fn of_timestamp(arguments: &[Value], _: &Call<'_>) -> Result<Extracted, SqlError> {
    let (name, us) = (arguments[0].as_text(), arguments[1].as_timestamp());
    let part = part_named(name, TIMESTAMP)?;
    let found = match part {
        part if !is_finite(us) => infinite_part(part, us > 0, true),
        Part::Epoch => Some(Fraction(us.into(), 6)),
        part => local_part(part, us.into()),
    };
    found.ok_or_else(|| unsupported_unit(&folded(name), TIMESTAMP))
}

fn of_timestamptz(arguments: &[Value], call: &Call<'_>) -> Result<Extracted, SqlError> {
    let (name, us) = (arguments[0].as_text(), arguments[1].as_timestamptz());
    let part = part_named(name, TIMESTAMPTZ)?;
    let found = match part {
        part if !is_finite(us) => infinite_part(part, us > 0, true),
        Part::Epoch => Some(Fraction(us.into(), 6)),
        part => {
            zone_part(part, zone_offset_s(us, &call.session.zone())).or_else(|| local_part(part, local_us(us, call)))
        }
    };
    found.ok_or_else(|| unsupported_unit(&folded(name), TIMESTAMPTZ))
}

fn zone_part(part: Part, offset_s: i32) -> Option<Extracted> {
    let seconds = i64::from(offset_s);
    match part {
        Part::Timezone => Some(Whole(seconds)),
        Part::TimezoneHour => Some(Whole(seconds / 3600)),
        Part::TimezoneMinute => Some(Whole(seconds / 60 % 60)),
        _ => None,
    }
}

/// A field of local time.
fn local_part(part: Part, local_us: i128) -> Option<Extracted> {
    let day_us = i128::from(DAY_US);
    let (days, us) = (local_us.div_euclid(day_us) as i64, local_us.rem_euclid(day_us) as i64);
    match part {
        Part::Julian => Some(JulianDay(days + EPOCH_JULIAN_DAY, us)),
        part => time_part(part, us).or_else(|| calendar_part(part, days).map(Whole)),
    }
}

/// A field of the time of day.
fn time_part(part: Part, us: i64) -> Option<Extracted> {
    Some(match part {
        Part::Microsecond => Whole(us % MINUTE_US),
        Part::Millisecond => Fraction((us % MINUTE_US).into(), 3),
        Part::Second => Fraction((us % MINUTE_US).into(), 6),
        Part::Minute => Whole(us / MINUTE_US % 60),
        Part::Hour => Whole(us / HOUR_US),
        _ => return None,
    })
}

/// A field of a day.
fn calendar_part(part: Part, days: i64) -> Option<i64> {
    let (year, month, day) = civil_of_days(days);
    Some(match part {
        Part::Day => day,
        Part::Month => month,
        Part::Quarter => (month - 1) / 3 + 1,
        Part::Week => iso_year_and_week(days).1,
        Part::Year | Part::Decade | Part::Century | Part::Millennium => years_in(year, part),
        Part::IsoYear => years_in(iso_year_and_week(days).0, Part::Year),
        Part::DayOfWeek => day_of_week(days),
        Part::IsoDayOfWeek => iso_day_of_week(days),
        Part::DayOfYear => days - days_of_civil(year, 1, 1) + 1,
        _ => return None,
    })
}

fn of_time(arguments: &[Value], _: &Call<'_>) -> Result<Extracted, SqlError> {
    const TIME: &str = "time without time zone";
    let (name, us) = (arguments[0].as_text(), arguments[1].as_time());
    match part_named(name, TIME)? {
        Part::Epoch => Ok(Fraction(us.into(), 6)),
        Part::Special => Err(unknown_unit(&folded(name), TIME)),
        part => time_part(part, us).ok_or_else(|| unsupported_unit(&folded(name), TIME)),
    }
}

fn of_timetz(arguments: &[Value], _: &Call<'_>) -> Result<Extracted, SqlError> {
    const TIMETZ: &str = "time with time zone";
    let name = arguments[0].as_text();
    let (us, west_s) = timetz_of(&arguments[1]);
    match part_named(name, TIMETZ)? {
        Part::Epoch => {
            let float = us as f64 / 1e6 + f64::from(west_s);
            Ok(Seconds(i128::from(us) + i128::from(west_s) * 1_000_000, float))
        }
        Part::Special => Err(unknown_unit(&folded(name), TIMETZ)),
        part => {
            let found = zone_part(part, -west_s).or_else(|| time_part(part, us));
            found.ok_or_else(|| unsupported_unit(&folded(name), TIMETZ))
        }
    }
}

fn of_interval(arguments: &[Value], _: &Call<'_>) -> Result<Extracted, SqlError> {
    let (name, interval) = (arguments[0].as_text(), arguments[1].as_interval());
    let Interval { months, days, us } = interval;
    let (years, months) = (i64::from(months / 12), i64::from(months % 12));
    Ok(match part_named(name, "interval")? {
        Part::Day => Whole(days.into()),
        Part::Month => Whole(months),
        Part::Quarter => Whole(months / 3 + 1),
        Part::Year => Whole(years),
        Part::Decade => Whole(years / 10),
        Part::Century => Whole(years / 100),
        Part::Millennium => Whole(years / 1000),
        Part::Epoch => interval_epoch(years, months, days.into(), us),
        Part::Special => return Err(unknown_unit(&folded(name), "interval")),
        part => time_part(part, us).ok_or_else(|| unsupported_unit(&folded(name), "interval"))?,
    })
}

/// Seconds of an interval: a year has 365.25 days, a month 30.
fn interval_epoch(years: i64, months: i64, days: i64, us: i64) -> Extracted {
    // Four times the days are whole: 4 * 365.25 = 1461.
    let quarter_days = i128::from(years) * 1461 + i128::from(months) * 120 + i128::from(days) * 4;
    let exact_us = quarter_days * i128::from(DAY_US / 4) + i128::from(us);
    let mut float = us as f64 / 1e6;
    float += 365.25 * 86_400.0 * years as f64;
    float += 30.0 * 86_400.0 * months as f64;
    float += 86_400.0 * days as f64;
    Seconds(exact_us, float)
}
