//! Booleans, save their comparisons.

use crate::Value;
use crate::functions::Implementations;
use crate::input::bytes::parse_boolean;

/// From and to text and integers, and the steps of `bool_and` and `bool_or`.
pub const FUNCTIONS: Implementations = &[
    ("boolin", |a, _| parse_boolean(a[0].as_text()).map(Value::Bool)),
    ("boolout", |a, _| Ok(Value::text(if a[0].as_bool() { "t" } else { "f" }))),
    ("booltext", |a, _| Ok(Value::text(if a[0].as_bool() { "true" } else { "false" }))),
    ("bool_int4", |a, _| Ok(Value::Int4(a[0].as_bool().into()))),
    ("int4_bool", |a, _| Ok(Value::Bool(a[0].as_int4() != 0))),
    ("booland_statefunc", |a, _| Ok(Value::Bool(a[0].as_bool() && a[1].as_bool()))),
    ("boolor_statefunc", |a, _| Ok(Value::Bool(a[0].as_bool() || a[1].as_bool()))),
];
