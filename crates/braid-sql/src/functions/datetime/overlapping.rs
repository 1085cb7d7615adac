//! OVERLAPS: whether two spans of time have an instant in common. A span contains its start, not its end, unless they are equal.
//!
//! A span is two ends in any order, or a start and a length. Ends may be null: then the result is null where it depends on them.

use std::cmp::Ordering;

use super::times::{compare_timetz, plus};
use super::timestamps::{plus_interval, zoned_plus_interval};
use crate::functions::{Call, Implementations};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("overlaps_time", |arguments, _| Ok(overlaps(ends(arguments)))),
    ("overlaps_timetz", |arguments, _| Ok(overlaps(ends(arguments)))),
    ("overlaps_timestamp", |arguments, _| Ok(overlaps(ends(arguments)))),
    ("overlaps(time interval time interval)", spans),
    ("overlaps(time time time interval)", spans),
    ("overlaps(time interval time time)", spans),
    ("overlaps(timestamp interval timestamp interval)", spans),
    ("overlaps(timestamp timestamp timestamp interval)", spans),
    ("overlaps(timestamp interval timestamp timestamp)", spans),
    ("overlaps(timestamptz interval timestamptz interval)", spans),
    ("overlaps(timestamptz timestamptz timestamptz interval)", spans),
    ("overlaps(timestamptz interval timestamptz timestamptz)", spans),
];

fn ends(arguments: &[Value]) -> [Value; 4] {
    std::array::from_fn(|at| arguments[at].clone())
}

/// With lengths added to their starts.
fn spans(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let mut ends = ends(arguments);
    for start in [0, 2] {
        ends[start + 1] = end_of(&arguments[start], &arguments[start + 1], call)?;
    }
    Ok(overlaps(ends))
}

fn end_of(start: &Value, end: &Value, call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Interval(length) = end else {
        return Ok(end.clone());
    };
    Ok(match start {
        Value::Time(us) => Value::Time(plus(*us, length.us)),
        Value::Timestamp(us) => Value::Timestamp(plus_interval(*us, *length)?),
        Value::TimestampTz(us) => Value::TimestampTz(zoned_plus_interval(*us, *length, &call.session.zone())?),
        _ => Value::Null,
    })
}

fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Time(left), Value::Time(right))
        | (Value::Timestamp(left), Value::Timestamp(right))
        | (Value::TimestampTz(left), Value::TimestampTz(right)) => left.cmp(right),
        _ => compare_timetz(left, right),
    }
}

/// A span with its lesser end first; the second may be null. `None` if both are.
fn ordered(start: Value, end: Value) -> Option<(Value, Value)> {
    match (start.is_null(), end.is_null()) {
        (true, true) => None,
        (true, false) => Some((end, Value::Null)),
        (false, false) if compare(&start, &end).is_gt() => Some((end, start)),
        _ => Some((start, end)),
    }
}

fn overlaps([start, end, other_start, other_end]: [Value; 4]) -> Value {
    let (Some(first), Some(second)) = (ordered(start, end), ordered(other_start, other_end)) else {
        return Value::Null;
    };
    let order = compare(&first.0, &second.0);
    let (earlier, later) = if order.is_gt() { (second, first) } else { (first, second) };
    if order.is_eq() {
        let is_unknown = earlier.1.is_null() || later.1.is_null();
        return if is_unknown { Value::Null } else { Value::Bool(true) };
    }
    if earlier.1.is_null() {
        return Value::Null;
    }
    if compare(&later.0, &earlier.1).is_lt() {
        return Value::Bool(true);
    }
    if later.1.is_null() { Value::Null } else { Value::Bool(false) }
}
