//! The value of a parameter of a prepared statement, as a client sends it.

use arrow::array::{Array, ArrayRef};
use braid_catalog::column_types::sql_type_of;
use braid_sql::Value;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::text_input::{ReadingSession, value_of_input, value_of_text};
use braid_sql::input::binary::receive;
use braid_sql::pg_catalog::{TypeId, pg_catalog};

use crate::EngineError;
use crate::output::{BooleanStyle, ColumnOutput};
use crate::sql_types::column_type_of_arrow;

/// A value that a client sends.
#[derive(Clone, Copy, Debug)]
pub enum SentValue<'a> {
    /// As its type's input function reads it, in UTF-8.
    Text(&'a [u8]),
    /// As its type's receive function reads it.
    Binary(&'a [u8]),
}

/// The type with this oid, of the system or of the session's database.
pub(crate) fn type_of_oid(oid: u32, session: &dyn SessionFacts) -> Option<TypeId> {
    pg_catalog().type_of_oid(oid).or_else(|| session.objects()?.type_of_oid(oid))
}

/// A value of one of PostgreSQL's types, or its null.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterValue {
    oid: u32,
    value: Value,
}

impl ParameterValue {
    /// The first value of an array, as a value of the type of a column that stores it.
    ///
    /// # Errors
    /// As unsupported (0A000) for an array whose values no column stores.
    ///
    /// # Panics
    /// When the array is empty.
    pub fn of(array: &ArrayRef) -> Result<Self, EngineError> {
        let unsupported = || EngineError::unsupported(format!("no column stores values of {}", array.data_type()));
        let id = sql_type_of(column_type_of_arrow(array.data_type()).ok_or_else(unsupported)?).id;
        if array.is_null(0) {
            return Ok(Self { oid: id.0, value: Value::Null });
        }
        let mut text = String::new();
        ColumnOutput::new(array, ReadingSession::of_output(), BooleanStyle::Word)?.write(0, &mut text)?;
        Ok(Self { oid: id.0, value: value_of_text(id, &text)? })
    }

    /// A value of the type with this oid that a client has sent, `None` for null.
    ///
    /// # Errors
    /// For what is no value of the type; as unsupported (0A000) for a type without values here.
    pub(crate) fn read(oid: u32, sent: Option<SentValue<'_>>, session: &dyn SessionFacts) -> Result<Self, EngineError> {
        // The value of a type that does not exist is null or refused; its statement says which type does not exist.
        let id = type_of_oid(oid, session).unwrap_or(TypeId(0));
        let value = match sent {
            None => Value::Null,
            Some(SentValue::Binary(bytes)) => receive(id, bytes)?,
            Some(SentValue::Text(bytes)) => value_of_input(id, receive(TypeId::TEXT, bytes)?.as_text(), session)?,
        };
        Ok(Self { oid, value })
    }

    /// The null of the type with this oid.
    pub fn null(oid: u32) -> Self {
        Self { oid, value: Value::Null }
    }

    /// `pg_type.oid` of its type.
    pub(crate) fn oid(&self) -> u32 {
        self.oid
    }

    /// The value.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }
}
