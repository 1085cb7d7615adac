//! Casts among dates and times, and the modifiers of timestamps.

use super::limits::{
    checked_date, checked_timestamp, infinite_date, infinite_timestamp, instant_us, is_finite, local_us, midnight_us,
    overflow,
};
use super::times::{plus, timetz_of};
use super::timestamps::scaled;
use crate::functions::{Call, Implementations};
use crate::input::time_zones::{local_offset_s, zone_offset_s};
use crate::values::Interval;
use crate::values::calendar::{DAY_US, SECOND_US};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("date_timestamp", |arguments, _| midnight_us(arguments[0].as_date()).map(Value::Timestamp)),
    ("date_timestamptz", |arguments, call| zoned_midnight(arguments[0].as_date(), call)),
    ("timestamp_date", |arguments, _| date_of(arguments[0].as_timestamp(), arguments[0].as_timestamp().into())),
    ("timestamptz_date", |arguments, call| {
        let us = arguments[0].as_timestamptz();
        date_of(us, local_us(us, call))
    }),
    ("timestamp_timestamptz", |arguments, call| zoned(arguments[0].as_timestamp(), call)),
    ("timestamptz_timestamp", |arguments, call| local(arguments[0].as_timestamptz(), call)),
    ("timestamp_time", |arguments, _| {
        let us = arguments[0].as_timestamp();
        Ok(if is_finite(us) { Value::Time(us.rem_euclid(DAY_US)) } else { Value::Null })
    }),
    ("timestamptz_time", |arguments, call| {
        let us = arguments[0].as_timestamptz();
        Ok(if is_finite(us) { Value::Time(time_of_local(local_us(us, call))) } else { Value::Null })
    }),
    ("timestamptz_timetz", timestamptz_timetz),
    ("timetz_time", |arguments, _| Ok(Value::Time(timetz_of(&arguments[0]).0))),
    ("time_timetz", time_timetz),
    ("interval_time", |arguments, _| Ok(Value::Time(plus(0, arguments[0].as_interval().us)))),
    ("time_interval", |arguments, _| Ok(Value::Interval(Interval::new(0, 0, arguments[0].as_time())))),
    ("datetime_timestamp", |arguments, _| joined(arguments[0].as_date(), arguments[1].as_time()).map(Value::Timestamp)),
    ("timedate_pl(time date)", |arguments, _| {
        joined(arguments[1].as_date(), arguments[0].as_time()).map(Value::Timestamp)
    }),
    ("timestamptz(date time)", |arguments, call| zoned(joined(arguments[0].as_date(), arguments[1].as_time())?, call)),
    ("datetimetz_timestamptz", |arguments, _| zoned_joined(&arguments[0], &arguments[1])),
    ("timetzdate_pl(timetz date)", |arguments, _| zoned_joined(&arguments[1], &arguments[0])),
    ("timestamp_scale", |arguments, _| {
        scaled(arguments[0].as_timestamp(), arguments[1].as_int4()).map(Value::Timestamp)
    }),
    ("timestamptz_scale", |arguments, _| {
        scaled(arguments[0].as_timestamptz(), arguments[1].as_int4()).map(Value::TimestampTz)
    }),
];

fn time_of_local(local_us: i128) -> i64 {
    local_us.rem_euclid(i128::from(DAY_US)) as i64
}

/// The day of a local time; `us` is the timestamp, which may be infinite.
fn date_of(us: i64, local_us: i128) -> Result<Value, SqlError> {
    match infinite_date(us) {
        Some(infinity) => Ok(Value::Date(infinity)),
        None => checked_date(local_us.div_euclid(i128::from(DAY_US)) as i64).map(Value::Date),
    }
}

fn zoned_midnight(date: i32, call: &Call<'_>) -> Result<Value, SqlError> {
    if let Some(infinity) = infinite_timestamp(date) {
        return Ok(Value::TimestampTz(infinity));
    }
    let out_of_range = |_| overflow("date out of range for timestamp");
    instant_us(i128::from(date) * i128::from(DAY_US), call).map(Value::TimestampTz).map_err(out_of_range)
}

/// The instant at which the session's clocks show a timestamp.
fn zoned(us: i64, call: &Call<'_>) -> Result<Value, SqlError> {
    if is_finite(us) { instant_us(us.into(), call).map(Value::TimestampTz) } else { Ok(Value::TimestampTz(us)) }
}

/// What the session's clocks show.
fn local(us: i64, call: &Call<'_>) -> Result<Value, SqlError> {
    if is_finite(us) { checked_timestamp(local_us(us, call)).map(Value::Timestamp) } else { Ok(Value::Timestamp(us)) }
}

fn timestamptz_timetz(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let us = arguments[0].as_timestamptz();
    if !is_finite(us) {
        return Ok(Value::Null);
    }
    let offset_s = zone_offset_s(us, &call.session.zone());
    Ok(Value::TimeTz(time_of_local(local_us(us, call)), -offset_s))
}

/// The zone is that of the session on the transaction's day.
/// A time in the zone that the session has today.
pub(in crate::functions) fn time_timetz(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let time_us = arguments[0].as_time();
    let today = (local_us(call.session.transaction_us(), call) as i64).div_euclid(DAY_US);
    Ok(Value::TimeTz(time_us, -local_offset_s(today * DAY_US + time_us, &call.session.zone())))
}

/// A date and a time of day.
fn joined(date: i32, time_us: i64) -> Result<i64, SqlError> {
    let midnight = midnight_us(date)?;
    if is_finite(midnight) { checked_timestamp(i128::from(midnight) + i128::from(time_us)) } else { Ok(midnight) }
}

/// A date and a time of day with zone.
fn zoned_joined(date: &Value, time: &Value) -> Result<Value, SqlError> {
    let midnight = midnight_us(date.as_date())?;
    if !is_finite(midnight) {
        return Ok(Value::TimestampTz(midnight));
    }
    let (time_us, west_s) = timetz_of(time);
    let us = i128::from(midnight) + i128::from(time_us) + i128::from(west_s) * i128::from(SECOND_US);
    checked_timestamp(us).map(Value::TimestampTz).map_err(|_| overflow("date out of range for timestamp"))
}
