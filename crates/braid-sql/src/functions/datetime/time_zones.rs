//! AT TIME ZONE: the function `timezone`, with the zone as a text or as an interval east of UTC.

use super::limits::{checked_timestamp, is_finite};
use super::times::timetz_of;
use crate::functions::{Call, Implementations};
use crate::input::time_zones::{Zone, zone_meant_by};
use crate::output::interval_styles::styled_interval;
use crate::values::Interval;
use crate::values::calendar::{DAY_US, SECOND_US};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("timestamp_zone", |arguments, _| {
        let zone = zone_meant_by(arguments[0].as_text());
        to_instant(arguments[1].as_timestamp(), |local_us| Ok(zone?.offset_of_local(local_us)))
    }),
    ("timestamp_izone", |arguments, call| {
        let zone = arguments[0].as_interval();
        to_instant(arguments[1].as_timestamp(), |_| interval_offset_s(zone, call))
    }),
    ("timestamptz_zone", |arguments, _| {
        let zone = zone_meant_by(arguments[0].as_text());
        to_local(arguments[1].as_timestamptz(), |us| Ok(zone?.offset_at(us)))
    }),
    ("timestamptz_izone", |arguments, call| {
        let zone = arguments[0].as_interval();
        to_local(arguments[1].as_timestamptz(), |_| interval_offset_s(zone, call))
    }),
    ("timetz_zone", timetz_zone),
    ("timetz_izone", |arguments, call| Ok(moved(&arguments[1], interval_offset_s(arguments[0].as_interval(), call)?))),
];

/// Seconds east of UTC that an interval means.
fn interval_offset_s(zone: Interval, call: &Call<'_>) -> Result<i32, SqlError> {
    if zone.months != 0 || zone.days != 0 {
        let shown = styled_interval(zone, call.session.formats().interval_style);
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(SqlError::new(SqlState::InvalidParameterValue, message));
    }
    // PostgreSQL keeps an offset in 32 bits as well.
    Ok((zone.us / SECOND_US) as i32)
}

fn to_instant(local_us: i64, offset_s: impl FnOnce(i64) -> Result<i32, SqlError>) -> Result<Value, SqlError> {
    if !is_finite(local_us) {
        return Ok(Value::TimestampTz(local_us));
    }
    let offset_us = i128::from(offset_s(local_us)?) * i128::from(SECOND_US);
    checked_timestamp(i128::from(local_us) - offset_us).map(Value::TimestampTz)
}

fn to_local(us: i64, offset_s: impl FnOnce(i64) -> Result<i32, SqlError>) -> Result<Value, SqlError> {
    if !is_finite(us) {
        return Ok(Value::Timestamp(us));
    }
    let offset_us = i128::from(offset_s(us)?) * i128::from(SECOND_US);
    checked_timestamp(i128::from(us) + offset_us).map(Value::Timestamp)
}

/// The same time in another zone, with the offset that it has now.
fn timetz_zone(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let zone: Zone = zone_meant_by(arguments[0].as_text())?;
    Ok(moved(&arguments[1], zone.offset_at(call.session.transaction_us())))
}

fn moved(time: &Value, offset_s: i32) -> Value {
    let (us, west_s) = timetz_of(time);
    let us = us + (i64::from(west_s) + i64::from(offset_s)) * SECOND_US;
    Value::TimeTz(us.rem_euclid(DAY_US), -offset_s)
}
