//! The value of a parameter of a prepared statement, as a client sends it.

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use crate::EngineError;

/// A value of some Arrow type, or its null.
#[derive(Clone, Debug)]
pub struct ParameterValue {
    /// Of one row.
    array: ArrayRef,
}

impl ParameterValue {
    /// The only value of an array. Panics if there are none or several.
    pub fn of(array: ArrayRef) -> Self {
        assert_eq!(array.len(), 1, "values of a parameter");
        Self { array }
    }

    /// The null of a type.
    pub fn null(data_type: &DataType) -> Self {
        Self { array: new_null_array(data_type, 1) }
    }

    /// Its type.
    pub fn data_type(&self) -> &DataType {
        self.array.data_type()
    }

    /// The array that it is the only value of.
    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// The value as DataFusion has it.
    pub(crate) fn scalar(&self) -> Result<ScalarValue, EngineError> {
        Ok(ScalarValue::try_from_array(&self.array, 0)?)
    }
}

impl PartialEq for ParameterValue {
    /// Equal values of one type; nulls of one type are equal.
    fn eq(&self, other: &Self) -> bool {
        self.array.as_ref() == other.array.as_ref()
    }
}
