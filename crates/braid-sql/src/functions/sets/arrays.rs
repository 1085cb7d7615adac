//! The elements of arrays, and their subscripts.

use std::sync::Arc;

use super::{Rows, SetImplementations};
use crate::{SqlError, Value};

/// Rows of arrays.
pub const FUNCTIONS: SetImplementations = &[
    ("array_unnest", |arguments, _| unnest(&arguments[0])),
    ("_pg_expandarray", |arguments, _| expand(&arguments[0])),
    ("generate_subscripts", |arguments, _| subscripts(arguments, arguments[2].as_bool())),
    ("generate_subscripts_nodir", |arguments, _| subscripts(arguments, false)),
];

/// The elements in the order in which they are stored, whatever the dimensions.
fn unnest(array: &Value) -> Result<Rows, SqlError> {
    let Value::Array(array) = array else { return Ok(Box::new(std::iter::empty())) };
    let array = Arc::clone(array);
    Ok(Box::new((0..array.values.len()).map(move |at| Ok(vec![array.values[at].clone()]))))
}

/// The elements of an array, numbered from 1; of one with several dimensions there is nothing at one subscript.
fn expand(array: &Value) -> Result<Rows, SqlError> {
    let Value::Array(array) = array else { return Ok(Box::new(std::iter::empty())) };
    let array = Arc::clone(array);
    let count = array.dimensions.first().map_or(0, |(length, _)| *length);
    let row = move |at: usize| {
        let number = i32::try_from(at + 1).expect("an array has fewer elements");
        let element = if array.dimensions.len() == 1 { array.values[at].clone() } else { Value::Null };
        Ok(vec![element, Value::Int4(number)])
    };
    Ok(Box::new((0..count).map(row)))
}

/// The subscripts of a dimension, from the last one if they are reversed; none if the array does not have it.
fn subscripts(arguments: &[Value], is_reversed: bool) -> Result<Rows, SqlError> {
    let dimensions = &arguments[0].as_array().dimensions;
    let index = usize::try_from(arguments[1].as_int4()).ok().and_then(|number| number.checked_sub(1));
    let (length, lower) = index.and_then(|index| dimensions.get(index)).copied().unwrap_or_default();
    let all = i64::from(lower)..i64::from(lower) + length as i64;
    let row = |at: i64| Ok(vec![Value::Int4(i32::try_from(at).expect("a subscript is an integer"))]);
    if is_reversed { Ok(Box::new(all.rev().map(row))) } else { Ok(Box::new(all.map(row))) }
}
