//! `regtype`: numbers of types, which are shown by name.

use super::names::number_of_text;
use super::relations::objects;
use super::{is_visible, unknown_number};
use crate::functions::call::{is_schema, no_schema};
use crate::functions::strings::quoting::quote_identifier;
use crate::functions::{Call, Implementations, RowTypeName};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::types::type_names::{format_type, interval_words, type_name};
use crate::types::type_text::{NamedType, type_of_text};
use crate::{SqlError, SqlState, SqlType, Value};

/// Functions of types.
pub const FUNCTIONS: Implementations = &[
    ("regtypein", |arguments, call| regtype(arguments[0].as_text(), call)),
    ("regtypeout", |arguments, call| named(arguments[0].as_oid(), call)),
    ("to_regtype", |arguments, call| {
        Ok(type_named(arguments[0].as_text(), call)?.id.map_or(Value::Null, |id| Value::Oid(id.oid())))
    }),
    ("pg_typeof", |_, call| Ok(Value::Oid(call.argument_types[0].id.oid()))),
    ("format_type", formatted),
    ("pg_type_is_visible", |arguments, call| {
        let number = arguments[0].as_oid();
        match type_of_oid(number, call) {
            Some(id) => Ok(Value::Bool(schema_to_show(id, call)?.is_none())),
            None => match row_type(number, call) {
                Some(row_type) => Ok(Value::Bool(row_type.is_visible)),
                None => is_visible(number, false),
            },
        }
    }),
];

/// The type with an oid. A session without names has no types of its own.
fn type_of_oid(number: u32, call: &Call<'_>) -> Option<TypeId> {
    pg_catalog().type_of_oid(number).or_else(|| call.session.objects()?.type_of_oid(number))
}

fn row_type(number: u32, call: &Call<'_>) -> Option<RowTypeName> {
    call.session.objects()?.row_type(number)
}

/// The name of the type of a relation's rows, which is that of the relation.
fn row_type_text(number: u32, call: &Call<'_>) -> Option<String> {
    let RowTypeName { schema, relation, is_visible, is_array } = row_type(number, call)?;
    let brackets = if is_array { "[]" } else { "" };
    Some(match is_visible {
        true => format!("{}{brackets}", quote_identifier(&relation)),
        false => format!("{}.{}{brackets}", quote_identifier(&schema), quote_identifier(&relation)),
    })
}

/// The schema that the name of a type needs; `None` if the type is found without one.
fn schema_to_show(id: TypeId, call: &Call<'_>) -> Result<Option<String>, SqlError> {
    let element = pg_catalog().element_of_array(id).unwrap_or(id);
    if element.enum_type().is_none() && element.domain().is_none() {
        return Ok(None);
    }
    let (objects, name) = (objects(call)?, pg_catalog().type_entry(element).name);
    // Types of the system are found first.
    let is_found = pg_catalog().type_named(name).is_none() && objects.type_id(None, name) == Some(element);
    Ok(if is_found { None } else { objects.schema_of_type(element) })
}

/// A name of a type with the schema that it needs.
fn qualified(id: TypeId, name: String, call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::text(match schema_to_show(id, call)? {
        Some(schema) => format!("{}.{name}", quote_identifier(&schema)),
        None => name,
    }))
}

fn type_named(text: &str, call: &Call<'_>) -> Result<NamedType, SqlError> {
    let objects = call.session.objects();
    type_of_text(text, &|schema, name| objects.as_ref()?.type_id_of_literal(schema, name))
}

pub(super) fn regtype(text: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    if let Some(number) = number_of_text(text, "-") {
        return number;
    }
    let named = type_named(text, call)?;
    match (named.id, &named.schema) {
        (Some(id), _) => Ok(Value::Oid(id.oid())),
        (None, Some(schema)) if !is_schema(call.session, schema) => Err(no_schema(schema)),
        (None, _) => Err(SqlError::new(SqlState::UndefinedObject, format!("type \"{}\" does not exist", named.name))),
    }
}

fn named(number: u32, call: &Call<'_>) -> Result<Value, SqlError> {
    match type_of_oid(number, call) {
        _ if number == 0 => Ok(Value::text("-")),
        Some(id) => qualified(id, type_name(id), call),
        None => row_type_text(number, call).map_or_else(|| unknown_number(number), |text| Ok(Value::text(text))),
    }
}

/// `format_type(number, modifier)`; a modifier of null is not the same as -1.
fn formatted(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Oid(number) = arguments[0] else { return Ok(Value::Null) };
    match (type_of_oid(number, call), &arguments[1]) {
        _ if number == 0 => Ok(Value::text("-")),
        (Some(id), Value::Int4(modifier)) => {
            let element = pg_catalog().element_of_array(id).unwrap_or(id);
            if element == TypeId::INTERVAL && *modifier >= 0 && interval_words(*modifier).is_none() {
                let message = format!("invalid INTERVAL typmod: 0x{modifier:x}");
                return Err(SqlError::new(SqlState::InternalError, message));
            }
            qualified(id, format_type(SqlType { id, modifier: *modifier }), call)
        }
        (Some(id), _) => qualified(id, type_name(id), call),
        (None, _) => match row_type_text(number, call) {
            Some(text) => Ok(Value::text(text)),
            None => unknown_number(number).map(|_| Value::text("???")),
        },
    }
}
