//! Conversion of vectors to Arrow arrays and back, at the edges of a plan and for expressions of other crates.
//!
//! Only Arrow's type holds the meaning of a number. The conversion to an array therefore takes the type as an argument, and
//! the type of an array decides whether it can become a vector.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray,
    StringViewArray, new_null_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use arrow::error::ArrowError;
use braid_base::one_nan;

use crate::Vector;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::Values;

/// Whether columns of this type can be vectors.
pub fn is_supported(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Null
            | DataType::Boolean
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::Timestamp(_, _)
            | DataType::Decimal128(_, _)
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    )
}

impl Vector {
    /// The values as an array of a type of their kind.
    ///
    /// # Errors
    /// When a value does not fit the type: a number out of its range, text that is not UTF-8.
    pub fn to_array(&self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        if let (Some(valid), Values::Int(_)) = (self.valid(), self.values())
            && valid.iter().all(|valid| !valid)
        {
            // A vector of nulls only converts to every type.
            return Ok(new_null_array(data_type, self.len()));
        }
        let nulls = self.valid().map(|valid| NullBuffer::new(BooleanBuffer::from_iter(valid.iter().copied())));
        Ok(match data_type {
            DataType::Boolean => match self.values() {
                Values::Bool(values) => {
                    Arc::new(BooleanArray::new(BooleanBuffer::from_iter(values.iter().copied()), nulls))
                }
                _ => return Err(mismatch(data_type)),
            },
            DataType::Int16 => self.narrowed::<Int16Type>(data_type, nulls)?,
            DataType::Int32 => self.narrowed::<Int32Type>(data_type, nulls)?,
            DataType::Int64 => self.narrowed::<Int64Type>(data_type, nulls)?,
            DataType::UInt64 => self.narrowed::<UInt64Type>(data_type, nulls)?,
            DataType::Date32 => self.narrowed::<Date32Type>(data_type, nulls)?,
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => self.narrowed::<TimestampSecondType>(data_type, nulls)?,
                TimeUnit::Millisecond => self.narrowed::<TimestampMillisecondType>(data_type, nulls)?,
                TimeUnit::Microsecond => self.narrowed::<TimestampMicrosecondType>(data_type, nulls)?,
                TimeUnit::Nanosecond => self.narrowed::<TimestampNanosecondType>(data_type, nulls)?,
            },
            DataType::Decimal128(_, _) => self.narrowed::<Decimal128Type>(data_type, nulls)?,
            DataType::Float32 => match self.values() {
                Values::Float(values) => {
                    let values: Vec<f32> = values.iter().map(|value| one_nan(*value) as f32).collect();
                    Arc::new(PrimitiveArray::<Float32Type>::new(values.into(), nulls))
                }
                _ => return Err(mismatch(data_type)),
            },
            DataType::Float64 => match self.values() {
                Values::Float(values) => {
                    let values: Vec<f64> = values.iter().copied().map(one_nan).collect();
                    Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), nulls))
                }
                _ => return Err(mismatch(data_type)),
            },
            DataType::Utf8View => self.string_views(nulls)?,
            DataType::BinaryView => self.byte_views(nulls)?,
            DataType::Utf8 | DataType::LargeUtf8 => cast(&self.string_views(nulls)?, data_type)?,
            DataType::Binary | DataType::LargeBinary => cast(&self.byte_views(nulls)?, data_type)?,
            DataType::FixedSizeBinary(width) => self.fixed_size(*width, nulls)?,
            _ => return Err(mismatch(data_type)),
        })
    }

    fn narrowed<T>(&self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError>
    where
        T: ArrowPrimitiveType<Native: TryFrom<i64> + TryFrom<i128> + Default>,
    {
        let out_of_range = || ArrowError::ComputeError(format!("a value does not fit {data_type}"));
        let fits = |row: usize, value: Option<T::Native>| match value {
            Some(value) => Some(value),
            // The value under a null is undefined.
            None => (!self.is_valid(row)).then(T::Native::default),
        };
        let values: Option<Vec<T::Native>> = match self.values() {
            Values::Int(values) => {
                values.iter().enumerate().map(|(row, value)| fits(row, T::Native::try_from(*value).ok())).collect()
            }
            Values::Int128(values) => {
                values.iter().enumerate().map(|(row, value)| fits(row, T::Native::try_from(*value).ok())).collect()
            }
            _ => return Err(mismatch(data_type)),
        };
        let values: ScalarBuffer<T::Native> = values.ok_or_else(out_of_range)?.into();
        Ok(Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type.clone())))
    }

    fn views(&self) -> Result<(ScalarBuffer<u128>, Vec<arrow::buffer::Buffer>), ArrowError> {
        let (views, buffers) = match self.values() {
            Values::Bytes(strings) => strings.to_views(),
            Values::Coded(coded) => coded.dictionary.take(&coded.codes).to_views(),
            _ => return Err(mismatch(&DataType::Utf8View)),
        };
        Ok((views.into(), buffers))
    }

    fn string_views(&self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let (views, buffers) = self.views()?;
        Ok(Arc::new(StringViewArray::try_new(views, buffers, nulls)?))
    }

    fn byte_views(&self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let (views, buffers) = self.views()?;
        Ok(Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?))
    }

    fn fixed_size(&self, width: i32, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let mut bytes = vec![0; self.len() * width as usize];
        for (row, to) in bytes.chunks_exact_mut(width as usize).enumerate() {
            let string = match self.values() {
                Values::Bytes(strings) => strings.get(row),
                Values::Coded(coded) => coded.get(row),
                _ => return Err(mismatch(&DataType::FixedSizeBinary(width))),
            };
            if self.is_valid(row) {
                to.copy_from_slice(string);
            }
        }
        Ok(Arc::new(FixedSizeBinaryArray::try_new(width, bytes.into(), nulls)?))
    }

    /// The values of an array; `None` when its type is not [supported](is_supported).
    pub fn from_array(array: &ArrayRef) -> Option<Self> {
        let values = match array.data_type() {
            DataType::Null => return Some(Self::repeat(None, array.len())),
            DataType::Boolean => Values::Bool(array.as_boolean().values().iter().collect()),
            DataType::Int16 => integers::<Int16Type>(array),
            DataType::Int32 => integers::<Int32Type>(array),
            DataType::Int64 => integers::<Int64Type>(array),
            DataType::UInt64 => wide(array.as_primitive::<UInt64Type>().values().iter().map(|v| i128::from(*v))),
            DataType::Date32 => integers::<Date32Type>(array),
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => integers::<TimestampSecondType>(array),
                TimeUnit::Millisecond => integers::<TimestampMillisecondType>(array),
                TimeUnit::Microsecond => integers::<TimestampMicrosecondType>(array),
                TimeUnit::Nanosecond => integers::<TimestampNanosecondType>(array),
            },
            DataType::Decimal128(_, _) => wide(array.as_primitive::<Decimal128Type>().values().iter().copied()),
            DataType::Float32 => {
                Values::Float(array.as_primitive::<Float32Type>().values().iter().map(|v| f64::from(*v)).collect())
            }
            DataType::Float64 => Values::Float(array.as_primitive::<Float64Type>().values().to_vec()),
            DataType::Utf8View => {
                let array = array.as_string_view();
                Values::Bytes(ByteStrings::from_views(array.views(), array.data_buffers().to_vec()))
            }
            DataType::BinaryView => {
                let array = array.as_binary_view();
                Values::Bytes(ByteStrings::from_views(array.views(), array.data_buffers().to_vec()))
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Values::Bytes(ByteStrings::from_strings((0..array.len()).map(|row| array.value(row).as_bytes())))
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Values::Bytes(ByteStrings::from_strings((0..array.len()).map(|row| array.value(row).as_bytes())))
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Values::Bytes(ByteStrings::from_strings((0..array.len()).map(|row| array.value(row))))
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Values::Bytes(ByteStrings::from_strings((0..array.len()).map(|row| array.value(row))))
            }
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Values::Bytes(ByteStrings::from_strings((0..array.len()).map(|row| array.value(row))))
            }
            _ => return None,
        };
        let valid = array.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.iter().collect());
        Some(Self::new(values, valid))
    }
}

fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Values {
    Values::Int(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect())
}

/// Integers of 64 bits if all values fit, otherwise of 128 bits.
fn wide(values: impl Iterator<Item = i128> + Clone) -> Values {
    let narrow: Option<Vec<i64>> = values.clone().map(|value| i64::try_from(value).ok()).collect();
    narrow.map_or_else(|| Values::Int128(values.collect()), Values::Int)
}

fn mismatch(data_type: &DataType) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("a vector of another kind than {data_type}"))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Int32Array};

    use super::*;

    fn there_and_back(array: ArrayRef) {
        let vector = Vector::from_array(&array).expect("the type is supported");
        let back = vector.to_array(array.data_type()).expect("what came from the type fits it");
        assert_eq!(&back, &array);
    }

    #[test]
    fn arrays_come_back_as_they_were() {
        let long = "a string of more than twelve bytes";
        there_and_back(Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(7)])));
        there_and_back(Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])));
        let decimals = Decimal128Array::from(vec![Some(i128::MAX), Some(-3), None]);
        there_and_back(Arc::new(decimals.with_data_type(DataType::Decimal128(38, 4))));
        there_and_back(Arc::new(StringViewArray::from(vec![Some("a"), None, Some(long), Some("")])));
        for data_type in [DataType::Utf8, DataType::LargeUtf8, DataType::BinaryView, DataType::LargeBinary] {
            let strings: ArrayRef = Arc::new(StringViewArray::from(vec![Some(long), None, Some("")]));
            there_and_back(cast(&strings, &data_type).expect("strings are bytes"));
        }
        for data_type in [DataType::Float32, DataType::Date32, DataType::Timestamp(TimeUnit::Second, None)] {
            there_and_back(cast(&Int32Array::from(vec![Some(-5), None]), &data_type).expect("numbers"));
        }
        there_and_back(new_null_array(&DataType::Utf8View, 3));
        there_and_back(new_null_array(&DataType::FixedSizeBinary(16), 2));
    }

    #[test]
    fn what_does_not_fit_is_an_error_unless_it_is_null() {
        let vector = Vector::integers(vec![1 << 40]);
        assert!(vector.to_array(&DataType::Int32).is_err());
        assert!(vector.to_array(&DataType::Utf8View).is_err());
        let null = Vector::new(Values::Int(vec![1 << 40, 1]), Some(vec![false, true]));
        assert_eq!(null.to_array(&DataType::Int32).unwrap().null_count(), 1);
    }
}
