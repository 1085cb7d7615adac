//! `regoper` and `regoperator`: numbers of operators, which are shown by name, and by name and operands.

use super::names::{name_and_types, number_of_text, parts_of_name};
use super::{is_visible, unknown_number};
use crate::functions::Implementations;
use crate::pg_catalog::{OperatorEntry, TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::types::type_text::known_schema;
use crate::{SqlError, SqlState, Value};

/// Functions of operators.
pub const FUNCTIONS: Implementations = &[
    ("regoperin", |arguments, _| regoper(arguments[0].as_text())),
    ("regoperout", |arguments, _| name(arguments[0].as_oid())),
    ("to_regoper", |arguments, _| match operators_named(arguments[0].as_text())? {
        [only] => Ok(Value::Oid(only.id)),
        _ => Ok(Value::Null),
    }),
    ("regoperatorin", |arguments, _| regoperator(arguments[0].as_text())),
    ("regoperatorout", |arguments, _| signature(arguments[0].as_oid())),
    ("to_regoperator", |arguments, _| Ok(operator_of(arguments[0].as_text())?.unwrap_or(Value::Null))),
    ("pg_operator_is_visible", |arguments, _| {
        let number = arguments[0].as_oid();
        is_visible(number, pg_catalog().find_operator(number).is_some())
    }),
];

fn missing(text: &str) -> SqlError {
    SqlError::new(SqlState::UndefinedFunction, format!("operator does not exist: {text}"))
}

fn operators_named(text: &str) -> Result<&'static [OperatorEntry], SqlError> {
    let parts = parts_of_name(text)?;
    Ok(known_schema(&parts)?.map(|name| pg_catalog().operators(name)).unwrap_or_default())
}

fn regoper(text: &str) -> Result<Value, SqlError> {
    if let Some(number) = number_of_text(text, "0") {
        return number;
    }
    match operators_named(text)? {
        [] => Err(missing(text)),
        [only] => Ok(Value::Oid(only.id)),
        _ => Err(SqlError::new(SqlState::AmbiguousFunction, format!("more than one operator named {text}"))),
    }
}

/// The name, with its schema if several operators have it.
fn name(number: u32) -> Result<Value, SqlError> {
    match pg_catalog().find_operator(number) {
        _ if number == 0 => Ok(Value::text("0")),
        None => unknown_number(number),
        Some(operator) => {
            let is_unique = pg_catalog().operators(operator.name).len() == 1;
            let schema = if is_unique { "" } else { "pg_catalog." };
            Ok(Value::text(format!("{schema}{}", operator.name)))
        }
    }
}

fn regoperator(text: &str) -> Result<Value, SqlError> {
    match number_of_text(text, "0") {
        Some(number) => number,
        None => operator_of(text)?.ok_or_else(|| missing(text)),
    }
}

fn operator_of(text: &str) -> Result<Option<Value>, SqlError> {
    let (parts, types) = name_and_types(text, true)?;
    let (left, right) = match types[..] {
        [left, right] => (left, right),
        [_] => {
            return Err(SqlError::new(SqlState::UndefinedParameter, "missing argument")
                .with_hint("Use NONE to denote the missing argument of a unary operator."));
        }
        _ => {
            return Err(SqlError::new(SqlState::TooManyArguments, "too many arguments")
                .with_hint("Provide two argument types for operator."));
        }
    };
    let operators = known_schema(&parts)?.map(|name| pg_catalog().operators(name)).unwrap_or_default();
    let found = operators.iter().find(|operator| operator.left() == left && Some(operator.right()) == right);
    Ok(found.map(|operator| Value::Oid(operator.id)))
}

fn signature(number: u32) -> Result<Value, SqlError> {
    let operand = |id: Option<TypeId>| id.map_or("NONE".to_owned(), type_name);
    match pg_catalog().find_operator(number) {
        _ if number == 0 => Ok(Value::text("0")),
        None => unknown_number(number),
        Some(operator) => {
            let (left, right) = (operand(operator.left()), operand(Some(operator.right())));
            Ok(Value::text(format!("{}({left},{right})", operator.name)))
        }
    }
}
