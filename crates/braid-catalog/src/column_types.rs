//! Types of stored columns as PostgreSQL's types with modifiers.

use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;
use braid_storage::ColumnType;

/// PostgreSQL's type of a column.
pub fn sql_type_of(column_type: ColumnType) -> SqlType {
    match column_type {
        ColumnType::Boolean => SqlType::of(TypeId::BOOL),
        ColumnType::SmallInt => SqlType::of(TypeId::INT2),
        ColumnType::Integer => SqlType::of(TypeId::INT4),
        ColumnType::BigInt => SqlType::of(TypeId::INT8),
        ColumnType::Real => SqlType::of(TypeId::FLOAT4),
        ColumnType::Double => SqlType::of(TypeId::FLOAT8),
        ColumnType::Numeric { precision, scale } => SqlType::numeric(i32::from(precision), i32::from(scale)),
        ColumnType::Text => SqlType::of(TypeId::TEXT),
        ColumnType::Varchar(length) => with_length(TypeId::VARCHAR, length),
        ColumnType::Char(length) => with_length(TypeId::BPCHAR, length),
        ColumnType::Date => SqlType::of(TypeId::DATE),
        ColumnType::Timestamp => SqlType::of(TypeId::TIMESTAMP),
        ColumnType::TimestampTz => SqlType::of(TypeId::TIMESTAMPTZ),
        ColumnType::Interval => SqlType::of(TypeId::INTERVAL),
        ColumnType::Bytea => SqlType::of(TypeId::BYTEA),
        ColumnType::Uuid => SqlType::of(TypeId::UUID),
    }
}

/// Lengths are at most 10 485 760; a manifest that says more has the largest modifier.
fn with_length(id: TypeId, length: u32) -> SqlType {
    let length = i32::try_from(length).unwrap_or(i32::MAX).min(i32::MAX - 4);
    SqlType::with_length(id, length)
}
