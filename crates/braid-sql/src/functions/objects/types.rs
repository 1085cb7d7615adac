//! `regtype`: numbers of types, which are shown by name.

use super::names::number_of_text;
use super::{is_visible, unknown_number};
use crate::functions::Implementations;
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::types::type_names::{format_type, interval_words, type_name};
use crate::types::type_text::type_of_text;
use crate::{SqlError, SqlState, SqlType, Value};

/// Functions of types.
pub const FUNCTIONS: Implementations = &[
    ("regtypein", |arguments, _| regtype(arguments[0].as_text())),
    ("regtypeout", |arguments, _| named(arguments[0].as_oid())),
    ("to_regtype", |arguments, _| {
        Ok(type_of_text(arguments[0].as_text())?.id.map_or(Value::Null, |id| Value::Oid(id.0)))
    }),
    ("pg_typeof", |_, call| Ok(Value::Oid(call.argument_types[0].id.0))),
    ("format_type", |arguments, _| formatted(arguments)),
    ("pg_type_is_visible", |arguments, _| {
        let number = arguments[0].as_oid();
        is_visible(number, pg_catalog().find_type(TypeId(number)).is_some())
    }),
];

fn regtype(text: &str) -> Result<Value, SqlError> {
    if let Some(number) = number_of_text(text, "-") {
        return number;
    }
    let named = type_of_text(text)?;
    let id = named
        .id
        .ok_or_else(|| SqlError::new(SqlState::UndefinedObject, format!("type \"{}\" does not exist", named.name)))?;
    Ok(Value::Oid(id.0))
}

fn named(number: u32) -> Result<Value, SqlError> {
    match pg_catalog().find_type(TypeId(number)) {
        _ if number == 0 => Ok(Value::text("-")),
        Some(entry) => Ok(Value::text(type_name(entry.id))),
        None => unknown_number(number),
    }
}

/// `format_type(number, modifier)`; a modifier of null is not the same as -1.
fn formatted(arguments: &[Value]) -> Result<Value, SqlError> {
    let Value::Oid(number) = arguments[0] else { return Ok(Value::Null) };
    match (pg_catalog().find_type(TypeId(number)), &arguments[1]) {
        _ if number == 0 => Ok(Value::text("-")),
        (Some(entry), Value::Int4(modifier)) => {
            let element = pg_catalog().element_of_array(entry.id).unwrap_or(entry.id);
            if element == TypeId::INTERVAL && *modifier >= 0 && interval_words(*modifier).is_none() {
                let message = format!("invalid INTERVAL typmod: 0x{modifier:x}");
                return Err(SqlError::new(SqlState::InternalError, message));
            }
            Ok(Value::text(format_type(SqlType { id: entry.id, modifier: *modifier })))
        }
        (Some(entry), _) => Ok(Value::text(type_name(entry.id))),
        (None, _) => unknown_number(number).map(|_| Value::text("???")),
    }
}
