//! What values of SQL's types are in JSON: numbers, booleans, strings; dates and times in ISO 8601.

use std::borrow::Cow;

use crate::functions::Call;
use crate::functions::strings::results::output;
use crate::input::json_tokens::number_bytes;
use crate::input::time_zones::zone_offset_s;
use crate::output::datetime_text::{date_text, iso_timestamp_text, iso_timestamptz_text};
use crate::pg_catalog::{TypeId, TypeKind, pg_catalog};
use crate::values::json::Jsonb;
use crate::values::{ArrayValue, RecordValue};
use crate::{SqlError, SqlType, Value};

/// A value as JSON has it.
pub(super) enum Encoded<'a> {
    Null,
    Bool(bool),
    /// The text of a number that is one in JSON.
    Number(String),
    /// A text.
    String(Cow<'a, str>),
    /// A value of type `json`.
    Json(&'a str),
    Jsonb(&'a Jsonb),
    Array(&'a ArrayValue),
    Record(&'a RecordValue),
}

/// A value of a type.
pub(super) fn encoded<'a>(value: &'a Value, sql_type: SqlType, call: &Call<'_>) -> Result<Encoded<'a>, SqlError> {
    Ok(match value {
        Value::Null => Encoded::Null,
        Value::Bool(value) => Encoded::Bool(*value),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = output(value, sql_type, call)?;
            let is_number = number_bytes(text.as_bytes()) == (text.len(), true);
            if is_number { Encoded::Number(text) } else { Encoded::String(text.into()) }
        }
        Value::Date(days) => Encoded::String(date_text(*days).into()),
        Value::Timestamp(us) => Encoded::String(iso_timestamp_text(*us).into()),
        Value::TimestampTz(us) => {
            let offset_s = zone_offset_s(*us, &call.session.zone());
            Encoded::String(iso_timestamptz_text(*us, offset_s).into())
        }
        Value::Text(text) if sql_type.id == TypeId::JSON => Encoded::Json(text),
        Value::Text(text) => Encoded::String(Cow::Borrowed(&**text)),
        Value::Jsonb(value) => Encoded::Jsonb(value),
        Value::Array(array) => Encoded::Array(array),
        Value::Record(record) => Encoded::Record(record),
        other if pg_catalog().type_entry(sql_type.id).kind == TypeKind::Pseudo => {
            return Err(SqlError::unsupported(format!("a value like {other:?} as JSON is not supported")));
        }
        other => Encoded::String(output(other, sql_type, call)?.into()),
    })
}

/// The elements of an array that form its outermost dimension, each with the dimensions that are left.
pub(super) fn rows(array: &ArrayValue) -> impl Iterator<Item = ArrayValue> {
    let inner = array.dimensions.get(1..).unwrap_or_default().to_vec();
    let length: usize = inner.iter().map(|(length, _)| *length).product();
    let element = array.element;
    let row = move |values: &[Value]| ArrayValue { element, dimensions: inner.clone(), values: values.to_vec() };
    array.values.chunks(length.max(1)).map(row)
}
