//! Parameters of prepared statements: bytes from Bind into scalars for the engine.
//!
//! A parameter has the type that the client declared in Parse, or, where it declared none (or one that Braid does not
//! know), the type that the engine inferred from the statement. Declared types keep their own width: a numeric keeps
//! the scale it was sent with, so that comparing with it never rounds it. Arrays are read in one dimension.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use super::pg_type::{NUMERIC, PgType, UNKNOWN};
use super::{Format, ValueError, parameter_binary, parameter_text};

/// The type that a client declared for a parameter, for the engine; `None` means inference.
pub(crate) fn declared_type(oid: u32) -> Option<DataType> {
    match PgType::element_of(oid) {
        Some(element) => element.parameter_type().map(|t| DataType::new_list(t, true)),
        None => PgType::by_oid(oid)?.parameter_type(),
    }
}

/// The same for the description of a statement, where no value tells the scale of a numeric: a numeric without a precision.
pub(crate) fn described_type(oid: u32) -> Option<DataType> {
    declared_type(oid).or_else(|| (oid == NUMERIC.oid).then_some(DataType::Decimal128(38, 10)))
}

/// The oid that describes a parameter: as declared, otherwise as inferred.
pub(crate) fn described_oid(declared: u32, inferred: &DataType) -> u32 {
    let known =
        declared != UNKNOWN.oid && (PgType::by_oid(declared).is_some() || PgType::element_of(declared).is_some());
    if known { declared } else { PgType::described(inferred).0 }
}

/// Reads a parameter of type `oid` (see [`described_oid`]); `None` bytes are null.
pub(crate) fn decode(
    oid: u32,
    format: Format,
    bytes: Option<&[u8]>,
    inferred: &DataType,
) -> Result<ScalarValue, ValueError> {
    let unsupported = || ValueError::UnsupportedParameter { name: format!("with oid {oid}") };
    let Some(bytes) = bytes else {
        let data_type = declared_type(oid).unwrap_or_else(|| inferred.clone());
        return ScalarValue::try_from(&data_type).map_err(|_| unsupported());
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

/// An unscaled number as a scalar of the least sufficient precision, like a literal.
pub(crate) fn numeric_scalar((value, scale): super::numeric::Unscaled) -> ScalarValue {
    let digits = value.unsigned_abs().checked_ilog10().map_or(1, |log| log as u8 + 1);
    ScalarValue::Decimal128(Some(value), digits.max(scale.unsigned_abs()).max(1), scale)
}

/// A list of `values`. Numerics are first converted to a common precision and scale.
fn list(element: PgType, mut values: Vec<ScalarValue>) -> Option<ScalarValue> {
    let data_type = match element.parameter_type() {
        Some(data_type) => data_type,
        None if element == NUMERIC => {
            let data_type = common_decimal(&values);
            values = values.iter().map(|v| v.cast_to(&data_type)).collect::<Result<_, _>>().ok()?;
            data_type
        }
        None => return None,
    };
    Some(ScalarValue::List(ScalarValue::new_list(&values, &data_type, true)))
}

fn common_decimal(values: &[ScalarValue]) -> DataType {
    let (mut whole, mut scale) = (1, 0);
    for value in values {
        if let ScalarValue::Decimal128(_, p, s) = value {
            whole = whole.max(*p - s.unsigned_abs());
            scale = scale.max(*s);
        }
    }
    DataType::Decimal128((whole + scale.unsigned_abs()).min(38), scale)
}

#[cfg(test)]
#[path = "parameter_tests.rs"]
mod tests;
