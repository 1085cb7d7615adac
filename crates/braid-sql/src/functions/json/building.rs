//! Values of any types as json: `to_json`, `array_to_json`, `json_build_array`, `json_build_object`, and `json_strip_nulls`.

use super::encoding::{Encoded, encoded, rows};
use super::json_types::invalid_parameter;
use crate::functions::strings::results::append;
use crate::functions::{Call, Implementations};
use crate::input::json::{Part, PartKind, parse_document};
use crate::output::json::{jsonb_text, write_json_string};
use crate::values::{ArrayValue, RecordValue};
use crate::{SqlError, SqlType, Value};

/// Values as json.
pub const FUNCTIONS: Implementations = &[
    ("to_json", |args, call| {
        let mut out = String::new();
        write_value(&args[0], call.argument_types[0], call, &mut out)?;
        Ok(Value::text(out))
    }),
    ("array_to_json", |args, call| array_to_json(&args[0], ",", call)),
    ("array_to_json_pretty", |args, call| array_to_json(&args[0], if args[1].as_bool() { ",\n " } else { "," }, call)),
    ("json_build_array", json_build_array),
    ("json_build_array_noargs", |_, _| Ok(Value::text("[]"))),
    ("json_build_object", json_build_object),
    ("json_build_object_noargs", |_, _| Ok(Value::text("{}"))),
    ("json_strip_nulls", json_strip_nulls),
];

/// Writes a value as json.
pub(crate) fn write_value(value: &Value, sql_type: SqlType, call: &Call<'_>, out: &mut String) -> Result<(), SqlError> {
    match encoded(value, sql_type, call)? {
        Encoded::Null => append(out, "null"),
        Encoded::Bool(value) => append(out, if value { "true" } else { "false" }),
        Encoded::Number(text) => append(out, &text),
        Encoded::String(text) => write_json_string(&text, out),
        Encoded::Json(text) => append(out, text),
        Encoded::Jsonb(value) => append(out, &jsonb_text(value)?),
        Encoded::Array(array) => write_array(array, ",", call, out),
        Encoded::Record(record) => write_record(record, ",", call, out),
    }
}

/// An array with a separator between the elements of the outermost dimension.
fn write_array(array: &ArrayValue, separator: &str, call: &Call<'_>, out: &mut String) -> Result<(), SqlError> {
    out.push('[');
    if array.dimensions.len() > 1 {
        for (at, row) in rows(array).enumerate() {
            append(out, if at > 0 { separator } else { "" })?;
            write_array(&row, ",", call, out)?;
        }
    } else {
        for (at, value) in array.values.iter().enumerate() {
            append(out, if at > 0 { separator } else { "" })?;
            write_value(value, SqlType::of(array.element), call, out)?;
        }
    }
    append(out, "]")
}

/// An object of the fields, with a separator between them.
fn write_record(record: &RecordValue, separator: &str, call: &Call<'_>, out: &mut String) -> Result<(), SqlError> {
    append(out, "{")?;
    for (at, (field, value)) in record.record_type.fields.iter().zip(&record.values).enumerate() {
        append(out, if at > 0 { separator } else { "" })?;
        write_json_string(&field.name, out)?;
        append(out, ":")?;
        write_value(value, field.sql_type, call, out)?;
    }
    append(out, "}")
}

/// A record as json.
pub(in crate::functions) fn record_as_json(
    record: &RecordValue,
    separator: &str,
    call: &Call<'_>,
) -> Result<Value, SqlError> {
    let mut out = String::new();
    write_record(record, separator, call, &mut out)?;
    Ok(Value::text(out))
}

fn array_to_json(array: &Value, separator: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    let mut out = String::new();
    write_array(array.as_array(), separator, call, &mut out)?;
    Ok(Value::text(out))
}

fn json_build_array(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let mut out = "[".to_owned();
    for (at, value) in args.iter().enumerate() {
        append(&mut out, if at > 0 { ", " } else { "" })?;
        write_value(value, call.argument_types[at], call, &mut out)?;
    }
    append(&mut out, "]")?;
    Ok(Value::text(out))
}

fn json_build_object(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    check_pairs(args, "json_build_object")?;
    let mut out = "{".to_owned();
    for (at, pair) in args.chunks_exact(2).enumerate() {
        append(&mut out, if at > 0 { ", " } else { "" })?;
        if pair[0].is_null() {
            let message = format!("argument {} cannot be null", 2 * at + 1);
            return Err(invalid_parameter(&message).with_hint("Object keys should be text."));
        }
        write_json_string(&key_text(&pair[0], call.argument_types[2 * at], call)?, &mut out)?;
        append(&mut out, " : ")?;
        write_value(&pair[1], call.argument_types[2 * at + 1], call, &mut out)?;
    }
    append(&mut out, "}")?;
    Ok(Value::text(out))
}

/// Refuses keys without a value.
pub(super) fn check_pairs(args: &[Value], function: &str) -> Result<(), SqlError> {
    if args.len().is_multiple_of(2) {
        return Ok(());
    }
    let hint = format!("The arguments of {function}() must consist of alternating keys and values.");
    Err(invalid_parameter("argument list must have even number of elements").with_hint(hint))
}

/// A value as a key.
pub(crate) fn key_text(value: &Value, sql_type: SqlType, call: &Call<'_>) -> Result<String, SqlError> {
    let no_key = || invalid_parameter("key value must be scalar, not array, composite, or json");
    match encoded(value, sql_type, call)? {
        Encoded::Null => Ok("null".to_owned()),
        Encoded::Bool(value) => Ok(if value { "true" } else { "false" }.to_owned()),
        Encoded::Number(text) => Ok(text),
        Encoded::String(text) => Ok(text.into_owned()),
        Encoded::Json(_) | Encoded::Jsonb(_) | Encoded::Array(_) | Encoded::Record(_) => Err(no_key()),
    }
}

fn json_strip_nulls(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let mut out = String::new();
    write_part(&parse_document(args[0].as_text())?, &mut out)?;
    Ok(Value::text(out))
}

/// A part of a text without blanks, and without the fields that are null.
fn write_part(part: &Part<'_>, out: &mut String) -> Result<(), SqlError> {
    match &part.kind {
        PartKind::Null | PartKind::Bool | PartKind::Number => append(out, part.text),
        PartKind::String(string) => write_json_string(string, out),
        PartKind::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                append(out, if at > 0 { "," } else { "" })?;
                write_part(element, out)?;
            }
            append(out, "]")
        }
        PartKind::Object(fields) => {
            out.push('{');
            let kept = fields.iter().filter(|(_, value)| !matches!(value.kind, PartKind::Null));
            for (at, (key, value)) in kept.enumerate() {
                append(out, if at > 0 { "," } else { "" })?;
                write_json_string(key, out)?;
                append(out, ":")?;
                write_part(value, out)?;
            }
            append(out, "}")
        }
    }
}
