//! Tables that are computed when a query reads them: Braid's own views of what the server does.
//!
//! They show the present, not a snapshot.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use braid_sql::pg_catalog::TypeId;
use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::{SqlError, SqlType, Value};

use crate::catalog::snapshot_catalog::SYSTEM_SCHEMA;
use crate::catalog::system_views::SystemView;

/// The number of the first computed table. Those of stored tables have 32 bits.
const FIRST_NUMBER: u64 = 1 << 32;

/// The computed tables of a database.
pub(super) struct ComputedTables<'a>(pub &'a [Arc<dyn SystemView>]);

impl ComputedTables<'_> {
    /// The table of this name, which is in schema `pg_catalog`.
    pub fn entry(&self, name: &str) -> Result<Option<TableEntry>, SqlError> {
        let Some(at) = self.0.iter().position(|view| view.name() == name) else { return Ok(None) };
        let schema = self.0[at].schema();
        let columns = schema.fields().iter().map(|field| {
            Ok(TableColumn { name: field.name().clone(), sql_type: SqlType::of(type_of(field.data_type())?) })
        });
        Ok(Some(TableEntry {
            id: FIRST_NUMBER + at as u64,
            schema: SYSTEM_SCHEMA.to_owned(),
            name: name.to_owned(),
            columns: columns.collect::<Result<Vec<_>, SqlError>>()?,
            primary_key: Vec::new(),
        }))
    }

    /// The rows of a table with some of its columns; `None` if the number is a stored table's.
    pub fn rows(&self, table: u64, columns: &[usize]) -> Result<Option<Vec<Vec<Value>>>, SqlError> {
        let Some(at) = table.checked_sub(FIRST_NUMBER) else { return Ok(None) };
        let view = self.0.get(at as usize).ok_or_else(|| SqlError::unsupported(format!("table {table} is gone")))?;
        let arrays = view.columns();
        let row_count = arrays.first().map_or(0, |array| array.len());
        let row = |row| columns.iter().map(|column| value(&*arrays[*column], row)).collect();
        (0..row_count).map(row).collect::<Result<Vec<_>, _>>().map(Some)
    }
}

fn type_of(data_type: &DataType) -> Result<TypeId, SqlError> {
    match data_type {
        DataType::Int64 => Ok(TypeId::INT8),
        DataType::Float64 => Ok(TypeId::FLOAT8),
        DataType::Utf8 => Ok(TypeId::TEXT),
        other => Err(SqlError::unsupported(format!("views with columns of {other} are not supported"))),
    }
}

fn value(array: &dyn Array, row: usize) -> Result<Value, SqlError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match type_of(array.data_type())? {
        TypeId::INT8 => Value::Int8(array.as_primitive::<Int64Type>().value(row)),
        TypeId::FLOAT8 => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        _ => Value::text(array.as_string::<i32>().value(row)),
    })
}
