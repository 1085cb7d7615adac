//! `regproc` and `regprocedure`: numbers of functions, which are shown by name, and by name and arguments.

use super::names::{name_and_types, number_of_text, parts_of_name};
use super::{is_visible, unknown_number};
use crate::functions::Implementations;
use crate::functions::strings::quoting::quote_identifier;
use crate::pg_catalog::{FunctionEntry, FunctionId, TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::types::type_text::known_schema;
use crate::{SqlError, SqlState, Value};

/// Functions of functions.
pub const FUNCTIONS: Implementations = &[
    ("regprocin", |arguments, _| regproc(arguments[0].as_text())),
    ("regprocout", |arguments, _| name(arguments[0].as_oid())),
    ("to_regproc", |arguments, _| match &functions_named(arguments[0].as_text())?[..] {
        [only] => Ok(Value::Oid(only.id.0)),
        _ => Ok(Value::Null),
    }),
    ("regprocedurein", |arguments, _| regprocedure(arguments[0].as_text())),
    ("regprocedureout", |arguments, _| signature(arguments[0].as_oid())),
    ("to_regprocedure", |arguments, _| Ok(function_of(arguments[0].as_text())?.unwrap_or(Value::Null))),
    ("pg_function_is_visible", |arguments, _| {
        let number = arguments[0].as_oid();
        match pg_catalog().find_function(FunctionId(number)) {
            Some(_) => is_visible(number, true),
            // The catalog has all functions.
            None => Ok(Value::Null),
        }
    }),
];

fn missing(text: &str) -> SqlError {
    SqlError::new(SqlState::UndefinedFunction, format!("function \"{text}\" does not exist"))
}

fn functions_named(text: &str) -> Result<Vec<&'static FunctionEntry>, SqlError> {
    let parts = parts_of_name(text)?;
    let name = known_schema(&parts)?;
    Ok(name.map(|name| pg_catalog().functions_named(name).collect()).unwrap_or_default())
}

fn regproc(text: &str) -> Result<Value, SqlError> {
    if let Some(number) = number_of_text(text, "-") {
        return number;
    }
    match &functions_named(text)?[..] {
        [] => Err(missing(text)),
        [only] => Ok(Value::Oid(only.id.0)),
        _ => {
            let message = format!("more than one function named \"{text}\"");
            Err(SqlError::new(SqlState::AmbiguousFunction, message))
        }
    }
}

/// The name, with its schema if several functions have it.
fn name(number: u32) -> Result<Value, SqlError> {
    match pg_catalog().find_function(FunctionId(number)) {
        _ if number == 0 => Ok(Value::text("-")),
        None => unknown_number(number),
        Some(function) => {
            let is_unique = pg_catalog().functions_named(function.name).nth(1).is_none();
            let schema = if is_unique { "" } else { "pg_catalog." };
            Ok(Value::text(format!("{schema}{}", quote_identifier(function.name))))
        }
    }
}

pub(super) fn regprocedure(text: &str) -> Result<Value, SqlError> {
    match number_of_text(text, "-") {
        Some(number) => number,
        None => function_of(text)?.ok_or_else(|| missing(text)),
    }
}

fn function_of(text: &str) -> Result<Option<Value>, SqlError> {
    let (parts, types) = name_and_types(text, false)?;
    let types: Vec<TypeId> = types.into_iter().flatten().collect();
    let found = known_schema(&parts)?
        .and_then(|name| pg_catalog().functions_named(name).find(|function| function.arguments == types));
    Ok(found.map(|function| Value::Oid(function.id.0)))
}

fn signature(number: u32) -> Result<Value, SqlError> {
    match pg_catalog().find_function(FunctionId(number)) {
        _ if number == 0 => Ok(Value::text("-")),
        None => unknown_number(number),
        Some(function) => {
            let types: Vec<String> = function.arguments.iter().map(|id| type_name(*id)).collect();
            Ok(Value::text(format!("{}({})", quote_identifier(function.name), types.join(","))))
        }
    }
}
