//! Texts split into rows.

use super::{Rows, SetImplementations};
use crate::functions::arrays::texts::TextParts;
use crate::functions::strings::regular_expressions::{regexp_matches, regexp_split_to_table};
use crate::{SqlError, SqlState, Value};

/// Rows of texts.
pub const FUNCTIONS: SetImplementations = &[
    ("regexp_matches", |arguments, _| regexp_matches(arguments)),
    ("regexp_matches_no_flags", |arguments, _| regexp_matches(arguments)),
    ("regexp_split_to_table", |arguments, _| regexp_split_to_table(arguments)),
    ("regexp_split_to_table_no_flags", |arguments, _| regexp_split_to_table(arguments)),
    ("text_to_table", |arguments, _| Ok(parts(arguments))),
    ("text_to_table_null", |arguments, _| Ok(parts(arguments))),
    ("pg_options_to_table", |arguments, _| options(arguments)),
];

/// `string_to_table(text, delimiter [, text of nulls])`
fn parts(arguments: &[Value]) -> Rows {
    match TextParts::of(arguments) {
        Some(parts) => Box::new(parts.map(|part| Ok(vec![part]))),
        None => Box::new(std::iter::empty()),
    }
}

/// `name=value`, or a name without a value.
fn options(arguments: &[Value]) -> Result<Rows, SqlError> {
    let array = arguments[0].as_array();
    if array.values.iter().any(Value::is_null) {
        return Err(SqlError::new(SqlState::NullValueNotAllowed, "null array element not allowed in this context"));
    }
    let row = |option: &Value| match option.as_text().split_once('=') {
        Some((name, value)) => vec![Value::text(name), Value::text(value)],
        None => vec![option.clone(), Value::Null],
    };
    let rows: Vec<Vec<Value>> = array.values.iter().map(row).collect();
    Ok(Box::new(rows.into_iter().map(Ok)))
}
