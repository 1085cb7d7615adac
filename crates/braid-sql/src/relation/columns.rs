//! The columns of a statement.

use std::fmt;
use std::sync::Arc;

use crate::SqlType;
use crate::values::RecordType;

/// The number of a column in its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

impl fmt::Display for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What is known of all columns of a statement.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    columns: Vec<(String, SqlType)>,
    record_types: Vec<Arc<RecordType>>,
}

impl Columns {
    /// A new column.
    pub fn add(&mut self, name: impl Into<String>, sql_type: SqlType) -> ColumnId {
        let id = u32::try_from(self.columns.len()).expect("the length of a statement bounds its columns");
        self.columns.push((name.into(), sql_type));
        ColumnId(id)
    }

    /// A new column like another one.
    pub fn add_like(&mut self, other: ColumnId) -> ColumnId {
        let (name, sql_type) = self.columns[other.0 as usize].clone();
        self.add(name, sql_type)
    }

    /// What the column was called where it was made; for messages and plans.
    pub fn name(&self, column: ColumnId) -> &str {
        &self.columns[column.0 as usize].0
    }

    /// The fields of a column's records, if it has records of which they are known.
    pub fn record_type(&self, column: ColumnId) -> Option<&Arc<RecordType>> {
        let number = self.sql_type(column).record_number()?;
        self.record_types.get(usize::try_from(number).ok()?)
    }

    /// Adds what is known of the records of the statement, by their numbers.
    pub(crate) fn with_record_types(self, record_types: Vec<Arc<RecordType>>) -> Self {
        Self { record_types, ..self }
    }

    /// The type of a column.
    pub fn sql_type(&self, column: ColumnId) -> SqlType {
        self.columns[column.0 as usize].1
    }
}
