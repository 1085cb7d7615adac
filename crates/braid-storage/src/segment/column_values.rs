//! The values of an Arrow array in physical form, as encoders take them.
//!
//! A null row repeats the value of the previous row, or at the start the first value that is not null. This adds nothing to a
//! frame, a run, a dictionary or the bounds. (If strings are stored one by one, the encoder replaces them by empty strings.)

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};

use super::SegmentError;
use super::body::sixteen_bytes_of;
use crate::{ColumnType, PhysicalType};

/// The values of one segment to be, nulls filled.
pub(crate) enum ColumnValues<'a> {
    Bits(Vec<bool>),
    Integers(Vec<i64>),
    SixteenBytes(Vec<i128>),
    Floats32(Vec<f32>),
    Floats64(Vec<f64>),
    Strings(Vec<&'a [u8]>),
}

impl<'a> ColumnValues<'a> {
    /// The values of an array of the column's Arrow type that has at least one value that is not null.
    ///
    /// # Errors
    /// When a numeric does not fit the column.
    pub(crate) fn of(array: &'a dyn Array, column_type: ColumnType) -> Result<Self, SegmentError> {
        let nulls = array.logical_nulls();
        let nulls = nulls.as_ref();
        Ok(match column_type {
            ColumnType::Boolean => {
                let values = array.as_boolean().values().iter().collect();
                Self::Bits(filled(values, nulls))
            }
            ColumnType::SmallInt => Self::integers::<Int16Type>(array, nulls),
            ColumnType::Integer => Self::integers::<Int32Type>(array, nulls),
            ColumnType::BigInt | ColumnType::Enum(_) => Self::integers::<Int64Type>(array, nulls),
            ColumnType::Date => Self::integers::<Date32Type>(array, nulls),
            ColumnType::Time | ColumnType::RoundedTime(_) => Self::integers::<Time64MicrosecondType>(array, nulls),
            ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::RoundedTimestamp(_)
            | ColumnType::RoundedTimestampTz(_) => Self::integers::<TimestampMicrosecondType>(array, nulls),
            ColumnType::Real => Self::Floats32(filled(array.as_primitive::<Float32Type>().values().to_vec(), nulls)),
            ColumnType::Double => Self::Floats64(filled(array.as_primitive::<Float64Type>().values().to_vec(), nulls)),
            ColumnType::Numeric { .. } => {
                let values = filled(array.as_primitive::<Decimal128Type>().values().to_vec(), nulls);
                return Self::decimals(values, column_type);
            }
            ColumnType::Interval => {
                let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
                Self::SixteenBytes(filled(values.iter().map(|&v| sixteen_bytes_of(v)).collect(), nulls))
            }
            ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::UnlimitedVarchar
            | ColumnType::Char(_)
            | ColumnType::Name => {
                let strings = array.as_string_view();
                Self::Strings(filled((0..array.len()).map(|row| strings.value(row).as_bytes()).collect(), nulls))
            }
            ColumnType::Bytea | ColumnType::Encoded { .. } => {
                let strings = array.as_binary_view();
                Self::Strings(filled((0..array.len()).map(|row| strings.value(row)).collect(), nulls))
            }
            ColumnType::Uuid => {
                let uuids = array.as_fixed_size_binary();
                Self::Strings(filled((0..array.len()).map(|row| uuids.value(row)).collect(), nulls))
            }
        })
    }

    fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array, nulls: Option<&NullBuffer>) -> Self {
        let values = array.as_primitive::<T>().values().iter().map(|&value| value.into()).collect();
        Self::Integers(filled(values, nulls))
    }

    /// Decimals as 64-bit integers if all of them fit, at any precision.
    fn decimals(values: Vec<i128>, column_type: ColumnType) -> Result<Self, SegmentError> {
        match values.iter().position(|&value| i64::try_from(value).is_err()) {
            None => Ok(Self::Integers(values.iter().map(|&value| value as i64).collect())),
            // Arrow does not keep values within their precision.
            Some(row) if column_type.physical() == PhysicalType::Int => {
                Err(SegmentError::Numeric { row, value: values[row], column_type })
            }
            Some(_) => Ok(Self::SixteenBytes(values)),
        }
    }
}

/// `values` with each null row repeating the row before it.
fn filled<T: Copy>(mut values: Vec<T>, nulls: Option<&NullBuffer>) -> Vec<T> {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return values };
    let Some(first) = nulls.valid_indices().next() else { return values };
    let mut last = values[first];
    for (value, valid) in values.iter_mut().zip(nulls.iter()) {
        if valid {
            last = *value;
        } else {
            *value = last;
        }
    }
    values
}
