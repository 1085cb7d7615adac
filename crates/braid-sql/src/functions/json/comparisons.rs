//! Values of jsonb compared with each other, and looked for in each other.

use std::cmp::Ordering;

use crate::functions::Implementations;
use crate::functions::strings::order::string_difference;
use crate::values::json::Jsonb;
use crate::{SqlError, Value};

/// Comparisons and containment.
pub const FUNCTIONS: Implementations = &[
    ("jsonb_eq", |args, _| compare(args, Ordering::is_eq)),
    ("jsonb_ne", |args, _| compare(args, Ordering::is_ne)),
    ("jsonb_lt", |args, _| compare(args, Ordering::is_lt)),
    ("jsonb_le", |args, _| compare(args, Ordering::is_le)),
    ("jsonb_gt", |args, _| compare(args, Ordering::is_gt)),
    ("jsonb_ge", |args, _| compare(args, Ordering::is_ge)),
    ("jsonb_cmp", |args, _| Ok(Value::Int4(args[0].as_jsonb().difference(args[1].as_jsonb(), text_difference)))),
    ("jsonb_contains", |args, _| Ok(Value::Bool(contains(args[0].as_jsonb(), args[1].as_jsonb())))),
    ("jsonb_contained", |args, _| Ok(Value::Bool(contains(args[1].as_jsonb(), args[0].as_jsonb())))),
    ("jsonb_exists", |args, _| Ok(Value::Bool(exists(args[0].as_jsonb(), args[1].as_text())))),
    ("jsonb_exists_any", |args, _| Ok(Value::Bool(keys(args).any(|key| exists(args[0].as_jsonb(), key))))),
    ("jsonb_exists_all", |args, _| Ok(Value::Bool(keys(args).all(|key| exists(args[0].as_jsonb(), key))))),
];

fn compare(args: &[Value], is_so: fn(Ordering) -> bool) -> Result<Value, SqlError> {
    Ok(Value::Bool(is_so(args[0].as_jsonb().compare(args[1].as_jsonb()))))
}

fn text_difference(one: &str, other: &str) -> i32 {
    string_difference(one.as_bytes(), other.as_bytes())
}

/// Whether a part is in a whole (manual, "jsonb Containment and Existence"). An array may contain a scalar.
pub fn contains(whole: &Jsonb, part: &Jsonb) -> bool {
    match (whole, part) {
        (Jsonb::Array(elements), scalar) if scalar.is_scalar() => holds(elements, scalar),
        _ => contains_within(whole, part),
    }
}

fn contains_within(whole: &Jsonb, part: &Jsonb) -> bool {
    match (whole, part) {
        (Jsonb::Object(fields), Jsonb::Object(wanted)) => {
            wanted.len() <= fields.len()
                && wanted
                    .iter()
                    .all(|(key, wanted)| whole.field(key).is_some_and(|value| contains_within(value, wanted)))
        }
        (Jsonb::Array(elements), Jsonb::Array(wanted)) => wanted.iter().all(|wanted| holds(elements, wanted)),
        _ => whole.is_scalar() && whole.compare(part).is_eq(),
    }
}

fn holds(elements: &[Jsonb], wanted: &Jsonb) -> bool {
    elements.iter().any(|element| contains_within(element, wanted))
}

/// Whether a text is a key of an object, or a string in an array, or the string itself.
fn exists(value: &Jsonb, wanted: &str) -> bool {
    match value {
        Jsonb::Object(_) => value.field(wanted).is_some(),
        other => other.elements().unwrap_or_default().iter().any(|element| is_string(element, wanted)),
    }
}

/// Whether a value is this string.
pub(super) fn is_string(value: &Jsonb, wanted: &str) -> bool {
    matches!(value, Jsonb::String(string) if **string == *wanted)
}

/// The texts of an array that are not null.
fn keys(args: &[Value]) -> impl Iterator<Item = &str> {
    args[1].as_array().values.iter().filter(|key| !key.is_null()).map(Value::as_text)
}
