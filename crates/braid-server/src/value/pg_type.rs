//! The PostgreSQL type of an Arrow type on the wire.
//!
//! | Arrow | PostgreSQL |
//! |---|---|
//! | Boolean | bool |
//! | Int8, Int16, UInt8 | int2 |
//! | Int32, UInt16 | int4 |
//! | Int64, UInt32, UInt64 | int8 (a UInt64 above 2^63 - 1 is an error, not another number) |
//! | Float16, Float32 | float4 |
//! | Float64 | float8 |
//! | Decimal32 … Decimal256 | numeric |
//! | Utf8, LargeUtf8, Utf8View, Null, all other types | text |
//! | Binary…, FixedSizeBinary | bytea; of 16 bytes: uuid |
//! | Date32, Date64 | date |
//! | Time32, Time64 | time |
//! | Timestamp without, with zone | timestamp, timestamptz |
//! | Interval, Duration | interval |
//! | List… | the array of the element's type |
//! | Struct | record |

use arrow::datatypes::DataType;

/// A type of PostgreSQL's catalog that an Arrow type is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PgType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_type.oid` of the array type; 0 without an array type.
    pub array_oid: u32,
    /// `pg_type.typlen`: bytes, or -1 for variable lengths.
    pub length: i16,
    /// The name in error messages.
    pub name: &'static str,
}

macro_rules! pg_types {
    ($($name:ident = $oid:literal, $array_oid:literal, $length:literal, $text:literal;)*) => {
        $(
            pub(crate) const $name: PgType =
                PgType { oid: $oid, array_oid: $array_oid, length: $length, name: $text };
        )*
    };
}

pg_types! {
    BOOL = 16, 1000, 1, "boolean";
    BYTEA = 17, 1001, -1, "bytea";
    INT8 = 20, 1016, 8, "bigint";
    INT2 = 21, 1005, 2, "smallint";
    INT4 = 23, 1007, 4, "integer";
    TEXT = 25, 1009, -1, "text";
    FLOAT4 = 700, 1021, 4, "real";
    FLOAT8 = 701, 1022, 8, "double precision";
    UNKNOWN = 705, 0, -2, "unknown";
    DATE = 1082, 1182, 4, "date";
    TIME = 1083, 1183, 8, "time";
    TIMESTAMP = 1114, 1115, 8, "timestamp";
    TIMESTAMPTZ = 1184, 1185, 8, "timestamp with time zone";
    INTERVAL = 1186, 1187, 16, "interval";
    NUMERIC = 1700, 1231, -1, "numeric";
    RECORD = 2249, 2287, -1, "record";
    UUID = 2950, 2951, 16, "uuid";
}

impl PgType {
    /// The type of `data_type` on the wire; for lists, that of the innermost element.
    fn of_scalar(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => BOOL,
            DataType::Int8 | DataType::Int16 | DataType::UInt8 => INT2,
            DataType::Int32 | DataType::UInt16 => INT4,
            DataType::Int64 | DataType::UInt32 | DataType::UInt64 => INT8,
            DataType::Float16 | DataType::Float32 => FLOAT4,
            DataType::Float64 => FLOAT8,
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
                NUMERIC
            }
            DataType::FixedSizeBinary(16) => UUID,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => BYTEA,
            DataType::Date32 | DataType::Date64 => DATE,
            DataType::Time32(_) | DataType::Time64(_) => TIME,
            DataType::Timestamp(_, None) => TIMESTAMP,
            DataType::Timestamp(_, Some(_)) => TIMESTAMPTZ,
            DataType::Interval(_) | DataType::Duration(_) => INTERVAL,
            DataType::Struct(_) => RECORD,
            DataType::Dictionary(_, values) => Self::of_scalar(values),
            DataType::RunEndEncoded(_, values) => Self::of_scalar(values.data_type()),
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                Self::of_scalar(field.data_type())
            }
            _ => TEXT,
        }
    }

    /// The type whose oid a RowDescription or ParameterDescription names: `(oid, length)`.
    pub fn described(data_type: &DataType) -> (u32, i16) {
        let scalar = Self::of_scalar(data_type);
        match data_type {
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => (scalar.array_oid, -1),
            _ => (scalar.oid, scalar.length),
        }
    }

    /// The innermost element type of a list, or the type itself.
    pub fn innermost(data_type: &DataType) -> Self {
        Self::of_scalar(data_type)
    }
}

/// PostgreSQL's type modifier: precision and scale of a numeric, -1 for everything else.
pub(crate) fn type_modifier(data_type: &DataType) -> i32 {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale)
            if *scale >= 0 =>
        {
            // `numeric_typmod` in PostgreSQL: precision and scale packed above VARHDRSZ, which is 4.
            (i32::from(*precision) << 16 | i32::from(*scale)) + 4
        }
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn lists_are_arrays_of_their_innermost_element() {
        let list = |t: DataType| DataType::List(Arc::new(Field::new("item", t, true)));
        for (data_type, expected) in [
            (DataType::UInt64, (20, 8)),
            (DataType::Null, (25, -1)),
            (DataType::FixedSizeBinary(16), (2950, 16)),
            (DataType::FixedSizeBinary(15), (17, -1)),
            (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), (25, -1)),
            (list(DataType::Int32), (1007, -1)),
            (list(list(DataType::Utf8)), (1009, -1)),
        ] {
            assert_eq!(PgType::described(&data_type), expected, "{data_type}");
        }
    }

    #[test]
    fn the_modifier_holds_precision_and_scale() {
        // `select atttypmod` of a numeric(15,2) column in PostgreSQL.
        assert_eq!(type_modifier(&DataType::Decimal128(15, 2)), 983_046);
        assert_eq!(type_modifier(&DataType::Int32), -1);
    }
}
