//! The types of stored columns as PostgreSQL's types.

use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;
use braid_storage::ColumnType;

use crate::sql_types::NUMERIC_DEFAULT;

/// The type of a column's values.
pub(crate) fn sql_type_of(column_type: ColumnType) -> SqlType {
    match column_type {
        ColumnType::Boolean => SqlType::of(TypeId::BOOL),
        ColumnType::SmallInt => SqlType::of(TypeId::INT2),
        ColumnType::Integer => SqlType::of(TypeId::INT4),
        ColumnType::BigInt => SqlType::of(TypeId::INT8),
        ColumnType::Real => SqlType::of(TypeId::FLOAT4),
        ColumnType::Double => SqlType::of(TypeId::FLOAT8),
        NUMERIC_DEFAULT => SqlType::of(TypeId::NUMERIC),
        ColumnType::Numeric { precision, scale } => SqlType::numeric(precision.into(), scale.into()),
        ColumnType::Text => SqlType::of(TypeId::TEXT),
        ColumnType::Varchar(length) => SqlType::with_length(TypeId::VARCHAR, characters(length)),
        ColumnType::Char(length) => SqlType::with_length(TypeId::BPCHAR, characters(length)),
        ColumnType::Date => SqlType::of(TypeId::DATE),
        ColumnType::Timestamp => SqlType::of(TypeId::TIMESTAMP),
        ColumnType::TimestampTz => SqlType::of(TypeId::TIMESTAMPTZ),
        ColumnType::Interval => SqlType::of(TypeId::INTERVAL),
        ColumnType::Bytea => SqlType::of(TypeId::BYTEA),
        ColumnType::Uuid => SqlType::of(TypeId::UUID),
    }
}

fn characters(length: u32) -> i32 {
    i32::try_from(length).expect("the length of a column is at most 10485760")
}

/// The type of a column that stores values of a type; `None` if no column does.
pub(crate) fn column_type_of(sql_type: SqlType) -> Option<ColumnType> {
    Some(match sql_type.id {
        TypeId::BOOL => ColumnType::Boolean,
        TypeId::INT2 => ColumnType::SmallInt,
        TypeId::INT4 => ColumnType::Integer,
        TypeId::INT8 => ColumnType::BigInt,
        TypeId::FLOAT4 => ColumnType::Real,
        TypeId::FLOAT8 => ColumnType::Double,
        TypeId::NUMERIC => match sql_type.numeric_digits() {
            Some((precision @ 1..=38, scale @ 0..=38)) if scale <= precision => {
                ColumnType::Numeric { precision: precision as u8, scale: scale as u8 }
            }
            Some(_) => return None,
            None => NUMERIC_DEFAULT,
        },
        TypeId::TEXT => ColumnType::Text,
        TypeId::VARCHAR => length_of(sql_type).map_or(ColumnType::Text, ColumnType::Varchar),
        TypeId::BPCHAR => length_of(sql_type).map_or(ColumnType::Text, ColumnType::Char),
        TypeId::DATE => ColumnType::Date,
        TypeId::TIMESTAMP => ColumnType::Timestamp,
        TypeId::TIMESTAMPTZ => ColumnType::TimestampTz,
        TypeId::INTERVAL => ColumnType::Interval,
        TypeId::BYTEA => ColumnType::Bytea,
        TypeId::UUID => ColumnType::Uuid,
        _ => return None,
    })
}

fn length_of(sql_type: SqlType) -> Option<u32> {
    sql_type.length().and_then(|length| u32::try_from(length).ok())
}
