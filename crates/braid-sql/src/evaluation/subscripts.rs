//! Subscripts: elements and parts of arrays, and the bytes of a name.

use std::sync::Arc;

use super::Evaluation;
use crate::expression::{Expression, Subscripts};
use crate::input::bytes::NAME_BYTES_MAX;
use crate::{SqlError, Value};

impl Evaluation<'_> {
    /// An element or a part; null if the container or a subscript is null.
    pub(super) fn subscripted(&self, container: &Expression, subscripts: &Subscripts) -> Result<Value, SqlError> {
        let container = self.value(container)?;
        match subscripts {
            Subscripts::Element(indexes) => {
                let indexes = self.bounds(indexes.iter().map(Some))?;
                let indexes: Option<Vec<i32>> = indexes.map(|indexes| indexes.into_iter().flatten().collect());
                Ok(match (container, indexes) {
                    (Value::Array(array), Some(indexes)) => array.element_at(&indexes),
                    (Value::Text(name), Some(indexes)) => byte_of_name(&name, &indexes),
                    _ => Value::Null,
                })
            }
            Subscripts::Slice(slices) => {
                // In this order, as PostgreSQL.
                let last = self.bounds(slices.iter().map(|(_, last)| last.as_ref()))?;
                let first = self.bounds(slices.iter().map(|(first, _)| first.as_ref()))?;
                match (container, first, last) {
                    (Value::Array(array), Some(first), Some(last)) => {
                        let wide = |bounds: Vec<Option<i32>>| bounds.into_iter().map(|bound| bound.map(i64::from));
                        let bounds: Vec<_> = wide(first).zip(wide(last)).collect();
                        Ok(Value::Array(Arc::new(array.slice(&bounds))))
                    }
                    (Value::Text(_), Some(_), Some(_)) => {
                        Err(SqlError::unsupported("slices of fixed-length arrays not implemented"))
                    }
                    _ => Ok(Value::Null),
                }
            }
        }
    }

    /// The values of subscripts, of which some are not written; `None` if one is null.
    fn bounds<'e>(
        &self,
        bounds: impl Iterator<Item = Option<&'e Expression>>,
    ) -> Result<Option<Vec<Option<i32>>>, SqlError> {
        let values = bounds.map(|bound| bound.map(|bound| self.value(bound)).transpose());
        let values: Vec<Option<Value>> = values.collect::<Result<_, _>>()?;
        if values.contains(&Some(Value::Null)) {
            return Ok(None);
        }
        Ok(Some(values.into_iter().map(|value| value.map(|value| value.as_int4())).collect()))
    }
}

/// A byte of a name, which is an array of bytes that zeros fill and whose first subscript is 0.
fn byte_of_name(name: &str, subscripts: &[i32]) -> Value {
    let index = match subscripts {
        [index] => usize::try_from(*index).ok().filter(|index| *index <= NAME_BYTES_MAX),
        _ => None,
    };
    index.map_or(Value::Null, |index| Value::Char(name.as_bytes().get(index).copied().unwrap_or_default()))
}
