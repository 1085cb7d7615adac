//! Which values a column can have in rows that were there before it (see [`crate::missing_segments`]).

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;

use crate::segment::encode_segment;
use crate::types::NUMERIC_PRECISION_MAX;
use crate::{ColumnType, PhysicalType, Scalar, Segment, SegmentError};

/// Longest missing value, in bytes: it is written with every manifest and kept in memory for chunks of each length.
pub const MISSING_BYTES_MAX: usize = 65_536;

/// Bytes of a uuid.
const UUID_BYTES: usize = 16;

/// The first value of an array of a column of this type, as a missing value; `None` for null.
///
/// # Errors
/// When the array is not of the column's type.
pub fn missing_value_of(array: &dyn Array, column_type: ColumnType) -> Result<Option<Scalar>, SegmentError> {
    let first = array.slice(0, 1);
    if let (ColumnType::Encoded { .. }, false) = (column_type, first.is_null(0)) {
        return Ok(first.as_binary_view_opt().map(|bytes| Scalar::Bytes(bytes.value(0).to_vec())));
    }
    let encoded = encode_segment(first.as_ref(), column_type)?;
    Ok(Segment::open(encoded.bytes.into(), column_type)?.value(0))
}

/// Why a value cannot be that of a column of this type; `None` if it can.
pub(crate) fn why_unfit(value: &Scalar, column_type: ColumnType) -> Option<String> {
    if let Scalar::Bytes(bytes) = value
        && bytes.len() > MISSING_BYTES_MAX
    {
        return Some(format!("has {} bytes; it can have {MISSING_BYTES_MAX} bytes", bytes.len()));
    }
    (!fits(value, column_type)).then(|| format!("is no value of type {column_type}"))
}

fn fits(value: &Scalar, column_type: ColumnType) -> bool {
    let is_text = column_type.arrow() == DataType::Utf8View;
    match (value, column_type.physical()) {
        (Scalar::Int(value), PhysicalType::Int) => integer_fits(*value, column_type),
        (Scalar::Int128(value), PhysicalType::Int128) => decimal_fits(*value, column_type),
        (Scalar::Bytes(bytes), PhysicalType::Bytes) if column_type == ColumnType::Uuid => bytes.len() == UUID_BYTES,
        (Scalar::Bytes(bytes), PhysicalType::Bytes) => !is_text || std::str::from_utf8(bytes).is_ok(),
        (Scalar::Float(value), PhysicalType::Float32) => value.is_nan() || f64::from(*value as f32) == *value,
        (Scalar::Bool(_), PhysicalType::Bool)
        | (Scalar::Float(_), PhysicalType::Float64)
        | (Scalar::Interval(..), PhysicalType::Interval) => true,
        _ => false,
    }
}

fn integer_fits(value: i64, column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::SmallInt => i16::try_from(value).is_ok(),
        ColumnType::Integer | ColumnType::Date => i32::try_from(value).is_ok(),
        _ => decimal_fits(value.into(), column_type),
    }
}

fn decimal_fits(value: i128, column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Numeric { precision, .. } => {
            value.unsigned_abs() < 10_u128.pow(precision.min(NUMERIC_PRECISION_MAX).into())
        }
        _ => true,
    }
}
