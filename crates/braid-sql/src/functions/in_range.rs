//! `in_range`: whether a value is at most, or at least, another plus or minus an offset. RANGE frames with offsets are found by it.
//!
//! The arguments are the value, the base, the offset, whether the offset is subtracted, and whether the value must be at most that.
//! An offset that is negative or NaN is an error.

use std::cmp::Ordering;

use super::datetime::limits::midnight_us;
use super::datetime::timestamps::{minus_interval, plus_interval, zoned_minus_interval, zoned_plus_interval};
use super::datetime::{intervals, times};
use super::numbers::comparisons::order_of_floats;
use super::{Call, Implementations};
use crate::values::Interval;
use crate::values::calendar::SECOND_US;
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("in_range_int2_int2", integers),
    ("in_range_int2_int4", integers),
    ("in_range_int2_int8", integers),
    ("in_range_int4_int2", integers),
    ("in_range_int4_int4", integers),
    ("in_range_int4_int8", integers),
    ("in_range_int8_int8", integers),
    ("in_range_float4_float8", |a, _| floats(a[0].as_float4().into(), a[1].as_float4().into(), a)),
    ("in_range_float8_float8", |a, _| floats(a[0].as_float8(), a[1].as_float8(), a)),
    ("in_range_numeric_numeric", numerics),
    ("in_range_interval_interval", interval_values),
    ("in_range_date_interval", |a, _| timestamps(midnight_us(a[0].as_date())?, midnight_us(a[1].as_date())?, a)),
    ("in_range_timestamp_interval", |a, _| timestamps(a[0].as_timestamp(), a[1].as_timestamp(), a)),
    ("in_range_timestamptz_interval", instants),
    ("in_range_time_interval", |a, _| {
        let (value, base) = (a[0].as_time(), a[1].as_time());
        Ok(result(value.cmp(&time_bound(base, a)?), a))
    }),
    ("in_range_timetz_interval", times_with_zone),
];

/// The error of an offset that is no distance.
fn invalid_size() -> SqlError {
    let message = "invalid preceding or following size in window function";
    SqlError::new(SqlState::InvalidPrecedingOrFollowingSize, message)
}

/// The offset is subtracted.
fn subtracts(arguments: &[Value]) -> bool {
    arguments[3].as_bool()
}

/// The answer for a value that compares so with the bound.
fn result(ordering: Ordering, arguments: &[Value]) -> Value {
    Value::Bool(if arguments[4].as_bool() { ordering.is_le() } else { ordering.is_ge() })
}

fn integers(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let integer = |value: &Value| match value {
        Value::Int2(value) => i128::from(*value),
        Value::Int4(value) => i128::from(*value),
        value => i128::from(value.as_int8()),
    };
    let [value, base, offset] = [0, 1, 2].map(|at: usize| integer(&arguments[at]));
    if offset < 0 {
        return Err(invalid_size());
    }
    let bound = if subtracts(arguments) { base - offset } else { base + offset };
    Ok(result(value.cmp(&bound), arguments))
}

fn floats(value: f64, base: f64, arguments: &[Value]) -> Result<Value, SqlError> {
    let offset = arguments[2].as_float8();
    if offset.is_nan() || offset < 0.0 {
        return Err(invalid_size());
    }
    if value.is_nan() || base.is_nan() {
        return Ok(result(order_of_floats(value, base), arguments));
    }
    let bound = if subtracts(arguments) { base - offset } else { base + offset };
    Ok(if bound.is_nan() { UNBOUNDED } else { result(order_of_floats(value, bound), arguments) })
}

/// Infinity minus infinity bounds nothing.
const UNBOUNDED: Value = Value::Bool(true);

fn numerics(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let [value, base, offset] = [0, 1, 2].map(|at: usize| arguments[at].as_numeric());
    if offset.is_nan() || offset.signum() < 0 {
        return Err(invalid_size());
    }
    if value.is_nan() || base.is_nan() {
        return Ok(result(value.compare(base), arguments));
    }
    let bound = if subtracts(arguments) { base.checked_sub(offset)? } else { base.checked_add(offset)? };
    Ok(if bound.is_nan() { UNBOUNDED } else { result(value.compare(&bound), arguments) })
}

/// The offset, if it is none that makes values smaller.
fn interval_offset(arguments: &[Value]) -> Result<Interval, SqlError> {
    let offset = arguments[2].as_interval();
    if offset.comparable_us() < 0 { Err(invalid_size()) } else { Ok(offset) }
}

fn interval_values(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (base, offset) = (arguments[1].as_interval(), interval_offset(arguments)?);
    let bound = if subtracts(arguments) { intervals::difference(base, offset)? } else { intervals::sum(base, offset)? };
    Ok(result(intervals::compare(&arguments[0], &Value::Interval(bound)), arguments))
}

fn timestamps(value_us: i64, base_us: i64, arguments: &[Value]) -> Result<Value, SqlError> {
    let offset = interval_offset(arguments)?;
    let bound = if subtracts(arguments) { minus_interval(base_us, offset)? } else { plus_interval(base_us, offset)? };
    Ok(result(value_us.cmp(&bound), arguments))
}

fn instants(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (base_us, offset) = (arguments[1].as_timestamptz(), interval_offset(arguments)?);
    let bound = if subtracts(arguments) {
        zoned_minus_interval(base_us, offset, call)?
    } else {
        zoned_plus_interval(base_us, offset, &call.session.zone())?
    };
    Ok(result(arguments[0].as_timestamptz().cmp(&bound), arguments))
}

/// A time of day before or behind another, which does not go on at midnight. Months and days of the offset do not count. The longest
/// intervals wrap, as for PostgreSQL.
fn time_bound(base_us: i64, arguments: &[Value]) -> Result<i64, SqlError> {
    let offset_us = arguments[2].as_interval().us;
    if offset_us < 0 {
        return Err(invalid_size());
    }
    Ok(if subtracts(arguments) { base_us.wrapping_sub(offset_us) } else { base_us.wrapping_add(offset_us) })
}

fn times_with_zone(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let ((value_us, value_west_s), (base_us, base_west_s)) =
        (times::timetz_of(&arguments[0]), times::timetz_of(&arguments[1]));
    // By the time in UTC, then by the zone.
    let key = |us: i64, west_s: i32| (us.wrapping_add(i64::from(west_s) * SECOND_US), west_s);
    let bound = key(time_bound(base_us, arguments)?, base_west_s);
    Ok(result(key(value_us, value_west_s).cmp(&bound), arguments))
}
