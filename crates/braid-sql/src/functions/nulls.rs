//! How many arguments are null.

use super::Implementations;
use crate::Value;

/// Counts of nulls.
pub const FUNCTIONS: Implementations = &[
    ("pg_num_nulls", |args, _| Ok(count(args, Value::is_null))),
    ("pg_num_nonnulls", |args, _| Ok(count(args, |value| !value.is_null()))),
];

fn count(args: &[Value], is_counted: fn(&Value) -> bool) -> Value {
    Value::Int4(args.iter().filter(|value| is_counted(value)).count() as i32)
}
