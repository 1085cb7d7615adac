//! Parts of a jsonb: `->`, `->>`, `#>`, `#>>`.

use std::sync::Arc;

use crate::functions::{Call, Implementations};
use crate::output::json::jsonb_text;
use crate::values::json::Jsonb;
use crate::{SqlError, Value};

/// Parts of a jsonb, as jsonb and as text.
pub const FUNCTIONS: Implementations = &[
    ("jsonb_object_field", |args, _| Ok(as_jsonb(args[0].as_jsonb().field(args[1].as_text())))),
    ("jsonb_object_field_text", |args, _| as_text(args[0].as_jsonb().field(args[1].as_text()))),
    ("jsonb_array_element", |args, _| Ok(as_jsonb(element(args[0].as_jsonb(), args[1].as_int4())))),
    ("jsonb_array_element_text", |args, _| as_text(element(args[0].as_jsonb(), args[1].as_int4()))),
    ("jsonb_extract_path", extract_path),
    ("jsonb_extract_path_text", |args, _| as_text(at_path(args[0].as_jsonb(), &args[1]))),
];

fn as_jsonb(found: Option<&Jsonb>) -> Value {
    found.map_or(Value::Null, |value| Value::jsonb(value.clone()))
}

/// A value as text: a string without quotes, and SQL's null for null.
pub fn as_text(found: Option<&Jsonb>) -> Result<Value, SqlError> {
    match found {
        None | Some(Jsonb::Null) => Ok(Value::Null),
        Some(Jsonb::String(string)) => Ok(Value::Text(Arc::clone(string))),
        Some(other) => jsonb_text(other).map(Value::text),
    }
}

/// The element of an array, counted from its end for negative numbers. A scalar is an array of itself.
fn element(value: &Jsonb, at: i32) -> Option<&Jsonb> {
    let elements = value.elements()?;
    elements.get(index(at, elements.len())?)
}

/// The index that a number of an element means; `None` if it is before the first.
pub(super) fn index(at: i32, length: usize) -> Option<usize> {
    let from_end = |back: u32| length.checked_sub(back as usize);
    if at < 0 { from_end(at.unsigned_abs()) } else { Some(at as usize) }
}

fn extract_path(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(as_jsonb(at_path(args[0].as_jsonb(), &args[1])))
}

fn at_path<'a>(value: &'a Jsonb, path: &Value) -> Option<&'a Jsonb> {
    path.as_array().values.iter().try_fold(value, |value, step| {
        let Value::Text(step) = step else { return None };
        match value {
            Jsonb::Object(_) => value.field(step),
            Jsonb::Array(elements) => elements.get(index(path_number(step)?, elements.len())?),
            _ => None,
        }
    })
}

/// An element of a path as a number, as C's `strtol` reads it, which skips blanks before it.
pub(super) fn path_number(step: &str) -> Option<i32> {
    let number = step.trim_start_matches(crate::value_text::is_space);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { number.parse().ok() } else { None }
}
