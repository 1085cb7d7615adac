//! The columns of Parquet files, as columns of a table.

use std::path::Path;

use arrow::datatypes::DataType;
use braid_catalog::column_types::sql_type_of;
use braid_sql::types::type_names::format_type;
use braid_storage::ColumnType;

use super::planned_column::PlannedColumn;
use crate::copy::parquet_file::ParquetFile;
use crate::sql_types::column_type_of;
use crate::{EngineError, SqlState};

/// A column of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileColumn {
    /// In lower case, as it would be in CREATE TABLE.
    pub name: String,
    pub column_type: ColumnType,
    pub is_nullable: bool,
    /// What the file says of it.
    file_type: DataType,
}

impl FileColumn {
    /// As a column of a new table.
    pub fn planned(self) -> PlannedColumn {
        PlannedColumn {
            name: self.name,
            sql_type: sql_name(self.column_type),
            why: format!("the file's type is {}", self.file_type),
            is_nullable: self.is_nullable,
            is_text: false,
            expected: None,
        }
    }
}

/// The name of a column's type.
pub(super) fn sql_name(column_type: ColumnType) -> String {
    format_type(sql_type_of(column_type))
}

/// The columns of a file.
///
/// # Errors
/// For a file that is no Parquet, and columns of types that tables have not (0A000).
pub(super) fn parquet_columns(name: &str) -> Result<Vec<FileColumn>, EngineError> {
    let file = ParquetFile::open(Path::new(name))?;
    let columns = file.schema().fields().iter().map(|field| {
        let column_type = match field.data_type() {
            DataType::Null => Some(ColumnType::Text),
            _ => column_type_of(field),
        };
        let column_type = column_type.ok_or_else(|| {
            let (column, data_type) = (field.name(), field.data_type());
            EngineError::unsupported(format!(
                "column \"{column}\" of file \"{name}\": type {data_type} is not supported"
            ))
        })?;
        Ok(FileColumn {
            name: field.name().to_lowercase(),
            column_type,
            is_nullable: field.is_nullable(),
            file_type: field.data_type().clone(),
        })
    });
    columns.collect()
}

/// Checks that a further file has the columns of the first one.
pub(super) fn check_same(
    first_name: &str,
    first: &[FileColumn],
    name: &str,
    columns: &[FileColumn],
) -> Result<(), EngineError> {
    let listed = |columns: &[FileColumn]| {
        let shown = columns.iter().map(|column| format!("{} {}", column.name, sql_name(column.column_type)));
        shown.collect::<Vec<_>>().join(", ")
    };
    let is_same = first.len() == columns.len()
        && first.iter().zip(columns).all(|(a, b)| (&a.name, a.column_type) == (&b.name, b.column_type));
    if is_same {
        return Ok(());
    }
    let message = format!("the columns of file \"{name}\" are not those of file \"{first_name}\"");
    let detail = format!("They are ({}), not ({}).", listed(columns), listed(first));
    Err(EngineError::new(SqlState::DatatypeMismatch, message).with_detail(detail))
}
