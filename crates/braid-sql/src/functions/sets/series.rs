//! `generate_series`: from a first value by steps to a last one, which need not be met.
//!
//! The next value is computed before a value is returned, as PostgreSQL does: where it is out of range, a series of timestamps fails
//! one row earlier than it must. A series of integers ends there.

use std::cmp::Ordering;
use std::iter::successors;

use super::{Rows, SetImplementations};
use crate::functions::datetime::timestamps::{plus_interval, zoned_plus_interval};
use crate::values::{Interval, Numeric};
use crate::{SqlError, SqlState, Value};

/// `generate_series`
pub const FUNCTIONS: SetImplementations = &[
    ("generate_series_int4", |arguments, _| integers(arguments, int4)),
    ("generate_series_step_int4", |arguments, _| integers(arguments, int4)),
    ("generate_series_int8", |arguments, _| integers(arguments, Value::Int8)),
    ("generate_series_step_int8", |arguments, _| integers(arguments, Value::Int8)),
    ("generate_series_numeric", |arguments, _| numerics(arguments)),
    ("generate_series_step_numeric", |arguments, _| numerics(arguments)),
    ("generate_series_timestamp", |arguments, _| {
        let range = (arguments[0].as_timestamp(), arguments[1].as_timestamp());
        timestamps(range, arguments[2].as_interval(), plus_interval, Value::Timestamp)
    }),
    ("generate_series_timestamptz", |arguments, call| {
        let range = (arguments[0].as_timestamptz(), arguments[1].as_timestamptz());
        let zone = call.session.zone();
        let plus = move |us, step| zoned_plus_interval(us, step, &zone);
        timestamps(range, arguments[2].as_interval(), plus, Value::TimestampTz)
    }),
];

fn int4(value: i64) -> Value {
    Value::Int4(i32::try_from(value).expect("it lies between two integers"))
}

fn integers(arguments: &[Value], value: fn(i64) -> Value) -> Result<Rows, SqlError> {
    let number = |at: usize| match &arguments[at] {
        Value::Int4(number) => i64::from(*number),
        number => number.as_int8(),
    };
    let (first, last, step) = (number(0), number(1), if arguments.len() > 2 { number(2) } else { 1 });
    if step == 0 {
        return Err(no_step());
    }
    // Beyond the range of the type there is nothing before the last value.
    let all = successors(Some(first), move |at| at.checked_add(step));
    let within = all.take_while(move |at| if step > 0 { *at <= last } else { *at >= last });
    Ok(Box::new(within.map(move |at| Ok(vec![value(at)]))))
}

fn numerics(arguments: &[Value]) -> Result<Rows, SqlError> {
    for (argument, name) in arguments.iter().zip(["start value", "stop value", "step size"]) {
        let argument = argument.as_numeric();
        if argument.is_nan() {
            return Err(invalid(&format!("{name} cannot be NaN")));
        }
        if argument.is_infinite() {
            return Err(invalid(&format!("{name} cannot be infinity")));
        }
    }
    let last = arguments[1].as_numeric().clone();
    let step = arguments.get(2).map_or(Numeric::ONE, |step| step.as_numeric().clone());
    let beyond = beyond(step.signum())?;
    // Beyond the range of the type there is nothing before the last value.
    let after = move |at: &Numeric| Ok(at.checked_add(&step).ok());
    Ok(steps(arguments[0].as_numeric().clone(), move |at| at.compare(&last) == beyond, after, Value::Numeric))
}

fn timestamps(
    (first, last): (i64, i64),
    step: Interval,
    plus: impl Fn(i64, Interval) -> Result<i64, SqlError> + Send + 'static,
    value: fn(i64) -> Value,
) -> Result<Rows, SqlError> {
    let beyond = beyond(step.comparable_us().signum() as i32)?;
    Ok(steps(first, move |at| at.cmp(&last) == beyond, move |at| plus(*at, step).map(Some), value))
}

/// How values beyond the last one compare with it.
fn beyond(step_signum: i32) -> Result<Ordering, SqlError> {
    match step_signum {
        0 => Err(no_step()),
        1 => Ok(Ordering::Greater),
        _ => Ok(Ordering::Less),
    }
}

/// The values from the first to the last that is not beyond the end.
fn steps<T: Send + 'static>(
    first: T,
    is_beyond: impl Fn(&T) -> bool + Send + 'static,
    after: impl Fn(&T) -> Result<Option<T>, SqlError> + Send + 'static,
    value: fn(T) -> Value,
) -> Rows {
    let mut next = Some(first);
    Box::new(std::iter::from_fn(move || {
        let at = next.take().filter(|at| !is_beyond(at))?;
        Some(after(&at).map(|later| {
            next = later;
            vec![value(at)]
        }))
    }))
}

fn no_step() -> SqlError {
    invalid("step size cannot equal zero")
}

fn invalid(message: &str) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}
