//! The send functions of types: values in binary format, as byte strings.

use super::strings::results::check_allocation;
use super::{Call, Implementations};
use crate::output::binary::send;
use crate::{SqlError, Value};

/// Send functions.
pub const FUNCTIONS: Implementations = &[
    ("array_send", sent),
    ("bit_send", sent),
    ("boolsend", sent),
    ("bpcharsend", sent),
    ("byteasend", sent),
    ("charsend", sent),
    ("date_send", sent),
    ("enum_send", sent),
    ("float4send", sent),
    ("float8send", sent),
    ("int2send", sent),
    ("int4send", sent),
    ("int8send", sent),
    ("interval_send", sent),
    ("json_send", sent),
    ("jsonb_send", sent),
    ("namesend", sent),
    ("numeric_send", sent),
    ("oidsend", sent),
    ("record_send", sent),
    ("textsend", sent),
    ("time_send", sent),
    ("timestamp_send", sent),
    ("timestamptz_send", sent),
    ("timetz_send", sent),
    ("uuid_send", sent),
    ("varbit_send", sent),
    ("varcharsend", sent),
];

fn sent(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let mut bytes = Vec::new();
    send(&args[0], call.argument_types[0].id, &mut bytes)?;
    check_allocation(bytes.len())?;
    call.reserve(bytes.len())?;
    Ok(Value::Bytea(bytes.into()))
}
