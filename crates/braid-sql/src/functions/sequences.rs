//! `nextval` and its like: the numbers of sequences.

use std::sync::Arc;

use super::{Call, Implementations, Sequences};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("nextval_oid", |arguments, call| sequences(call)?.next_value(arguments[0].as_oid()).map(Value::Int8)),
    ("currval_oid", |arguments, call| sequences(call)?.current_value(arguments[0].as_oid()).map(Value::Int8)),
    ("lastval", |_, call| sequences(call)?.last_value().map(Value::Int8)),
    ("setval_oid", |arguments, call| set(arguments, true, call)),
    ("setval3_oid", |arguments, call| set(arguments, arguments[2].as_bool(), call)),
    ("pg_sequence_last_value", |arguments, call| {
        let last = sequences(call)?.last_value_of(arguments[0].as_oid())?;
        Ok(last.map_or(Value::Null, Value::Int8))
    }),
];

/// `setval(sequence, value, is_called)`, which returns the value.
fn set(arguments: &[Value], is_called: bool, call: &Call<'_>) -> Result<Value, SqlError> {
    let value = arguments[1].as_int8();
    sequences(call)?.set_value(arguments[0].as_oid(), value, is_called)?;
    Ok(Value::Int8(value))
}

/// What gives out the numbers of sequences.
pub(super) fn sequences(call: &Call<'_>) -> Result<Arc<dyn Sequences>, SqlError> {
    call.session.sequences().ok_or_else(|| SqlError::unsupported("sequences outside of a session are not supported"))
}
