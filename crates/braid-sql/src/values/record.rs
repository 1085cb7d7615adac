//! Records: rows as values, which know the names and types of their fields.

use std::sync::Arc;

use super::value::Value;
use crate::sql_type::SqlType;

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordField {
    /// Its name: `f1`, `f2`, … where nothing names it.
    pub name: Arc<str>,
    /// The type of its values. A literal in a row stays of type `unknown`.
    pub sql_type: SqlType,
}

/// What records of one origin have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordType {
    /// The fields in order.
    pub fields: Vec<RecordField>,
}

impl RecordType {
    /// Fields that nothing names.
    pub fn unnamed(types: impl IntoIterator<Item = SqlType>) -> Self {
        let named = types.into_iter().enumerate();
        let fields = named.map(|(at, sql_type)| RecordField { name: format!("f{}", at + 1).into(), sql_type });
        Self { fields: fields.collect() }
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordValue {
    /// Its fields.
    pub record_type: Arc<RecordType>,
    /// Their values, nulls included.
    pub values: Vec<Value>,
}

impl RecordValue {
    /// Values with their types.
    pub fn typed_values(&self) -> impl Iterator<Item = (&Value, SqlType)> {
        self.values.iter().zip(self.record_type.fields.iter().map(|field| field.sql_type))
    }
}
