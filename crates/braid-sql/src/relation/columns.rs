//! The columns of a statement.

use std::fmt;
use std::sync::Arc;

use braid_base::DomainTypeId;

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

#[derive(Clone, Debug)]
struct Column {
    name: String,
    sql_type: SqlType,
    domain: Option<DomainTypeId>,
}

/// What is known of all columns of a statement.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    columns: Vec<Column>,
    record_types: Vec<Arc<RecordType>>,
}

impl Columns {
    /// A new column.
    pub fn add(&mut self, name: impl Into<String>, sql_type: SqlType) -> ColumnId {
        let id = u32::try_from(self.columns.len()).expect("the length of a statement bounds its columns");
        self.columns.push(Column { name: name.into(), sql_type, domain: None });
        ColumnId(id)
    }

    /// A new column like another one.
    pub fn add_like(&mut self, other: ColumnId) -> ColumnId {
        let Column { name, sql_type, domain } = self.columns[other.0 as usize].clone();
        let id = self.add(name, sql_type);
        self.set_domain(id, domain);
        id
    }

    /// What the column was called where it was made; for messages and plans.
    pub fn name(&self, column: ColumnId) -> &str {
        &self.columns[column.0 as usize].name
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

    /// The domain that a column is declared with. Its type is the domain's base type.
    pub fn domain(&self, column: ColumnId) -> Option<DomainTypeId> {
        self.columns[column.0 as usize].domain
    }

    /// Says what domain a column is declared with.
    pub(crate) fn set_domain(&mut self, column: ColumnId, domain: Option<DomainTypeId>) {
        self.columns[column.0 as usize].domain = domain;
    }

    /// The type of a column.
    pub fn sql_type(&self, column: ColumnId) -> SqlType {
        self.columns[column.0 as usize].sql_type
    }
}
