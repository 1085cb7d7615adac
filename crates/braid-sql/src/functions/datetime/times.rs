//! `time` and `time with time zone`: text, order and arithmetic.

use std::cmp::Ordering;

use super::clocks::rounded_time;
use super::limits::surroundings;
use crate::functions::{Call, Implementations};
use crate::input::datetime_values::{time_of_text, timetz_of_text};
use crate::output::datetime_text::{time_text, timetz_text};
use crate::values::Interval;
use crate::values::calendar::{DAY_US, SECOND_US};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("time_in", time_in),
    ("time_out", |arguments, _| Ok(Value::text(time_text(arguments[0].as_time())))),
    ("time_eq", |arguments, _| Ok(Value::Bool(arguments[0].as_time() == arguments[1].as_time()))),
    ("time_ne", |arguments, _| Ok(Value::Bool(arguments[0].as_time() != arguments[1].as_time()))),
    ("time_lt", |arguments, _| Ok(Value::Bool(arguments[0].as_time() < arguments[1].as_time()))),
    ("time_le", |arguments, _| Ok(Value::Bool(arguments[0].as_time() <= arguments[1].as_time()))),
    ("time_gt", |arguments, _| Ok(Value::Bool(arguments[0].as_time() > arguments[1].as_time()))),
    ("time_ge", |arguments, _| Ok(Value::Bool(arguments[0].as_time() >= arguments[1].as_time()))),
    ("time_cmp", |arguments, _| Ok(Value::Int4(arguments[0].as_time().cmp(&arguments[1].as_time()) as i32))),
    ("time_larger", |arguments, _| Ok(Value::Time(arguments[0].as_time().max(arguments[1].as_time())))),
    ("time_smaller", |arguments, _| Ok(Value::Time(arguments[0].as_time().min(arguments[1].as_time())))),
    ("time_scale", |arguments, _| Ok(Value::Time(rounded_time(arguments[0].as_time(), arguments[1].as_int4())))),
    ("time_mi_time", time_mi_time),
    ("time_pl_interval", |arguments, _| Ok(Value::Time(plus(arguments[0].as_time(), arguments[1].as_interval().us)))),
    ("time_mi_interval", |arguments, _| Ok(Value::Time(minus(arguments[0].as_time(), arguments[1].as_interval().us)))),
    ("interval_pl_time(interval time)", |arguments, _| {
        Ok(Value::Time(plus(arguments[1].as_time(), arguments[0].as_interval().us)))
    }),
    ("timetz_in", timetz_in),
    ("timetz_out", timetz_out),
    ("timetz_eq", |arguments, _| Ok(Value::Bool(compare_timetz(&arguments[0], &arguments[1]).is_eq()))),
    ("timetz_ne", |arguments, _| Ok(Value::Bool(compare_timetz(&arguments[0], &arguments[1]).is_ne()))),
    ("timetz_lt", |arguments, _| Ok(Value::Bool(compare_timetz(&arguments[0], &arguments[1]).is_lt()))),
    ("timetz_le", |arguments, _| Ok(Value::Bool(compare_timetz(&arguments[0], &arguments[1]).is_le()))),
    ("timetz_gt", |arguments, _| Ok(Value::Bool(compare_timetz(&arguments[0], &arguments[1]).is_gt()))),
    ("timetz_ge", |arguments, _| Ok(Value::Bool(compare_timetz(&arguments[0], &arguments[1]).is_ge()))),
    ("timetz_cmp", |arguments, _| Ok(Value::Int4(compare_timetz(&arguments[0], &arguments[1]) as i32))),
    ("timetz_larger", |arguments, _| {
        Ok(arguments[usize::from(compare_timetz(&arguments[0], &arguments[1]).is_le())].clone())
    }),
    ("timetz_smaller", |arguments, _| {
        Ok(arguments[usize::from(compare_timetz(&arguments[0], &arguments[1]).is_ge())].clone())
    }),
    ("timetz_scale", timetz_scale),
    ("timetz_pl_interval", |arguments, _| Ok(timetz_plus(&arguments[0], arguments[1].as_interval().us))),
    ("timetz_mi_interval", |arguments, _| {
        let (us, west_s) = timetz_of(&arguments[0]);
        Ok(Value::TimeTz(minus(us, arguments[1].as_interval().us), west_s))
    }),
    ("interval_pl_timetz(interval timetz)", |arguments, _| {
        Ok(timetz_plus(&arguments[1], arguments[0].as_interval().us))
    }),
];

/// Microseconds since midnight and seconds west of UTC. Panics for a value of another type, as the other accessors do.
pub fn timetz_of(value: &Value) -> (i64, i32) {
    match value {
        Value::TimeTz(us, west_s) => (*us, *west_s),
        other => panic!("timetz_of {other:?}"),
    }
}

/// The modifier of a call of an input function; -1 if it has none.
pub fn input_modifier(arguments: &[Value]) -> i32 {
    match arguments.get(2) {
        Some(Value::Int4(modifier)) => *modifier,
        _ => -1,
    }
}

fn time_in(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let us = time_of_text(arguments[0].as_text(), &surroundings(call))?;
    Ok(Value::Time(rounded_time(us, input_modifier(arguments))))
}

fn timetz_in(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (us, west_s) = timetz_of_text(arguments[0].as_text(), &surroundings(call))?;
    Ok(Value::TimeTz(rounded_time(us, input_modifier(arguments)), west_s))
}

fn timetz_out(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (us, west_s) = timetz_of(&arguments[0]);
    Ok(Value::text(timetz_text(us, west_s)))
}

fn timetz_scale(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (us, west_s) = timetz_of(&arguments[0]);
    Ok(Value::TimeTz(rounded_time(us, arguments[1].as_int4()), west_s))
}

/// By the time in UTC, then by the zone: no two different values are equal.
pub fn compare_timetz(left: &Value, right: &Value) -> Ordering {
    let key = |value| {
        let (us, west_s) = timetz_of(value);
        (us + i64::from(west_s) * SECOND_US, west_s)
    };
    key(left).cmp(&key(right))
}

fn time_mi_time(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::Interval(Interval::new(0, 0, arguments[0].as_time() - arguments[1].as_time())))
}

/// A time of day later; it goes on at midnight. Days and months do not count. An interval close to the longest wraps, as for
/// PostgreSQL.
pub fn plus(time_us: i64, us: i64) -> i64 {
    time_us.wrapping_add(us).rem_euclid(DAY_US)
}

fn minus(time_us: i64, us: i64) -> i64 {
    time_us.wrapping_sub(us).rem_euclid(DAY_US)
}

fn timetz_plus(time: &Value, us: i64) -> Value {
    let (time_us, west_s) = timetz_of(time);
    Value::TimeTz(plus(time_us, us), west_s)
}
