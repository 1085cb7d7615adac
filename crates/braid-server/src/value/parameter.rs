//! Parameters of prepared statements: bytes from Bind into values for the engine.
//!
//! A parameter has the type that the client declared in Parse, or, where it declared none (or one that Braid does not
//! know), the type that the engine inferred from the statement. Declared types keep their own width: a numeric keeps
//! the scale it was sent with, so that comparing with it never rounds it. Arrays are read in one dimension.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, ListArray, PrimitiveArray, StringArray, new_empty_array,
    new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options, concat};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field};
use braid_engine::ParameterType;

use super::pg_type::{NUMERIC, PgType, UNKNOWN};
use super::{Format, ValueError, parameter_binary, parameter_text};

/// The type that a client declared for a parameter, for the engine; `None` means inference.
pub(crate) fn declared_type(oid: u32) -> Option<DataType> {
    match PgType::element_of(oid) {
        Some(element) => element.parameter_type().map(|t| DataType::new_list(t, true)),
        None => PgType::by_oid(oid)?.parameter_type(),
    }
}

/// The same for the description of a statement, where no value tells the scale of a numeric: a numeric without a precision. `None` if the
/// client has declared nothing.
pub(crate) fn declared(oid: u32) -> Option<ParameterType> {
    let data_type = declared_type(oid).or_else(|| (oid == NUMERIC.oid).then_some(DataType::Decimal128(38, 10)));
    (oid != 0 && oid != UNKNOWN.oid).then_some(ParameterType { oid, data_type })
}

/// The oid that describes a parameter: as the engine says, or as declared, otherwise as inferred.
pub(crate) fn described_oid(declared: u32, inferred: &ParameterType) -> u32 {
    if inferred.oid != 0 {
        return inferred.oid;
    }
    let known =
        declared != UNKNOWN.oid && (PgType::by_oid(declared).is_some() || PgType::element_of(declared).is_some());
    if known { declared } else { PgType::described(inferred.data_type.as_ref().unwrap_or(&DataType::Null)).0 }
}

/// Reads a parameter of type `oid` (see [`described_oid`]) into an array of one; `None` bytes are null.
pub(crate) fn decode(
    oid: u32,
    format: Format,
    bytes: Option<&[u8]>,
    inferred: &DataType,
) -> Result<ArrayRef, ValueError> {
    let unsupported = || ValueError::UnsupportedParameter { name: format!("with oid {oid}") };
    let Some(bytes) = bytes else {
        let data_type = declared_type(oid).unwrap_or_else(|| inferred.clone());
        return Ok(new_null_array(&data_type, 1));
    };
    if let Some(element) = PgType::element_of(oid) {
        let values = match format {
            Format::Text => parameter_text::parse_array(element, utf8(bytes)?)?,
            Format::Binary => parameter_binary::parse_array(element, bytes)?,
        };
        return list(element, values).ok_or_else(unsupported);
    }
    let pg_type = PgType::by_oid(oid).ok_or_else(unsupported)?;
    match format {
        Format::Text => parameter_text::parse(pg_type, utf8(bytes)?),
        Format::Binary => parameter_binary::parse(pg_type, bytes),
    }
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ValueError> {
    std::str::from_utf8(bytes).map_err(|_| ValueError::NotUtf8)
}

/// An array of one value.
pub(crate) fn one<T: ArrowPrimitiveType>(value: T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(vec![value].into(), None))
}

/// An array of one text.
pub(crate) fn one_text(value: &str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values([value]))
}

/// An array of an unscaled number, of the least sufficient precision, like a literal.
pub(crate) fn one_numeric((value, scale): super::numeric::Unscaled) -> Result<ArrayRef, ValueError> {
    let digits = value.unsigned_abs().checked_ilog10().map_or(1, |log| log as u8 + 1);
    let precision = digits.max(scale.unsigned_abs()).max(1);
    Ok(Arc::new(Decimal128Array::new(vec![value].into(), None).with_precision_and_scale(precision, scale)?))
}

/// The type of an array's nulls before its other values say which numerics they are.
pub(crate) fn null_type(element: PgType) -> DataType {
    element.parameter_type().unwrap_or(DataType::Decimal128(1, 0))
}

/// A list of the values, each an array of one. Numerics are first converted to a common precision and scale.
fn list(element: PgType, mut values: Vec<ArrayRef>) -> Option<ArrayRef> {
    let data_type = match element.parameter_type() {
        Some(data_type) => data_type,
        None if element == NUMERIC => {
            let data_type = common_decimal(&values);
            let options = CastOptions { safe: false, ..CastOptions::default() };
            let common = |value: &ArrayRef| cast_with_options(value, &data_type, &options);
            values = values.iter().map(common).collect::<Result<_, _>>().ok()?;
            data_type
        }
        None => return None,
    };
    let lengths = OffsetBuffer::from_lengths([values.len()]);
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let values = if values.is_empty() { new_empty_array(&data_type) } else { concat(&values).ok()? };
    Some(Arc::new(ListArray::new(Arc::new(Field::new_list_field(data_type, true)), lengths, values, None)))
}

fn common_decimal(values: &[ArrayRef]) -> DataType {
    let (mut whole, mut scale) = (1, 0);
    for value in values {
        if let DataType::Decimal128(p, s) = value.data_type() {
            whole = whole.max(*p - s.unsigned_abs());
            scale = scale.max(*s);
        }
    }
    DataType::Decimal128((whole + scale.unsigned_abs()).min(DECIMAL128_MAX_PRECISION), scale)
}

#[cfg(test)]
#[path = "parameter_tests.rs"]
mod tests;
