//! Arrays compared with each other: `=`, `<` and their like, `@>`, `<@`, `&&`.
//!
//! Arrays are ordered by their elements, then by their number, then by their dimensions. Containment looks at elements only, and null
//! is contained in nothing (manual, "Array Functions and Operators").

use std::cmp::Ordering;

use super::elements::{Equality, element_order};
use crate::functions::ordering::TypeOrder;
use crate::functions::{Call, Implementations, SessionFacts};
use crate::values::ArrayValue;
use crate::{SqlError, Value};

/// Comparisons of arrays.
pub const FUNCTIONS: Implementations = &[
    ("array_eq", |arguments, call| Ok(Value::Bool(are_equal(arguments, call)?))),
    ("array_ne", |arguments, call| Ok(Value::Bool(!are_equal(arguments, call)?))),
    ("array_lt", |arguments, call| Ok(Value::Bool(compare(arguments, call)?.is_lt()))),
    ("array_le", |arguments, call| Ok(Value::Bool(compare(arguments, call)?.is_le()))),
    ("array_gt", |arguments, call| Ok(Value::Bool(compare(arguments, call)?.is_gt()))),
    ("array_ge", |arguments, call| Ok(Value::Bool(compare(arguments, call)?.is_ge()))),
    ("btarraycmp", |arguments, call| Ok(Value::Int4(compare(arguments, call)? as i32))),
    ("array_larger", |arguments, call| Ok(arguments[usize::from(!compare(arguments, call)?.is_gt())].clone())),
    ("array_smaller", |arguments, call| Ok(arguments[usize::from(!compare(arguments, call)?.is_lt())].clone())),
    ("arraycontains", |arguments, call| Ok(Value::Bool(contains(&arguments[0], &arguments[1], call)?))),
    ("arraycontained", |arguments, call| Ok(Value::Bool(contains(&arguments[1], &arguments[0], call)?))),
    ("arrayoverlap", |arguments, call| Ok(Value::Bool(overlaps(&arguments[0], &arguments[1], call)?))),
];

fn are_equal(arguments: &[Value], call: &Call<'_>) -> Result<bool, SqlError> {
    let (left, right) = (arguments[0].as_array(), arguments[1].as_array());
    // Arrays of different shape are unequal even if their elements cannot be compared.
    if left.dimensions != right.dimensions {
        return Ok(false);
    }
    let equality = Equality::of(left.element, call)?;
    for (one, other) in left.values.iter().zip(&right.values) {
        if !equality.are_same(one, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn compare(arguments: &[Value], call: &Call<'_>) -> Result<Ordering, SqlError> {
    let (left, right) = (arguments[0].as_array(), arguments[1].as_array());
    compare_arrays(left, right, &element_order(left.element)?, call.session)
}

/// Which of two arrays comes first.
pub(in crate::functions) fn compare_arrays(
    left: &ArrayValue,
    right: &ArrayValue,
    order: &TypeOrder,
    session: &dyn SessionFacts,
) -> Result<Ordering, SqlError> {
    for (one, other) in left.values.iter().zip(&right.values) {
        let ordering = order.compare_nulls_last(one, other, session)?;
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    Ok(shape(left).cmp(&shape(right)))
}

/// What orders arrays whose elements are equal as far as both go: count, number of dimensions, lengths, lower bounds.
fn shape(array: &ArrayValue) -> (usize, usize, Vec<usize>, Vec<i32>) {
    let (lengths, bounds) = array.dimensions.iter().copied().unzip();
    (array.values.len(), array.dimensions.len(), lengths, bounds)
}

fn contains(whole: &Value, part: &Value, call: &Call<'_>) -> Result<bool, SqlError> {
    let (whole, part) = (whole.as_array(), part.as_array());
    let equality = Equality::of(whole.element, call)?;
    for value in &part.values {
        if !holds(whole, value, &equality)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlaps(left: &Value, right: &Value, call: &Call<'_>) -> Result<bool, SqlError> {
    let (left, right) = (left.as_array(), right.as_array());
    let equality = Equality::of(left.element, call)?;
    for value in &left.values {
        if holds(right, value, &equality)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds(array: &ArrayValue, wanted: &Value, equality: &Equality<'_>) -> Result<bool, SqlError> {
    for value in &array.values {
        if equality.are_equal(value, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}
