//! Properties of segments over all column types: what comes back is what went in, filters on encoded data say what
//! [`ColumnPredicate::matches`] says about values, and no bytes whatsoever make a reader panic.
//!
//! Data is made from a seed ([`columns`]), so that a failing case is a line: type, shape, rows, nulls, seed.

mod columns;
mod corruption;
mod properties;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};

use crate::{ColumnType, PhysicalType, Scalar};

/// One column of each type, with numerics of both widths.
pub(crate) const COLUMN_TYPES: [ColumnType; 25] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Numeric { precision: 12, scale: 2 },
    ColumnType::Numeric { precision: 18, scale: 0 },
    ColumnType::Numeric { precision: 38, scale: 10 },
    ColumnType::Text,
    ColumnType::Varchar(40),
    ColumnType::Char(10),
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Interval,
    ColumnType::Bytea,
    ColumnType::Uuid,
    ColumnType::UnlimitedVarchar,
    ColumnType::Name,
    ColumnType::Time,
    ColumnType::RoundedTime(2),
    ColumnType::RoundedTimestamp(0),
    ColumnType::RoundedTimestampTz(3),
    ColumnType::Encoded { type_oid: 3802, modifier: -1 },
];

/// The value of a row, straight from Arrow.
pub(crate) fn scalar_of(array: &dyn Array, row: usize, column_type: ColumnType) -> Option<Scalar> {
    if array.is_null(row) {
        return None;
    }
    Some(match column_type {
        ColumnType::Boolean => Scalar::Bool(array.as_boolean().value(row)),
        ColumnType::SmallInt => Scalar::Int(array.as_primitive::<Int16Type>().value(row).into()),
        ColumnType::Integer => Scalar::Int(array.as_primitive::<Int32Type>().value(row).into()),
        ColumnType::BigInt | ColumnType::Enum(_) => Scalar::Int(array.as_primitive::<Int64Type>().value(row)),
        ColumnType::Date => Scalar::Int(array.as_primitive::<Date32Type>().value(row).into()),
        ColumnType::Time | ColumnType::RoundedTime(_) => {
            Scalar::Int(array.as_primitive::<Time64MicrosecondType>().value(row))
        }
        ColumnType::Timestamp
        | ColumnType::TimestampTz
        | ColumnType::RoundedTimestamp(_)
        | ColumnType::RoundedTimestampTz(_) => Scalar::Int(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        ColumnType::Real => Scalar::Float(array.as_primitive::<Float32Type>().value(row).into()),
        ColumnType::Double => Scalar::Float(array.as_primitive::<Float64Type>().value(row)),
        ColumnType::Numeric { .. } => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            match column_type.physical() {
                PhysicalType::Int => Scalar::Int(i64::try_from(value).unwrap()),
                _ => Scalar::Int128(value),
            }
        }
        ColumnType::Interval => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Scalar::Interval(value.months, value.days, value.nanoseconds)
        }
        ColumnType::Text
        | ColumnType::Varchar(_)
        | ColumnType::UnlimitedVarchar
        | ColumnType::Char(_)
        | ColumnType::Name => Scalar::Bytes(array.as_string_view().value(row).as_bytes().to_vec()),
        ColumnType::Bytea | ColumnType::Encoded { .. } => Scalar::Bytes(array.as_binary_view().value(row).to_vec()),
        ColumnType::Uuid => Scalar::Bytes(array.as_fixed_size_binary().value(row).to_vec()),
    })
}
