//! What can be wrong with a change of a table's columns.

/// Most columns of a table, dropped ones included: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

/// Why the columns of a table cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnChangeError {
    /// A second column of a name.
    #[error("column \"{column}\" of relation \"{table}\" already exists")]
    Exists {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// No column of the name.
    #[error("column \"{column}\" of relation \"{table}\" does not exist")]
    Unknown {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// Too many columns, dropped ones included.
    #[error("tables can have at most {COLUMNS_MAX} columns")]
    TooMany,
    /// A column without nulls and without a value for the rows that are there.
    #[error("column \"{column}\" of relation \"{table}\" contains null values")]
    ContainsNulls {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The only column: Braid has no tables without columns.
    #[error(
        "column \"{column}\" is the only column of relation \"{table}\", and tables without columns are not supported"
    )]
    IsOnly {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A definition that makes no sense.
    #[error("column \"{column}\" cannot be added to relation \"{table}\": {reason}")]
    Invalid {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What is wrong, with the limit.
        reason: String,
    },
}
