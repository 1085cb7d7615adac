//! Values of any types as jsonb: `to_jsonb`, `jsonb_build_array`, `jsonb_build_object`.

use std::sync::Arc;

use super::building::{check_pairs, key_text};
use super::encoding::{Encoded, encoded, rows};
use super::json_types::invalid_parameter;
use crate::functions::{Call, Implementations};
use crate::input::json::{check_string, parse_jsonb};
use crate::values::json::Jsonb;
use crate::values::{ArrayValue, Numeric};
use crate::{SqlError, SqlType, Value};

/// Values as jsonb.
pub const FUNCTIONS: Implementations = &[
    ("to_jsonb", |args, call| tree(&args[0], call.argument_types[0], call)?.checked().map(Value::jsonb)),
    ("jsonb_build_array", jsonb_build_array),
    ("jsonb_build_array_noargs", |_, _| Ok(Value::jsonb(Jsonb::array([])))),
    ("jsonb_build_object", jsonb_build_object),
    ("jsonb_build_object_noargs", |_, _| Ok(Value::jsonb(Jsonb::object(Vec::new())))),
];

/// A value as jsonb. Its depth is not checked.
pub(crate) fn tree(value: &Value, sql_type: SqlType, call: &Call<'_>) -> Result<Jsonb, SqlError> {
    Ok(match encoded(value, sql_type, call)? {
        Encoded::Null => Jsonb::Null,
        Encoded::Bool(value) => Jsonb::Bool(value),
        Encoded::Number(text) => Jsonb::Number(Numeric::parse(&text)?),
        Encoded::String(text) => {
            check_string(&text)?;
            Jsonb::string(text)
        }
        Encoded::Json(text) => parse_jsonb(text)?,
        Encoded::Jsonb(value) => value.clone(),
        Encoded::Array(array) => array_tree(array, call)?,
        Encoded::Record(record) => {
            let fields = record.record_type.fields.iter().zip(&record.values);
            let members = fields.map(|(field, value)| {
                check_string(&field.name)?;
                Ok((field.name.clone(), tree(value, field.sql_type, call)?))
            });
            Jsonb::object(members.collect::<Result<Vec<_>, SqlError>>()?)
        }
    })
}

fn array_tree(array: &ArrayValue, call: &Call<'_>) -> Result<Jsonb, SqlError> {
    let elements: Result<Vec<Jsonb>, SqlError> = if array.dimensions.len() > 1 {
        rows(array).map(|row| array_tree(&row, call)).collect()
    } else {
        array.values.iter().map(|value| tree(value, SqlType::of(array.element), call)).collect()
    };
    elements.map(Jsonb::array)
}

fn jsonb_build_array(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let elements = args.iter().zip(call.argument_types).map(|(value, sql_type)| tree(value, *sql_type, call));
    let elements = elements.collect::<Result<Vec<_>, _>>()?;
    Jsonb::array(elements).checked().map(Value::jsonb)
}

fn jsonb_build_object(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    check_pairs(args, "jsonb_build_object")?;
    let mut fields = Vec::with_capacity(args.len() / 2);
    for (at, pair) in args.chunks_exact(2).enumerate() {
        if pair[0].is_null() {
            return Err(invalid_parameter(&format!("argument {}: key must not be null", 2 * at + 1)));
        }
        let key = key_text(&pair[0], call.argument_types[2 * at], call)?;
        check_string(&key)?;
        fields.push((Arc::from(key), tree(&pair[1], call.argument_types[2 * at + 1], call)?));
    }
    Jsonb::object(fields).checked().map(Value::jsonb)
}
