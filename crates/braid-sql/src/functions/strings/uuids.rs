//! `uuid`: input, output, comparisons, and random ones.

use std::cmp::Ordering;
use std::fmt::Write;

use super::order::bytes_difference;
use crate::functions::Call;
use crate::functions::Implementations;
use crate::input::bytes::parse_uuid;
use crate::{SqlError, Value};

/// Functions of uuids. `gen_random_uuid` needs randomness, which the engine has.
pub const FUNCTIONS: Implementations = &[
    ("uuid_in", |args, _| Ok(Value::Uuid(parse_uuid(args[0].as_text())?))),
    ("uuid_out", uuid_out),
    ("uuid_eq", |args, _| compare(args, Ordering::is_eq)),
    ("uuid_ne", |args, _| compare(args, Ordering::is_ne)),
    ("uuid_lt", |args, _| compare(args, Ordering::is_lt)),
    ("uuid_le", |args, _| compare(args, Ordering::is_le)),
    ("uuid_gt", |args, _| compare(args, Ordering::is_gt)),
    ("uuid_ge", |args, _| compare(args, Ordering::is_ge)),
    ("uuid_cmp", |args, _| Ok(Value::Int4(bytes_difference(args[0].as_uuid(), args[1].as_uuid())))),
];

/// Groups of 8, 4, 4, 4 and 12 digits.
fn uuid_out(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let mut out = String::with_capacity(36);
    for (at, byte) in args[0].as_uuid().iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            out.push('-');
        }
        write!(out, "{byte:02x}").expect("a String takes everything");
    }
    Ok(Value::text(out))
}

fn compare(args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, SqlError> {
    Ok(Value::Bool(holds(args[0].as_uuid().cmp(args[1].as_uuid()))))
}
