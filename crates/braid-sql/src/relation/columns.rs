//! The columns of a statement.

use std::fmt;

use crate::SqlType;

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
pub struct Columns(Vec<(String, SqlType)>);

impl Columns {
    /// A new column.
    pub fn add(&mut self, name: impl Into<String>, sql_type: SqlType) -> ColumnId {
        let id = u32::try_from(self.0.len()).expect("the length of a statement bounds its columns");
        self.0.push((name.into(), sql_type));
        ColumnId(id)
    }

    /// A new column like another one.
    pub fn add_like(&mut self, other: ColumnId) -> ColumnId {
        let (name, sql_type) = self.0[other.0 as usize].clone();
        self.add(name, sql_type)
    }

    /// What the column was called where it was made; for messages and plans.
    pub fn name(&self, column: ColumnId) -> &str {
        &self.0[column.0 as usize].0
    }

    /// The type of a column.
    pub fn sql_type(&self, column: ColumnId) -> SqlType {
        self.0[column.0 as usize].1
    }
}
