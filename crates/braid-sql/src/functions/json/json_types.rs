//! Input, output and casts of json and jsonb, and what kind of value one is.

use crate::functions::numbers::casts::{numeric_float4, numeric_float8, numeric_int2, numeric_int4, numeric_int8};
use crate::functions::{Call, Implementations};
use crate::input::json::{array_length, check_json, parse_jsonb};
use crate::output::json::{jsonb_text, pretty_jsonb_text};
use crate::values::Numeric;
use crate::values::json::Jsonb;
use crate::{SqlError, SqlState, Value};

/// Input, output, casts, types and lengths.
pub const FUNCTIONS: Implementations = &[
    ("json_in", json_in),
    ("json_out", |args, _| Ok(args[0].clone())),
    ("jsonb_in", |args, _| parse_jsonb(args[0].as_text()).map(Value::jsonb)),
    ("jsonb_out", |args, _| jsonb_text(args[0].as_jsonb()).map(Value::text)),
    ("jsonb_pretty", |args, call| pretty_jsonb_text(args[0].as_jsonb(), &mut call.growing_value()).map(Value::text)),
    ("jsonb_bool", |args, _| match args[0].as_jsonb() {
        Jsonb::Bool(value) => Ok(Value::Bool(*value)),
        other => Err(cannot_cast(other, "boolean")),
    }),
    ("jsonb_numeric", |args, _| Ok(Value::Numeric(number(&args[0], "numeric")?.clone()))),
    ("jsonb_int2", |args, _| numeric_int2(number(&args[0], "smallint")?)),
    ("jsonb_int4", |args, _| numeric_int4(number(&args[0], "integer")?)),
    ("jsonb_int8", |args, _| numeric_int8(number(&args[0], "bigint")?)),
    ("jsonb_float4", |args, _| numeric_float4(number(&args[0], "real")?)),
    ("jsonb_float8", |args, _| numeric_float8(number(&args[0], "double precision")?)),
    ("json_typeof", json_typeof),
    ("jsonb_typeof", |args, _| Ok(Value::text(type_name(args[0].as_jsonb())))),
    ("json_array_length", json_array_length),
    ("jsonb_array_length", jsonb_array_length),
];

fn json_in(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    check_json(args[0].as_text())?;
    Ok(args[0].clone())
}

fn number<'a>(value: &'a Value, target: &str) -> Result<&'a Numeric, SqlError> {
    match value.as_jsonb() {
        Jsonb::Number(number) => Ok(number),
        other => Err(cannot_cast(other, target)),
    }
}

fn cannot_cast(value: &Jsonb, target: &str) -> SqlError {
    let kind = match value {
        Jsonb::Number(_) => "numeric",
        other => type_name(other),
    };
    invalid_parameter(&format!("cannot cast jsonb {kind} to type {target}"))
}

/// What kind of value it is, as `jsonb_typeof` says it.
pub fn type_name(value: &Jsonb) -> &'static str {
    match value {
        Jsonb::Null => "null",
        Jsonb::Bool(_) => "boolean",
        Jsonb::Number(_) => "number",
        Jsonb::String(_) => "string",
        Jsonb::Array(_) => "array",
        Jsonb::Object(_) => "object",
        Jsonb::Datetime(datetime) => datetime.type_name(),
    }
}

/// The first character tells, as the text is known to be JSON.
fn json_typeof(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let text = args[0].as_text().trim_ascii_start();
    Ok(Value::text(match text.bytes().next() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }))
}

fn json_array_length(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    match array_length(args[0].as_text())? {
        Some(length) => Ok(Value::Int4(length as i32)),
        None => Err(invalid_parameter(if args[0].as_text().trim_ascii_start().starts_with('{') {
            "cannot get array length of a non-array"
        } else {
            "cannot get array length of a scalar"
        })),
    }
}

fn jsonb_array_length(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    match args[0].as_jsonb() {
        Jsonb::Array(elements) => Ok(Value::Int4(elements.len() as i32)),
        Jsonb::Object(_) => Err(invalid_parameter("cannot get array length of a non-array")),
        _ => Err(invalid_parameter("cannot get array length of a scalar")),
    }
}

/// An argument that a function cannot work with.
pub(in crate::functions) fn invalid_parameter(message: &str) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}
