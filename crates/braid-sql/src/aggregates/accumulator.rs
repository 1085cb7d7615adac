//! What takes the rows of a group in and gives the result.

use std::any::Any;
use std::fmt;

use crate::functions::Call;
use crate::{SqlError, SqlState, Value};

/// The state of an aggregate. It knows nothing of ORDER BY, DISTINCT and FILTER.
pub trait Accumulator: Any + fmt::Debug + Send + Sync {
    /// Takes a row in: its arguments without the direct ones. None is null if the transition function is strict.
    fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError>;

    /// Takes a row out that was taken in. `false` says that it cannot, and that nothing has changed: the caller begins anew.
    fn remove(&mut self, _arguments: &[Value], _call: &Call<'_>) -> Result<bool, SqlError> {
        Ok(false)
    }

    /// Takes the rows of another accumulator of the aggregate in. Only those have it whose catalog entry has a combine function.
    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        panic!("the order of rows matters: {other:?} is not merged");
    }

    /// What it knows of its rows, in few values; `None` if that is as long as the rows are.
    fn parts(&self) -> Option<Vec<Value>> {
        None
    }

    /// Takes the rows of another accumulator of the aggregate in, of which these are the [parts](Self::parts). Only those have it that have
    /// parts.
    fn merge_parts(&mut self, parts: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        panic!("an accumulator without parts does not take {} in", parts.len());
    }

    /// The result for the rows so far, with the values of the direct arguments.
    fn finish(&self, direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError>;

    /// Bytes of memory that it holds, about.
    fn bytes(&self) -> usize;
}

/// The parts of an accumulator that has as many; an error for others.
pub(super) fn as_many<const N: usize>(parts: &[Value]) -> Result<&[Value; N], SqlError> {
    parts.try_into().map_err(|_| no_parts())
}

/// The error of values that are no parts.
pub(super) fn no_parts() -> SqlError {
    SqlError::new(SqlState::InternalError, "the parts of an aggregate's state are broken")
}

/// A count among parts.
pub(super) fn count_of(part: &Value) -> Result<i64, SqlError> {
    match part {
        Value::Int8(count) => Ok(*count),
        _ => Err(no_parts()),
    }
}

/// A float among parts.
pub(super) fn float_of(part: &Value) -> Result<f64, SqlError> {
    match part {
        Value::Float8(float) => Ok(*float),
        _ => Err(no_parts()),
    }
}

/// The accumulator that another of the same aggregate is. Panics for another aggregate's.
pub(super) fn same<A: Accumulator>(other: Box<dyn Accumulator>) -> A {
    let other: Box<dyn Any> = other;
    *other.downcast().unwrap_or_else(|_| panic!("an accumulator of another aggregate"))
}
