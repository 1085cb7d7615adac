//! What can be wrong with a change of a table's columns.

use braid_base::SchemaId;

/// Most columns of a table, dropped ones included: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

/// The system columns of PostgreSQL's tables.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// Checks that a new name of a column is none of a system column.
///
/// # Errors
/// [`ColumnChangeError::SystemName`]
pub fn check_column_name(column: &str) -> Result<(), ColumnChangeError> {
    match SYSTEM_COLUMNS.contains(&column) {
        true => Err(ColumnChangeError::SystemName { column: column.to_owned() }),
        false => Ok(()),
    }
}

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
    /// A name that a column of every table has in PostgreSQL.
    #[error("column name \"{column}\" conflicts with a system column name")]
    SystemName {
        /// The name.
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
        /// The schema of the table.
        schema: SchemaId,
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
