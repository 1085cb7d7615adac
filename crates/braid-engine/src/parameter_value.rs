//! The value of a parameter of a prepared statement, as a client sends it.

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use braid_sql::evaluation::{value_of_input, value_of_text};
use braid_sql::functions::SessionFacts;
use braid_sql::input::binary::receive;
use braid_sql::pg_catalog::TypeId;
use braid_sql::{SqlState, Value};
use datafusion::common::ScalarValue;

use crate::EngineError;
use crate::output::text_of;
use crate::sql_types::column_type_of_arrow;
use braid_catalog::column_types::sql_type_of;

/// A value that a client sends.
#[derive(Clone, Copy, Debug)]
pub enum SentValue<'a> {
    /// As its type's input function reads it, in UTF-8.
    Text(&'a [u8]),
    /// As its type's receive function reads it.
    Binary(&'a [u8]),
}

/// A value, or its null: as PostgreSQL's type has it, and as an array of Arrow, as far as there are such values.
#[derive(Clone, Debug)]
pub struct ParameterValue {
    /// `pg_type.oid`; 0 if the type is known to Arrow only.
    oid: u32,
    value: Option<Value>,
    /// Of one row.
    array: Option<ArrayRef>,
}

impl ParameterValue {
    /// The only value of an array. Panics if there are none or several.
    pub fn of(array: ArrayRef) -> Self {
        assert_eq!(array.len(), 1, "values of a parameter");
        let oid = column_type_of_arrow(array.data_type()).map_or(0, |column_type| sql_type_of(column_type).id.0);
        let value = match array.is_null(0) {
            true => Some(Value::Null),
            false => ScalarValue::try_from_array(&array, 0)
                .ok()
                .and_then(|scalar| text_of(&scalar).ok())
                .and_then(|text| value_of_text(TypeId(oid), &text).ok()),
        };
        Self { oid, value, array: Some(array) }
    }

    /// A value of the type with this oid that a client has sent, `None` for null; `array` has it as its only value, if Arrow knows the
    /// type.
    ///
    /// # Errors
    /// For what is no value of the type; as unsupported (0A000) for a type that neither Arrow nor Braid has values of.
    pub(crate) fn read(
        oid: u32,
        sent: Option<SentValue<'_>>,
        array: Option<ArrayRef>,
        session: &dyn SessionFacts,
    ) -> Result<Self, EngineError> {
        let id = TypeId(oid);
        let value = match sent {
            None => Ok(Value::Null),
            Some(SentValue::Binary(bytes)) => receive(id, bytes),
            Some(SentValue::Text(bytes)) => {
                receive(TypeId::TEXT, bytes).and_then(|text| value_of_input(id, text.as_text(), session))
            }
        };
        match value {
            Ok(value) => Ok(Self { oid, value: Some(value), array }),
            Err(error) if error.state() == SqlState::FeatureNotSupported && array.is_some() => {
                Ok(Self { oid, value: None, array })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The null of a type.
    pub fn null(data_type: &DataType) -> Self {
        Self::of(new_null_array(data_type, 1))
    }

    /// `pg_type.oid` of its type.
    pub(crate) fn oid(&self) -> u32 {
        self.oid
    }

    /// The value as PostgreSQL's type has it; `None` if it is known to Arrow only.
    pub(crate) fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The array that it is the only value of.
    pub fn array(&self) -> Option<&ArrayRef> {
        self.array.as_ref()
    }

    /// The value as DataFusion has it.
    pub(crate) fn scalar(&self) -> Result<ScalarValue, EngineError> {
        let unsupported =
            || EngineError::unsupported(format!("parameters of the type with oid {} are not supported here", self.oid));
        Ok(ScalarValue::try_from_array(self.array.as_ref().ok_or_else(unsupported)?, 0)?)
    }
}
