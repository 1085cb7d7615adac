//! `int2vector` and `oidvector`: arrays of one dimension that begins at 0, without nulls, as text with blanks between numbers.
//!
//! The catalog's tables have them. Unlike other arrays, one without elements has a dimension.

use std::cmp::Ordering;

use crate::functions::Implementations;
use crate::input::numbers::{leading_oid, leading_smallint};
use crate::pg_catalog::TypeId;
use crate::types::type_names::type_name;
use crate::value_text::is_space;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// Functions of vectors.
pub const FUNCTIONS: Implementations = &[
    ("int2vectorin", |arguments, _| int2vector(arguments[0].as_text())),
    ("int2vectorout", |arguments, _| joined(&arguments[0], "int2vector", |value| value.as_int2().to_string(), " ")),
    ("oidvectorin", |arguments, _| oidvector(arguments[0].as_text())),
    ("oidvectorout", |arguments, _| joined(&arguments[0], OIDVECTOR, |value| value.as_oid().to_string(), " ")),
    ("oidvectortypes", |arguments, _| joined(&arguments[0], OIDVECTOR, type_of_number, ", ")),
    ("btoidvectorcmp", |arguments, _| difference(arguments).map(Value::Int4)),
    ("oidvectoreq", |arguments, _| Ok(Value::Bool(difference(arguments)? == 0))),
    ("oidvectorne", |arguments, _| Ok(Value::Bool(difference(arguments)? != 0))),
    ("oidvectorlt", |arguments, _| Ok(Value::Bool(difference(arguments)? < 0))),
    ("oidvectorle", |arguments, _| Ok(Value::Bool(difference(arguments)? <= 0))),
    ("oidvectorgt", |arguments, _| Ok(Value::Bool(difference(arguments)? > 0))),
    ("oidvectorge", |arguments, _| Ok(Value::Bool(difference(arguments)? >= 0))),
];

const OIDVECTOR: &str = "oidvector";

fn vector(element: TypeId, values: Vec<Value>) -> Value {
    Value::Array(ArrayValue { element, dimensions: vec![(values.len(), 0)], values }.into())
}

/// Only blanks may follow a number, while any space may stand before one.
fn int2vector(text: &str) -> Result<Value, SqlError> {
    let (mut values, mut rest) = (Vec::new(), text.trim_start_matches(is_space));
    while !rest.is_empty() {
        let (number, after) = leading_smallint(rest)?;
        values.push(Value::Int2(number));
        rest = after.trim_start_matches(is_space);
    }
    Ok(vector(TypeId::INT2, values))
}

/// Nothing need stand between numbers that have signs.
fn oidvector(text: &str) -> Result<Value, SqlError> {
    let (mut values, mut rest) = (Vec::new(), text.trim_start_matches(is_space));
    while !rest.is_empty() {
        let (number, after) = leading_oid(rest)?;
        values.push(Value::Oid(number));
        rest = after.trim_start_matches(is_space);
    }
    Ok(vector(TypeId::OID, values))
}

/// The elements of a vector. An array that was cast to it may have nulls, or not one dimension.
fn elements<'a>(vector: &'a Value, type_name: &str) -> Result<&'a [Value], SqlError> {
    let array = vector.as_array();
    if array.dimensions.len() == 1 && !array.values.contains(&Value::Null) {
        return Ok(&array.values);
    }
    Err(SqlError::new(SqlState::DatatypeMismatch, format!("array is not a valid {type_name}")))
}

/// The numbers of an `oidvector`.
pub(in crate::functions) fn oids_of_vector(vector: &Value) -> Result<impl Iterator<Item = u32>, SqlError> {
    Ok(elements(vector, OIDVECTOR)?.iter().map(Value::as_oid))
}

fn joined(vector: &Value, name: &str, text: impl Fn(&Value) -> String, separator: &str) -> Result<Value, SqlError> {
    let texts: Vec<String> = elements(vector, name)?.iter().map(text).collect();
    Ok(Value::text(texts.join(separator)))
}

/// The name of a type by its number; a dash for 0.
fn type_of_number(number: &Value) -> String {
    match number.as_oid() {
        0 => "-".to_owned(),
        number => type_name(TypeId(number)),
    }
}

/// Less than 0, 0 or more: the shorter vector is less. PostgreSQL returns the difference of the lengths.
fn difference(vectors: &[Value]) -> Result<i32, SqlError> {
    let (left, right) = (elements(&vectors[0], OIDVECTOR)?, elements(&vectors[1], OIDVECTOR)?);
    let lengths = left.len() as i64 - right.len() as i64;
    if lengths != 0 {
        return Ok(i32::try_from(lengths).unwrap_or(if lengths < 0 { i32::MIN } else { i32::MAX }));
    }
    let ordering = |(one, other): (&Value, &Value)| one.as_oid().cmp(&other.as_oid());
    let first = left.iter().zip(right).map(ordering).find(|ordering| ordering.is_ne());
    Ok(first.unwrap_or(Ordering::Equal) as i32)
}
