//! Window functions that give a value of another row: `lag` and `lead` in the partition, `first_value`, `last_value` and `nth_value` in
//! the frame.

use super::{Frame, Partition, WindowFunction};
use crate::{SqlError, SqlState, Value};

/// The functions.
pub(super) const FUNCTIONS: &[WindowFunction] = &[
    WindowFunction::of_partition("window_lag", lag),
    WindowFunction::of_partition("window_lag_with_offset", lag),
    WindowFunction::of_partition("window_lag_with_offset_and_default", lag),
    WindowFunction::of_partition("window_lead", lead),
    WindowFunction::of_partition("window_lead_with_offset", lead),
    WindowFunction::of_partition("window_lead_with_offset_and_default", lead),
    WindowFunction::of_frame("window_first_value", |partition| in_frame(partition, Frame::first)),
    WindowFunction::of_frame("window_last_value", |partition| in_frame(partition, Frame::last)),
    WindowFunction::of_frame("window_nth_value", nth_value),
];

fn lag(partition: &Partition<'_>) -> Result<Vec<Value>, SqlError> {
    partition.each(|row| Ok(at_distance(partition, row, |offset| -offset)))
}

fn lead(partition: &Partition<'_>) -> Result<Vec<Value>, SqlError> {
    partition.each(|row| Ok(at_distance(partition, row, |offset| offset)))
}

/// The value that is so many rows away; null for a null distance, the default beyond the partition.
fn at_distance(partition: &Partition<'_>, row: usize, distance: fn(i64) -> i64) -> Value {
    let arguments = &partition.arguments[row];
    let offset = match arguments.get(1) {
        Some(Value::Null) => return Value::Null,
        Some(offset) => offset.as_int4().into(),
        None => 1,
    };
    let place = usize::try_from(row as i64 + distance(offset)).ok();
    match place.and_then(|place| partition.arguments.get(place)) {
        Some(there) => there[0].clone(),
        None => arguments.get(2).cloned().unwrap_or(Value::Null),
    }
}

/// The value of a row in the frame; null if the frame has no such row.
fn in_frame(partition: &Partition<'_>, place_in: fn(&Frame) -> Option<usize>) -> Result<Vec<Value>, SqlError> {
    partition.each(|row| Ok(value_at(partition, place_in(&partition.frames[row]))))
}

fn value_at(partition: &Partition<'_>, place: Option<usize>) -> Value {
    place.map_or(Value::Null, |place| partition.arguments[place][0].clone())
}

fn nth_value(partition: &Partition<'_>) -> Result<Vec<Value>, SqlError> {
    partition.each(|row| {
        let Value::Int4(number) = partition.arguments[row][1] else { return Ok(Value::Null) };
        let Some(index) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)) else {
            let message = "argument of nth_value must be greater than zero";
            return Err(SqlError::new(SqlState::InvalidNthValueArgument, message));
        };
        Ok(value_at(partition, partition.frames[row].nth(index)))
    })
}
