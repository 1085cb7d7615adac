//! `timestamp` and `timestamp with time zone`: text, order and arithmetic.
//!
//! PostgreSQL compares both types with the same functions, so that those take either variant of [`Value`].

use crate::input::time_zones::TimeZone;

use super::clocks::rounded_timestamp;
use super::intervals::negated;
use super::limits::{
    checked_timestamp, interval_overflow, is_finite, overflow, surroundings, zone_instant_us, zone_local_us,
};
use super::times::input_modifier;
use crate::functions::datetime::interval_scaling::justified_hours;
use crate::functions::{Call, Implementations};
use crate::input::datetime_values::{timestamp_of_text, timestamptz_of_text};
use crate::output::datetime_styles::{styled_timestamp, styled_timestamptz};
use crate::types::interval_modifier::second_digits;
use crate::values::Interval;
use crate::values::calendar::{DAY_US, DAYS_MIN, civil_of_days, days_of_civil, days_of_month};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("timestamp_in", timestamp_in),
    ("timestamp_out", |arguments, call| {
        Ok(Value::text(styled_timestamp(arguments[0].as_timestamp(), &call.session.formats())))
    }),
    ("timestamptz_in", timestamptz_in),
    ("timestamptz_out", timestamptz_out),
    ("timestamp_eq", |arguments, _| Ok(Value::Bool(us_of(&arguments[0]) == us_of(&arguments[1])))),
    ("timestamp_ne", |arguments, _| Ok(Value::Bool(us_of(&arguments[0]) != us_of(&arguments[1])))),
    ("timestamp_lt", |arguments, _| Ok(Value::Bool(us_of(&arguments[0]) < us_of(&arguments[1])))),
    ("timestamp_le", |arguments, _| Ok(Value::Bool(us_of(&arguments[0]) <= us_of(&arguments[1])))),
    ("timestamp_gt", |arguments, _| Ok(Value::Bool(us_of(&arguments[0]) > us_of(&arguments[1])))),
    ("timestamp_ge", |arguments, _| Ok(Value::Bool(us_of(&arguments[0]) >= us_of(&arguments[1])))),
    ("timestamp_cmp", |arguments, _| Ok(Value::Int4(us_of(&arguments[0]).cmp(&us_of(&arguments[1])) as i32))),
    ("timestamp_larger", |arguments, _| {
        Ok(arguments[usize::from(us_of(&arguments[0]) <= us_of(&arguments[1]))].clone())
    }),
    ("timestamp_smaller", |arguments, _| {
        Ok(arguments[usize::from(us_of(&arguments[0]) >= us_of(&arguments[1]))].clone())
    }),
    ("timestamp_finite", |arguments, _| Ok(Value::Bool(is_finite(us_of(&arguments[0]))))),
    ("timestamp_mi", timestamp_mi),
    ("timestamp_pl_interval", |arguments, _| {
        plus_interval(arguments[0].as_timestamp(), arguments[1].as_interval()).map(Value::Timestamp)
    }),
    ("timestamp_mi_interval", |arguments, _| {
        minus_interval(arguments[0].as_timestamp(), arguments[1].as_interval()).map(Value::Timestamp)
    }),
    ("interval_pl_timestamp(interval timestamp)", |arguments, _| {
        plus_interval(arguments[1].as_timestamp(), arguments[0].as_interval()).map(Value::Timestamp)
    }),
    ("timestamptz_pl_interval", |arguments, call| {
        zoned_plus_interval(arguments[0].as_timestamptz(), arguments[1].as_interval(), &call.session.zone())
            .map(Value::TimestampTz)
    }),
    ("timestamptz_mi_interval", |arguments, call| {
        zoned_minus_interval(arguments[0].as_timestamptz(), arguments[1].as_interval(), call).map(Value::TimestampTz)
    }),
    ("interval_pl_timestamptz(interval timestamptz)", |arguments, call| {
        zoned_plus_interval(arguments[1].as_timestamptz(), arguments[0].as_interval(), &call.session.zone())
            .map(Value::TimestampTz)
    }),
];

/// Microseconds of a timestamp of either type. Panics for a value of another type, as the other accessors do.
pub fn us_of(value: &Value) -> i64 {
    match value {
        Value::Timestamp(us) | Value::TimestampTz(us) => *us,
        other => panic!("us_of {other:?}"),
    }
}

/// The modifier's rounding; infinities stay.
pub fn scaled(us: i64, modifier: i32) -> Result<i64, SqlError> {
    if is_finite(us) && modifier != -1 && second_digits(modifier).is_none() {
        let message = format!("timestamp({modifier}) precision must be between 0 and 6");
        return Err(SqlError::new(SqlState::InvalidParameterValue, message));
    }
    if is_finite(us) { checked_timestamp(rounded_timestamp(us, modifier).into()) } else { Ok(us) }
}

fn timestamp_in(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let us = timestamp_of_text(arguments[0].as_text(), &surroundings(call))?;
    scaled(us, input_modifier(arguments)).map(Value::Timestamp)
}

fn timestamptz_in(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let us = timestamptz_of_text(arguments[0].as_text(), &surroundings(call))?;
    scaled(us, input_modifier(arguments)).map(Value::TimestampTz)
}

fn timestamptz_out(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let us = arguments[0].as_timestamptz();
    Ok(Value::text(styled_timestamptz(us, &call.session.zone(), &call.session.formats())))
}

/// The time between two timestamps in days of 24 hours and the rest.
fn timestamp_mi(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (left, right) = (us_of(&arguments[0]), us_of(&arguments[1]));
    if !is_finite(left) || !is_finite(right) {
        return Err(overflow("cannot subtract infinite timestamps"));
    }
    let us = left.checked_sub(right).ok_or_else(interval_overflow)?;
    justified_hours(Interval::new(0, 0, us)).map(Value::Interval)
}

/// Months, then days, then time. The day of the month is at most the last of the month.
pub fn plus_interval(us: i64, interval: Interval) -> Result<i64, SqlError> {
    if !is_finite(us) {
        return Ok(us);
    }
    let mut us = i128::from(us);
    if interval.months != 0 {
        us = checked_timestamp(plus_months(us, interval.months)?)?.into();
    }
    if interval.days != 0 {
        us = checked_timestamp(plus_days(us, interval.days)?)?.into();
    }
    checked_timestamp(us + i128::from(interval.us))
}

/// The same of a timestamp with time zone: months and days are those of the zone's calendar.
pub fn zoned_plus_interval(us: i64, interval: Interval, zone: &TimeZone) -> Result<i64, SqlError> {
    if !is_finite(us) {
        return Ok(us);
    }
    let mut us = us;
    if interval.months != 0 {
        us = zone_instant_us(plus_months(zone_local_us(us, zone), interval.months)?, zone)?;
    }
    if interval.days != 0 {
        us = zone_instant_us(plus_days(zone_local_us(us, zone), interval.days)?, zone)?;
    }
    checked_timestamp(i128::from(us) + i128::from(interval.us))
}

/// The timestamp earlier by an interval.
pub fn minus_interval(us: i64, interval: Interval) -> Result<i64, SqlError> {
    if is_finite(us) { plus_interval(us, opposite(interval)?) } else { Ok(us) }
}

/// The timestamp with time zone earlier by an interval.
pub fn zoned_minus_interval(us: i64, interval: Interval, call: &Call<'_>) -> Result<i64, SqlError> {
    if is_finite(us) { zoned_plus_interval(us, opposite(interval)?, &call.session.zone()) } else { Ok(us) }
}

/// An interval that has no opposite is longer than all timestamps.
fn opposite(interval: Interval) -> Result<Interval, SqlError> {
    negated(interval).map_err(|_| overflow("timestamp out of range"))
}

/// Local time later by months.
fn plus_months(local_us: i128, months: i32) -> Result<i128, SqlError> {
    let day_us = i128::from(DAY_US);
    let (year, month, day) = civil_of_days(local_us.div_euclid(day_us) as i64);
    let month_count = year * 12 + (month - 1) + i64::from(months);
    let (year, month) = (month_count.div_euclid(12), month_count.rem_euclid(12) + 1);
    let days = days_of_civil(year, month, day.min(days_of_month(year, month)));
    Ok(i128::from(days) * day_us + local_us.rem_euclid(day_us))
}

/// Local time later by days; it may not be before the first day of all.
fn plus_days(local_us: i128, days: i32) -> Result<i128, SqlError> {
    let local_us = local_us + i128::from(days) * i128::from(DAY_US);
    if local_us < i128::from(DAYS_MIN) * i128::from(DAY_US) {
        return Err(overflow("timestamp out of range"));
    }
    Ok(local_us)
}
