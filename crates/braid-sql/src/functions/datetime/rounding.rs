//! `date_trunc` and `date_bin`: times rounded down to a unit of the calendar or to a multiple of an interval.

use super::limits::{checked_timestamp, interval_overflow, is_finite, overflow};
use super::part_fields::{Part, folded, unknown_unit, unsupported_unit};
use super::timestamps::us_of;
use crate::functions::{Call, Implementations};
use crate::input::time_zones::{Zone, zone_meant_by};
use crate::values::Interval;
use crate::values::calendar::{DAY_US, HOUR_US, MINUTE_US, SECOND_US, civil_of_days, days_of_civil, iso_day_of_week};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("timestamp_trunc", timestamp_trunc),
    ("timestamptz_trunc", |arguments, call| {
        zoned_trunc(arguments, || Ok(Zone::Named(call.session.zone()))).map(Value::TimestampTz)
    }),
    ("timestamptz_trunc_zone", |arguments, _| {
        zoned_trunc(arguments, || zone_for_calendar(arguments[2].as_text())).map(Value::TimestampTz)
    }),
    ("interval_trunc", interval_trunc),
    ("timestamp_bin", |arguments, _| bin(arguments).map(Value::Timestamp)),
    ("timestamptz_bin", |arguments, _| bin(arguments).map(Value::TimestampTz)),
];

/// An abbreviation without a fixed meaning stands for its whole zone here.
fn zone_for_calendar(name: &str) -> Result<Zone, SqlError> {
    Ok(match zone_meant_by(name)? {
        Zone::Abbreviated(_, zone) => Zone::Named(zone),
        zone => zone,
    })
}

fn timestamp_trunc(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let us = arguments[1].as_timestamp();
    if !is_finite(us) {
        return Ok(Value::Timestamp(us));
    }
    let part = unit_named(arguments[0].as_text(), "timestamp without time zone")?;
    checked_timestamp(rounded_down(us.into(), part)).map(Value::Timestamp)
}

/// Units of a day and more are those of the zone's calendar; smaller ones keep the offset that the zone has.
fn zoned_trunc(arguments: &[Value], zone: impl FnOnce() -> Result<Zone, SqlError>) -> Result<i64, SqlError> {
    let us = arguments[1].as_timestamptz();
    if !is_finite(us) {
        return Ok(us);
    }
    let zone = zone()?;
    let part = unit_named(arguments[0].as_text(), "timestamp with time zone")?;
    let offset_us = |seconds: i32| i128::from(seconds) * i128::from(SECOND_US);
    let before = offset_us(zone.offset_at(us));
    let local_us = rounded_down(i128::from(us) + before, part);
    if unit_us(part).is_some() {
        return checked_timestamp(local_us - before);
    }
    let clamped = local_us.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    checked_timestamp(local_us - offset_us(zone.offset_of_local(clamped)))
}

/// The unit of a name that timestamps can be rounded to.
fn unit_named(name: &str, type_name: &str) -> Result<Part, SqlError> {
    let part = Part::of_unit(&folded(name)).ok_or_else(|| unknown_unit(&folded(name), type_name))?;
    let is_zone = matches!(part, Part::Timezone | Part::TimezoneHour | Part::TimezoneMinute);
    if is_zone { Err(unsupported_unit(&folded(name), type_name)) } else { Ok(part) }
}

/// Microseconds of a unit that is shorter than a day.
fn unit_us(part: Part) -> Option<i64> {
    match part {
        Part::Microsecond => Some(1),
        Part::Millisecond => Some(1000),
        Part::Second => Some(SECOND_US),
        Part::Minute => Some(MINUTE_US),
        Part::Hour => Some(HOUR_US),
        _ => None,
    }
}

fn rounded_down(local_us: i128, part: Part) -> i128 {
    if let Some(unit) = unit_us(part) {
        return local_us - local_us.rem_euclid(i128::from(unit));
    }
    let days = local_us.div_euclid(i128::from(DAY_US)) as i64;
    let (year, month, _) = civil_of_days(days);
    let first = match part {
        Part::Day => days,
        Part::Week => days - (iso_day_of_week(days) - 1),
        Part::Month => days_of_civil(year, month, 1),
        Part::Quarter => days_of_civil(year, (month - 1) / 3 * 3 + 1, 1),
        _ => days_of_civil(first_year(year, part), 1, 1),
    };
    i128::from(first) * i128::from(DAY_US)
}

/// The first year of a decade, century or millennium. The first century begins in year 1, the first decade in 1 BC.
fn first_year(year: i64, part: Part) -> i64 {
    match part {
        Part::Decade if year > 0 => year / 10 * 10,
        Part::Decade => -((8 - (year - 1)) / 10) * 10,
        Part::Century if year > 0 => (year + 99) / 100 * 100 - 99,
        Part::Century => -((99 - (year - 1)) / 100) * 100 + 1,
        Part::Millennium if year > 0 => (year + 999) / 1000 * 1000 - 999,
        Part::Millennium => -((999 - (year - 1)) / 1000) * 1000 + 1,
        _ => year,
    }
}

fn interval_trunc(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (name, interval) = (folded(arguments[0].as_text()), arguments[1].as_interval());
    let part = Part::of_unit(&name).ok_or_else(|| unknown_unit(&name, "interval"))?;
    let of_months = |unit: i32| Interval::new(interval.months / unit * unit, 0, 0);
    Ok(Value::Interval(match part {
        Part::Millennium => of_months(12_000),
        Part::Century => of_months(1200),
        Part::Decade => of_months(120),
        Part::Year => of_months(12),
        Part::Quarter => of_months(3),
        Part::Month => of_months(1),
        Part::Day => Interval { us: 0, ..interval },
        Part::Week => {
            let error = unsupported_unit(&name, "interval");
            return Err(error.with_detail("Months usually have fractional weeks."));
        }
        part => match unit_us(part) {
            Some(unit) => Interval { us: interval.us / unit * unit, ..interval },
            None => return Err(unsupported_unit(&name, "interval")),
        },
    }))
}

/// The start of the stride, counted from an origin, that a timestamp lies in.
fn bin(arguments: &[Value]) -> Result<i64, SqlError> {
    let (stride, us, origin) = (arguments[0].as_interval(), us_of(&arguments[1]), us_of(&arguments[2]));
    if !is_finite(us) {
        return Ok(us);
    }
    if !is_finite(origin) {
        return Err(overflow("origin out of range"));
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(SqlError::unsupported(message));
    }
    let days_us = i64::from(stride.days).checked_mul(DAY_US);
    let stride_us = days_us.and_then(|us| us.checked_add(stride.us)).ok_or_else(interval_overflow)?;
    if stride_us <= 0 {
        return Err(overflow("stride must be greater than zero"));
    }
    let distance = us.checked_sub(origin).ok_or_else(interval_overflow)?;
    checked_timestamp(i128::from(us) - i128::from(distance.rem_euclid(stride_us)))
}
