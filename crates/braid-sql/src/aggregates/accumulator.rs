//! What takes the rows of a group in and gives the result.

use std::any::Any;
use std::fmt;

use crate::functions::Call;
use crate::{SqlError, Value};

/// The state of an aggregate. It knows nothing of ORDER BY, DISTINCT and FILTER.
pub trait Accumulator: Any + fmt::Debug + Send {
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

    /// The result for the rows so far, with the values of the direct arguments.
    fn finish(&self, direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError>;

    /// Bytes of memory that it holds, about.
    fn bytes(&self) -> usize;
}

/// The accumulator that another of the same aggregate is. Panics for another aggregate's.
pub(super) fn same<A: Accumulator>(other: Box<dyn Accumulator>) -> A {
    let other: Box<dyn Any> = other;
    *other.downcast().unwrap_or_else(|_| panic!("an accumulator of another aggregate"))
}
