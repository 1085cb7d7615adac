//! Arrays: values in row-major order, with their dimensions.

use super::value::Value;
use crate::pg_catalog::TypeId;

/// An array of values of one type, nulls included. It is rectangular; an empty array has no dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayValue {
    /// The type of the elements.
    pub element: TypeId,
    /// Length and lower bound of each dimension, the outermost first.
    pub dimensions: Vec<(usize, i32)>,
    /// All elements, the last dimension running fastest.
    pub values: Vec<Value>,
}

impl ArrayValue {
    /// An array of one dimension that begins at 1; without dimensions if there are no values.
    pub fn of(element: TypeId, values: Vec<Value>) -> Self {
        let dimensions = if values.is_empty() { Vec::new() } else { vec![(values.len(), 1)] };
        Self { element, dimensions, values }
    }
}
