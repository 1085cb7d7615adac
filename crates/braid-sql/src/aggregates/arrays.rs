//! `array_agg`: values become the elements of an array, arrays become the parts of one with a dimension more.

use super::Aggregates;
use super::accumulator::Accumulator;
use crate::functions::Call;
use crate::functions::arrays::making::{array_error, check_array_bytes, stored_bytes};
use crate::pg_catalog::pg_catalog;
use crate::values::ArrayValue;
use crate::values::array_limits::{check_dimension_count, checked_count};
use crate::{SqlError, SqlState, Value};

/// `array_agg`
pub const AGGREGATES: Aggregates = &[
    ("array_agg_transfn array_agg_finalfn", |_, _| Ok(Box::new(Elements::default()))),
    ("array_agg_array_transfn array_agg_array_finalfn", |_, _| Ok(Box::new(Parts::default()))),
];

/// Values, nulls included, and how large they are.
#[derive(Debug, Default)]
struct Elements {
    values: Vec<Value>,
    heap_bytes: usize,
    /// In PostgreSQL's arrays, which bounds them.
    stored_bytes: usize,
}

impl Elements {
    fn push(&mut self, value: &Value) -> Result<(), SqlError> {
        self.stored_bytes += stored_bytes(value);
        check_array_bytes(self.stored_bytes)?;
        self.heap_bytes += value.heap_bytes();
        self.values.push(value.clone());
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Value>() + self.heap_bytes
    }
}

impl Accumulator for Elements {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        self.push(&arguments[0])
    }

    fn finish(&self, _direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
        if self.values.is_empty() {
            return Ok(Value::Null);
        }
        checked_count(&[(self.values.len(), 1)])?;
        Ok(Value::Array(ArrayValue::of(call.argument_types[0].id, self.values.clone()).into()))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.memory_bytes()
    }
}

/// Arrays of one shape.
#[derive(Debug, Default)]
struct Parts {
    count: usize,
    dimensions: Vec<(usize, i32)>,
    elements: Elements,
}

impl Accumulator for Parts {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let Value::Array(array) = &arguments[0] else {
            return Err(SqlError::new(SqlState::NullValueNotAllowed, "cannot accumulate null arrays"));
        };
        if self.count == 0 {
            if array.dimensions.is_empty() {
                return Err(array_error("cannot accumulate empty arrays"));
            }
            check_dimension_count(array.dimensions.len() + 1)?;
            self.dimensions.clone_from(&array.dimensions);
        } else if self.dimensions != array.dimensions {
            return Err(array_error("cannot accumulate arrays of different dimensionality"));
        }
        for value in &array.values {
            self.elements.push(value)?;
        }
        self.count += 1;
        Ok(())
    }

    fn finish(&self, _direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        let dimensions: Vec<_> = [(self.count, 1)].into_iter().chain(self.dimensions.iter().copied()).collect();
        checked_count(&dimensions)?;
        let array_type = call.argument_types[0].id;
        let element = pg_catalog().element_of_array(array_type).expect("the argument is an array");
        Ok(Value::Array(ArrayValue { element, dimensions, values: self.elements.values.clone() }.into()))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.elements.memory_bytes()
    }
}
