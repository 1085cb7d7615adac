//! Arrays made, joined and measured: `array_append`, `||`, `array_length`, `array_fill`, `trim_array`, subscripts and slices.

use crate::functions::{Call, Implementations};
use crate::values::ArrayValue;
use crate::values::array_limits::{check_dimension_count, checked_count, too_many_elements};
use crate::{SqlError, SqlState, Value};

/// Functions of arrays.
pub const FUNCTIONS: Implementations = &[
    ("array_append", array_append),
    ("array_prepend", array_prepend),
    ("array_cat", array_cat),
    ("array_ndims", array_ndims),
    ("array_dims", array_dims),
    ("array_length", |arguments, _| Ok(of_dimension(arguments, |(length, _)| length_int4(length)))),
    ("array_lower", |arguments, _| Ok(of_dimension(arguments, |(_, lower)| lower))),
    ("array_upper", |arguments, _| Ok(of_dimension(arguments, upper_bound))),
    ("array_cardinality", |arguments, _| Ok(Value::Int4(length_int4(arguments[0].as_array().values.len())))),
    ("array_fill", array_fill),
    ("array_fill_with_lower_bounds", array_fill),
    ("trim_array", trim_array),
];

/// Most bytes of an array (`MaxAllocSize`).
const BYTES_MAX: usize = 0x3fff_ffff;

/// An error of subscripts and dimensions.
pub fn array_error(message: &str) -> SqlError {
    SqlError::new(SqlState::ArraySubscriptError, message)
}

fn length_int4(length: usize) -> i32 {
    i32::try_from(length).expect("an array has at most 134217727 elements")
}

fn upper_bound((length, lower): (usize, i32)) -> i32 {
    lower + (length_int4(length) - 1)
}

fn array(element: crate::pg_catalog::TypeId, dimensions: Vec<(usize, i32)>, values: Vec<Value>) -> Value {
    debug_assert_eq!(values.len(), if dimensions.is_empty() { 0 } else { dimensions.iter().map(|(n, _)| n).product() });
    Value::Array(ArrayValue { element, dimensions, values }.into())
}

/// What one element is added to: an array of at most one dimension. Null is an empty array.
fn extended(value: &Value, element: crate::pg_catalog::TypeId) -> Result<(ArrayValue, i32), SqlError> {
    let Value::Array(whole) = value else { return Ok((ArrayValue::of(element, Vec::new()), 1)) };
    match whole.dimensions.as_slice() {
        [] => Ok((ArrayValue::clone(whole), 1)),
        [(_, lower)] => Ok((ArrayValue::clone(whole), *lower)),
        _ => Err(SqlError::new(SqlState::DataException, "argument must be empty or one-dimensional array")),
    }
}

fn integer_out_of_range() -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, "integer out of range")
}

fn array_append(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (mut whole, lower) = extended(&arguments[0], call.argument_types[1].id)?;
    let length = whole.values.len();
    lower.checked_add(length_int4(length)).ok_or_else(integer_out_of_range)?;
    let dimensions = vec![(length + 1, lower)];
    checked_count(&dimensions)?;
    whole.values.push(arguments[1].clone());
    Ok(array(whole.element, dimensions, whole.values))
}

fn array_prepend(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (mut whole, lower) = extended(&arguments[1], call.argument_types[0].id)?;
    if !whole.dimensions.is_empty() {
        lower.checked_sub(1).ok_or_else(integer_out_of_range)?;
    }
    // The first subscript stays: the other elements move up.
    let dimensions = vec![(whole.values.len() + 1, lower)];
    checked_count(&dimensions)?;
    whole.values.insert(0, arguments[0].clone());
    Ok(array(whole.element, dimensions, whole.values))
}

fn array_cat(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (Value::Array(left), Value::Array(right)) = (&arguments[0], &arguments[1]) else {
        return Ok(arguments[usize::from(arguments[0].is_null())].clone());
    };
    if left.dimensions.is_empty() || right.dimensions.is_empty() {
        return Ok(arguments[usize::from(left.dimensions.is_empty())].clone());
    }
    let dimensions = joined_dimensions(&left.dimensions, &right.dimensions)?;
    checked_count(&dimensions)?;
    Ok(array(left.element, dimensions, left.values.iter().chain(&right.values).cloned().collect()))
}

/// The dimensions of two arrays after each other. One may be an element of the other.
fn joined_dimensions(left: &[(usize, i32)], right: &[(usize, i32)]) -> Result<Vec<(usize, i32)>, SqlError> {
    let incompatible = |detail: &str| Err(array_error("cannot concatenate incompatible arrays").with_detail(detail));
    let (mut joined, added, inner_match) = match (left.len(), right.len()) {
        (one, other) if one == other => (left.to_vec(), right[0].0, left[1..] == right[1..]),
        (one, other) if one + 1 == other => (right.to_vec(), 1, left == &right[1..]),
        (one, other) if one == other + 1 => (left.to_vec(), 1, &left[1..] == right),
        (one, other) => {
            return incompatible(&format!(
                "Arrays of {one} and {other} dimensions are not compatible for concatenation."
            ));
        }
    };
    if !inner_match {
        return incompatible(if left.len() == right.len() {
            "Arrays with differing element dimensions are not compatible for concatenation."
        } else {
            "Arrays with differing dimensions are not compatible for concatenation."
        });
    }
    joined[0].0 += added;
    Ok(joined)
}

fn array_ndims(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let count = arguments[0].as_array().dimensions.len();
    Ok(if count == 0 { Value::Null } else { Value::Int4(length_int4(count)) })
}

fn array_dims(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let dimensions = &arguments[0].as_array().dimensions;
    if dimensions.is_empty() { Ok(Value::Null) } else { Ok(Value::text(written_dimensions(dimensions))) }
}

/// `[1:2][0:4]`
pub(super) fn written_dimensions(dimensions: &[(usize, i32)]) -> String {
    dimensions.iter().map(|dimension| format!("[{}:{}]", dimension.1, upper_bound(*dimension))).collect()
}

fn of_dimension(arguments: &[Value], fact: impl Fn((usize, i32)) -> i32) -> Value {
    let dimensions = &arguments[0].as_array().dimensions;
    let index = usize::try_from(arguments[1].as_int4()).ok().and_then(|number| number.checked_sub(1));
    let dimension = index.and_then(|index| dimensions.get(index));
    dimension.map_or(Value::Null, |dimension| Value::Int4(fact(*dimension)))
}

fn array_fill(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let null = |message| SqlError::new(SqlState::NullValueNotAllowed, message);
    if arguments[1..].iter().any(Value::is_null) {
        return Err(null("dimension array or low bound array cannot be null"));
    }
    let lengths = bounds_argument(&arguments[1])?;
    check_dimension_count(lengths.len())?;
    let lower = match arguments.get(2) {
        Some(lower) => bounds_argument(lower)?,
        None => vec![1; lengths.len()],
    };
    let element = call.argument_types[0].id;
    if lengths.is_empty() && arguments.len() == 2 {
        return Ok(array(element, Vec::new(), Vec::new()));
    }
    if lower.len() != lengths.len() {
        return Err(array_error("wrong number of array subscripts")
            .with_detail("Low bound array has different size than dimensions array."));
    }
    let lengths: Result<Vec<usize>, SqlError> =
        lengths.iter().map(|length| usize::try_from(*length).map_err(|_| too_many_elements())).collect();
    let dimensions: Vec<(usize, i32)> = lengths?.into_iter().zip(lower).collect();
    let count = checked_count(&dimensions)?;
    if count == 0 {
        return Ok(array(element, Vec::new(), Vec::new()));
    }
    check_bytes(&arguments[0], count)?;
    call.reserve(count.saturating_mul(size_of::<Value>()))?;
    Ok(array(element, dimensions, vec![arguments[0].clone(); count]))
}

/// Elements that are made one by one, each with its place in the list, and counted as they are made.
///
/// # Errors
/// The first of an element; out of memory (53200).
pub fn counted_elements(
    elements: impl Iterator<Item = Result<Value, SqlError>>,
    call: &Call<'_>,
) -> Result<Vec<Value>, SqlError> {
    let (mut counted, mut memory, mut bytes) = (Vec::new(), call.growing_value(), 0);
    for element in elements {
        let element = element?;
        bytes += size_of::<Value>() + element.heap_bytes();
        memory.reach(bytes)?;
        counted.push(element);
    }
    Ok(counted)
}

/// The lengths or lower bounds that `array_fill` is given.
fn bounds_argument(value: &Value) -> Result<Vec<i32>, SqlError> {
    let bounds = value.as_array();
    if bounds.dimensions.len() > 1 {
        return Err(
            array_error("wrong number of array subscripts").with_detail("Dimension array must be one dimensional.")
        );
    }
    if bounds.values.iter().any(Value::is_null) {
        return Err(SqlError::new(SqlState::NullValueNotAllowed, "dimension values cannot be null"));
    }
    Ok(bounds.values.iter().map(Value::as_int4).collect())
}

/// Refuses an array of so many equal elements if PostgreSQL's would be larger than 1 GiB.
fn check_bytes(value: &Value, count: usize) -> Result<(), SqlError> {
    check_array_bytes(count.saturating_mul(stored_bytes(value)))
}

/// Refuses an array whose elements have so many bytes, if PostgreSQL does.
pub fn check_array_bytes(bytes: usize) -> Result<(), SqlError> {
    if bytes > BYTES_MAX {
        let message = format!("array size exceeds the maximum allowed ({BYTES_MAX})");
        return Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
    }
    Ok(())
}

/// Bytes of an element in PostgreSQL's arrays.
pub fn stored_bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        // A text has a header of four bytes, and begins at a multiple of four.
        Value::Text(text) => (text.len() + 4).next_multiple_of(4),
        Value::Bytea(bytes) => (bytes.len() + 4).next_multiple_of(4),
        Value::Bool(_) | Value::Char(_) => 1,
        Value::Int2(_) => 2,
        Value::Int4(_) | Value::Float4(_) | Value::Date(_) | Value::Oid(_) | Value::Enum(_) => 4,
        Value::Interval(_) | Value::Uuid(_) | Value::TimeTz(..) => 16,
        _ => 8,
    }
}

fn trim_array(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let whole = arguments[0].as_array();
    let first = whole.dimensions.first().copied();
    let length = first.map_or(0, |(length, _)| length_int4(length));
    let trimmed = arguments[1].as_int4();
    if !(0..=length).contains(&trimmed) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(array_error(&message));
    }
    let Some((_, lower)) = first else { return Ok(arguments[0].clone()) };
    let upper = i64::from(lower) + i64::from(length) - i64::from(trimmed) - 1;
    Ok(Value::Array(whole.slice(&[(None, Some(upper))]).into()))
}

impl ArrayValue {
    /// `a[i][j]`: the element; null if there is none, or fewer or more subscripts than dimensions.
    pub fn element_at(&self, subscripts: &[i32]) -> Value {
        if subscripts.len() != self.dimensions.len() || subscripts.is_empty() {
            return Value::Null;
        }
        let mut offset = 0;
        for (subscript, (length, lower)) in subscripts.iter().zip(&self.dimensions) {
            let index = usize::try_from(i64::from(*subscript) - i64::from(*lower));
            let Some(index) = index.ok().filter(|index| index < length) else { return Value::Null };
            offset = offset * length + index;
        }
        self.values[offset].clone()
    }

    /// `a[l:u][:]`: the part within these bounds, a bound left out being that of the array. Its subscripts begin at 1. Dimensions
    /// without bounds are taken whole; with more bounds than dimensions the part is empty.
    pub fn slice(&self, bounds: &[(Option<i64>, Option<i64>)]) -> Self {
        let empty = Self::of(self.element, Vec::new());
        if bounds.len() > self.dimensions.len() {
            return empty;
        }
        let mut ranges = Vec::with_capacity(self.dimensions.len());
        for (index, (length, lower)) in self.dimensions.iter().enumerate() {
            let (from, to) = bounds.get(index).copied().unwrap_or_default();
            let (first, last) = (i64::from(*lower), i64::from(*lower) + *length as i64 - 1);
            let (from, to) = (from.map_or(first, |from| from.max(first)), to.map_or(last, |to| to.min(last)));
            if from > to {
                return empty;
            }
            ranges.push(((from - first) as usize, (to - first) as usize + 1));
        }
        if ranges.is_empty() {
            return empty;
        }
        let mut values = Vec::new();
        self.collect_part(&ranges, 0, &mut values);
        Self { element: self.element, dimensions: ranges.iter().map(|(from, to)| (to - from, 1)).collect(), values }
    }

    /// Appends the elements of the outermost `ranges.len()` dimensions that are left, within these ranges of indexes.
    fn collect_part(&self, ranges: &[(usize, usize)], offset: usize, values: &mut Vec<Value>) {
        let depth = self.dimensions.len() - ranges.len();
        let Some(((from, to), inner)) = ranges.split_first() else { return };
        let length = self.dimensions[depth].0;
        for index in *from..*to {
            let offset = offset * length + index;
            match inner {
                [] => values.push(self.values[offset].clone()),
                _ => self.collect_part(inner, offset, values),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg_catalog::TypeId;
    use crate::values::array_limits::ELEMENTS_MAX;

    fn ints(dimensions: &[(usize, i32)], values: impl IntoIterator<Item = i32>) -> ArrayValue {
        let values = values.into_iter().map(Value::Int4).collect();
        ArrayValue { element: TypeId::INT4, dimensions: dimensions.to_vec(), values }
    }

    #[test]
    fn subscripts_find_elements() {
        // SELECT a[1][0], … FROM (SELECT '[1:2][0:2]={{0,1,2},{3,4,5}}'::int[] AS a) AS t
        let array = ints(&[(2, 1), (3, 0)], 0..6);
        assert_eq!((array.element_at(&[1, 0]), array.element_at(&[2, 2])), (Value::Int4(0), Value::Int4(5)));
        for subscripts in [&[0, 0] as &[i32], &[1, 3], &[3, 0], &[1], &[1, 1, 1], &[], &[i32::MIN, i32::MAX]] {
            assert_eq!(array.element_at(subscripts), Value::Null, "{subscripts:?}");
        }
        assert_eq!(ints(&[], []).element_at(&[1]), Value::Null);
    }

    #[test]
    fn slices_are_parts_that_begin_at_one() {
        let array = ints(&[(2, 1), (3, 0)], 0..6);
        assert_eq!(array.slice(&[(Some(2), None)]), ints(&[(1, 1), (3, 1)], 3..6));
        assert_eq!(array.slice(&[(None, None), (Some(1), Some(9))]), ints(&[(2, 1), (2, 1)], [1, 2, 4, 5]));
        assert_eq!(array.slice(&[(Some(i64::MIN), Some(i64::MAX))]), ints(&[(2, 1), (3, 1)], 0..6));
        let empty = ints(&[], []);
        let cases: [&[(Option<i64>, Option<i64>)]; 3] = [&[(Some(3), None)], &[(Some(2), Some(1))], &[(None, None); 3]];
        for bounds in cases {
            assert_eq!(array.slice(bounds), empty, "{bounds:?}");
        }
        assert_eq!((empty.slice(&[(None, None)]), empty.slice(&[])), (empty.clone(), empty.clone()));
    }

    #[test]
    fn limits_hold() {
        assert_eq!(checked_count(&[(ELEMENTS_MAX, 1)]), Ok(ELEMENTS_MAX));
        let cases: [&[(usize, i32)]; 3] = [&[(ELEMENTS_MAX + 1, 1)], &[(usize::MAX, 1), (2, 1)], &[(2, i32::MAX - 1)]];
        for dimensions in cases {
            assert_eq!(checked_count(dimensions).map_err(|error| error.sqlstate()), Err("54000"), "{dimensions:?}");
        }
        assert!(
            check_bytes(&Value::Int4(0), ELEMENTS_MAX).is_ok() && check_bytes(&Value::Int8(0), ELEMENTS_MAX).is_ok()
        );
        assert!(check_bytes(&Value::text("12345"), ELEMENTS_MAX).is_err());
    }
}
