//! Elements found, removed and replaced: `array_position`, `array_positions`, `array_remove`, `array_replace`, `width_bucket`.
//!
//! Here null is found by null, unlike with `=`.

use super::elements::{Equality, element_order};
use crate::functions::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// Searches in arrays.
pub const FUNCTIONS: Implementations = &[
    ("array_position", array_position),
    ("array_position_start", array_position),
    ("array_positions", array_positions),
    ("array_remove", array_remove),
    ("array_replace", array_replace),
    ("width_bucket_array", width_bucket_array),
];

fn array_position(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let found = positions(arguments, 1, call)?;
    Ok(found.and_then(|found| found.first().copied()).map_or(Value::Null, Value::Int4))
}

fn array_positions(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Some(found) = positions(arguments, usize::MAX, call)? else { return Ok(Value::Null) };
    let found = found.into_iter().map(Value::Int4).collect();
    Ok(Value::Array(ArrayValue::of(TypeId::INT4, found).into()))
}

/// The first subscripts in the first argument of what is the second, from the third on if there is one; `None` for a null array.
fn positions(arguments: &[Value], count_max: usize, call: &Call<'_>) -> Result<Option<Vec<i32>>, SqlError> {
    let (Value::Array(array), wanted) = (&arguments[0], &arguments[1]) else { return Ok(None) };
    refuse_several_dimensions(array, "searching for elements in multidimensional arrays is not supported")?;
    let mut found = Vec::new();
    let Some((_, lower)) = array.dimensions.first() else { return Ok(Some(found)) };
    if wanted.is_null() && !array.values.iter().any(Value::is_null) {
        return Ok(Some(found));
    }
    let start = match arguments.get(2) {
        Some(Value::Null) => {
            return Err(SqlError::new(SqlState::NullValueNotAllowed, "initial position must not be null"));
        }
        Some(start) => start.as_int4(),
        None => i32::MIN,
    };
    let equality = Equality::of(array.element, call)?;
    for (position, value) in (*lower..).zip(&array.values) {
        if position >= start && equality.are_same(value, wanted)? {
            found.push(position);
            if found.len() == count_max {
                break;
            }
        }
    }
    Ok(Some(found))
}

fn array_remove(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Array(array) = &arguments[0] else { return Ok(Value::Null) };
    if array.values.is_empty() {
        return Ok(arguments[0].clone());
    }
    refuse_several_dimensions(array, "removing elements from multidimensional arrays is not supported")?;
    let equality = Equality::of(array.element, call)?;
    let mut kept = Vec::with_capacity(array.values.len());
    for value in &array.values {
        if !equality.are_same(value, &arguments[1])? {
            kept.push(value.clone());
        }
    }
    let mut result = ArrayValue::of(array.element, kept);
    if let (Some(kept), Some(whole)) = (result.dimensions.first_mut(), array.dimensions.first()) {
        kept.1 = whole.1;
    }
    Ok(Value::Array(result.into()))
}

fn array_replace(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Array(array) = &arguments[0] else { return Ok(Value::Null) };
    if array.values.is_empty() {
        return Ok(arguments[0].clone());
    }
    let equality = Equality::of(array.element, call)?;
    let mut replaced = ArrayValue::clone(array);
    for value in &mut replaced.values {
        if equality.are_same(value, &arguments[1])? {
            *value = arguments[2].clone();
        }
    }
    Ok(Value::Array(replaced.into()))
}

fn refuse_several_dimensions(array: &ArrayValue, message: &str) -> Result<(), SqlError> {
    if array.dimensions.len() > 1 { Err(SqlError::unsupported(message)) } else { Ok(()) }
}

/// How many thresholds are at most the operand, by bisection: thresholds out of order give what bisection finds.
fn width_bucket_array(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (operand, thresholds) = (&arguments[0], arguments[1].as_array());
    if thresholds.dimensions.len() > 1 {
        return Err(SqlError::new(SqlState::ArraySubscriptError, "thresholds must be one-dimensional array"));
    }
    if thresholds.values.iter().any(Value::is_null) {
        return Err(SqlError::new(SqlState::NullValueNotAllowed, "thresholds array must not contain NULLs"));
    }
    let order = element_order(thresholds.element)?;
    let (mut low, mut high) = (0, thresholds.values.len());
    while low < high {
        let middle = (low + high) / 2;
        let ordering = order.compare_nulls_last(operand, &thresholds.values[middle], call.session)?;
        if ordering.is_lt() { high = middle } else { low = middle + 1 }
    }
    Ok(Value::Int4(i32::try_from(low).expect("an array has at most 134217727 elements")))
}
