//! `json_object` and `jsonb_object`: objects of keys and values in arrays of texts.

use std::sync::Arc;

use crate::functions::strings::results::append;
use crate::functions::{Call, Implementations};
use crate::input::json::check_string;
use crate::output::json::write_json_string;
use crate::values::json::Jsonb;
use crate::{SqlError, SqlState, Value};

/// Objects of texts.
pub const FUNCTIONS: Implementations = &[
    ("json_object", |args, _| json_text(&alternating(args)?)),
    ("json_object_two_arg", |args, _| json_text(&beside(args)?)),
    ("jsonb_object", |args, call| tree(&alternating(args)?, call)),
    ("jsonb_object_two_arg", |args, call| tree(&beside(args)?, call)),
];

/// Keys with values, which may be null.
type Pairs<'a> = Vec<(&'a str, &'a Value)>;

fn subscript_error(message: &str) -> SqlError {
    SqlError::new(SqlState::ArraySubscriptError, message)
}

/// Of one array: keys and values by turns, or in two columns.
fn alternating(args: &[Value]) -> Result<Pairs<'_>, SqlError> {
    let array = args[0].as_array();
    match array.dimensions[..] {
        [] => {}
        [(length, _)] if length % 2 == 1 => return Err(subscript_error("array must have even number of elements")),
        [_] | [_, (2, _)] => {}
        [_, _] => return Err(subscript_error("array must have two columns")),
        _ => return Err(subscript_error("wrong number of array subscripts")),
    }
    array.values.chunks_exact(2).map(|pair| Ok((key(&pair[0])?, &pair[1]))).collect()
}

/// Of an array of keys, and one of values.
fn beside(args: &[Value]) -> Result<Pairs<'_>, SqlError> {
    let (keys, values) = (args[0].as_array(), args[1].as_array());
    if keys.dimensions.len() > 1 || keys.dimensions.len() != values.dimensions.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if keys.values.len() != values.values.len() {
        return Err(subscript_error("mismatched array dimensions"));
    }
    keys.values.iter().zip(&values.values).map(|(own, value)| Ok((key(own)?, value))).collect()
}

fn key(value: &Value) -> Result<&str, SqlError> {
    match value {
        Value::Null => Err(SqlError::new(SqlState::NullValueNotAllowed, "null value not allowed for object key")),
        text => Ok(text.as_text()),
    }
}

fn json_text(pairs: &Pairs<'_>) -> Result<Value, SqlError> {
    let mut out = "{".to_owned();
    for (at, (key, value)) in pairs.iter().enumerate() {
        append(&mut out, if at > 0 { ", " } else { "" })?;
        write_json_string(key, &mut out)?;
        append(&mut out, " : ")?;
        match value {
            Value::Null => append(&mut out, "null")?,
            text => write_json_string(text.as_text(), &mut out)?,
        }
    }
    append(&mut out, "}")?;
    Ok(Value::text(out))
}

fn tree(pairs: &Pairs<'_>, _: &Call<'_>) -> Result<Value, SqlError> {
    let field = |(key, value): &(&str, &Value)| {
        check_string(key)?;
        let value = match value {
            Value::Text(text) => {
                check_string(text)?;
                Jsonb::String(Arc::clone(text))
            }
            _ => Jsonb::Null,
        };
        Ok((Arc::from(*key), value))
    };
    let fields = pairs.iter().map(field).collect::<Result<Vec<_>, SqlError>>()?;
    Ok(Value::jsonb(Jsonb::object(fields)))
}
