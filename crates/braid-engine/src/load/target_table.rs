//! The existing table that files are appended to: which of its columns theirs are.

use braid_storage::{ColumnType, TableDef};

use super::parquet_columns::{FileColumn, sql_name};
use super::planned_column::PlannedColumn;
use crate::{EngineError, SqlState};

/// The table's columns that data is loaded into.
pub(super) struct TargetTable {
    name: String,
    columns: Vec<TargetColumn>,
}

struct TargetColumn {
    name: String,
    column_type: ColumnType,
}

impl TargetTable {
    /// The table of a definition. Generated columns are computed, not loaded.
    pub fn of(def: &TableDef) -> Self {
        let loaded = def.columns.iter().filter(|column| column.generated.is_none());
        let column = |column: &braid_storage::ColumnDef| TargetColumn {
            name: column.name.clone(),
            column_type: column.column_type,
        };
        Self { name: def.name.clone(), columns: loaded.map(column).collect() }
    }

    /// The columns of a file of text: by their names, or without a header by their order.
    ///
    /// # Errors
    /// For names that the table has not (42703), and another number of columns (42804).
    pub fn columns_of(
        &self,
        names: &[String],
        has_header: bool,
        file: &str,
    ) -> Result<Vec<PlannedColumn>, EngineError> {
        if has_header {
            return names.iter().map(|name| Ok(planned(self.named(name, file)?))).collect();
        }
        if names.len() != self.columns.len() {
            let (found, wanted) = (names.len(), self.columns.len());
            let message =
                format!("file \"{file}\" has {found} columns and no header, but table \"{}\" has {wanted}", self.name);
            return Err(EngineError::new(SqlState::DatatypeMismatch, message).with_detail(self.listed()));
        }
        Ok(self.columns.iter().map(planned).collect())
    }

    /// The columns of a Parquet file, by their names. No value may be lost.
    ///
    /// # Errors
    /// For names that the table has not (42703), and types that do not fit into the table's (42804).
    pub fn columns_of_parquet(&self, columns: &[FileColumn], file: &str) -> Result<Vec<PlannedColumn>, EngineError> {
        let column = |found: &FileColumn| {
            let target = self.named(&found.name, file)?;
            if fits_into(found.column_type, target.column_type) {
                return Ok(planned(target));
            }
            let (found_type, target_type) = (sql_name(found.column_type), sql_name(target.column_type));
            let message = format!(
                "column \"{}\" of file \"{file}\" is {found_type}, which does not fit into the table's {target_type}",
                found.name
            );
            Err(EngineError::new(SqlState::DatatypeMismatch, message)
                .with_hint("COPY table FROM 'file' (FORMAT parquet) converts as INSERT does."))
        };
        columns.iter().map(column).collect()
    }

    fn named(&self, name: &str, file: &str) -> Result<&TargetColumn, EngineError> {
        let exact = self.columns.iter().find(|column| column.name == name);
        let found = exact.or_else(|| self.columns.iter().find(|column| column.name.to_lowercase() == name));
        found.ok_or_else(|| {
            let message = format!("column \"{name}\" of file \"{file}\" is not in table \"{}\"", self.name);
            EngineError::new(SqlState::UndefinedColumn, message).with_detail(self.listed())
        })
    }

    fn listed(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        format!("The table's columns are: {}.", names.join(", "))
    }
}

fn planned(column: &TargetColumn) -> PlannedColumn {
    let is_text = matches!(
        column.column_type,
        ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::UnlimitedVarchar
            | ColumnType::Char(_)
            | ColumnType::Name
    );
    PlannedColumn {
        name: column.name.clone(),
        sql_type: sql_name(column.column_type),
        why: "the table's column".to_owned(),
        is_nullable: true,
        is_text,
        expected: None,
    }
}

/// Whether every value of a type is one of another, or is refused where it is none.
fn fits_into(source: ColumnType, target: ColumnType) -> bool {
    use ColumnType::*;
    let integer_bytes = |column_type: ColumnType| match column_type {
        SmallInt => Some(2),
        Integer => Some(4),
        BigInt => Some(8),
        _ => None,
    };
    if source == target
        || target.is_encoded_numeric() && (integer_bytes(source).is_some() || matches!(source, Numeric { .. }))
    {
        return true;
    }
    match (source, target) {
        (SmallInt | Integer | BigInt, SmallInt | Integer | BigInt) => integer_bytes(source) <= integer_bytes(target),
        (SmallInt | Integer | BigInt, Numeric { .. }) | (SmallInt | Integer | Real, Double) | (SmallInt, Real) => true,
        (Numeric { scale: from, .. }, Numeric { scale: into, .. }) => from <= into,
        (Date, Timestamp) => true,
        // What is too long or no label is refused.
        (Text, Varchar(_) | UnlimitedVarchar | Char(_) | Enum(_)) => true,
        _ => false,
    }
}
