//! Casts among integers, floats and numeric.
//!
//! A numeric rounds half away from zero, a float half to the even integer, as PostgreSQL's do.

use super::floats::in_float_range;
use super::integers::fit;
use crate::functions::Implementations;
use crate::input::numbers::{out_of_float_range, read_real};
use crate::values::Numeric;
use crate::values::numeric::NumericKind;
use crate::{SqlError, Value};

/// Digits of a double that are the same in all its decimals.
const DOUBLE_DIGITS: usize = 15;

/// The same of a real.
const REAL_DIGITS: usize = 6;

/// The casts.
pub const FUNCTIONS: Implementations = &[
    ("i2toi4", |a, _| Ok(Value::Int4(a[0].as_int2().into()))),
    ("int28", |a, _| Ok(Value::Int8(a[0].as_int2().into()))),
    ("int48", |a, _| Ok(Value::Int8(a[0].as_int4().into()))),
    ("i4toi2", |a, _| int2(Some(a[0].as_int4().into()))),
    ("int82", |a, _| int2(Some(a[0].as_int8().into()))),
    ("int84", |a, _| int4(Some(a[0].as_int8().into()))),
    ("i2tof", |a, _| Ok(Value::Float4(a[0].as_int2().into()))),
    ("i4tof", |a, _| Ok(Value::Float4(a[0].as_int4() as f32))),
    ("i8tof", |a, _| Ok(Value::Float4(a[0].as_int8() as f32))),
    ("i2tod", |a, _| Ok(Value::Float8(a[0].as_int2().into()))),
    ("i4tod", |a, _| Ok(Value::Float8(a[0].as_int4().into()))),
    ("i8tod", |a, _| Ok(Value::Float8(a[0].as_int8() as f64))),
    ("ftod", |a, _| Ok(Value::Float8(a[0].as_float4().into()))),
    ("dtof", |a, _| {
        let value = a[0].as_float8();
        let narrow = value as f32;
        in_float_range(narrow.into(), value.is_infinite(), value == 0.0)?;
        Ok(Value::Float4(narrow))
    }),
    ("ftoi2", |a, _| int2(integer_of(a[0].as_float4().into()))),
    ("ftoi4", |a, _| int4(integer_of(a[0].as_float4().into()))),
    ("ftoi8", |a, _| int8(integer_of(a[0].as_float4().into()))),
    ("dtoi2", |a, _| int2(integer_of(a[0].as_float8()))),
    ("dtoi4", |a, _| int4(integer_of(a[0].as_float8()))),
    ("dtoi8", |a, _| int8(integer_of(a[0].as_float8()))),
    ("int2_numeric", |a, _| Ok(Value::Numeric(a[0].as_int2().into()))),
    ("int4_numeric", |a, _| Ok(Value::Numeric(a[0].as_int4().into()))),
    ("int8_numeric", |a, _| Ok(Value::Numeric(a[0].as_int8().into()))),
    ("float4_numeric", |a, _| Ok(Value::Numeric(Numeric::from_f64(a[0].as_float4().into(), REAL_DIGITS)))),
    ("float8_numeric", |a, _| Ok(Value::Numeric(Numeric::from_f64(a[0].as_float8(), DOUBLE_DIGITS)))),
    ("numeric_int2", |a, _| numeric_int2(a[0].as_numeric())),
    ("numeric_int4", |a, _| numeric_int4(a[0].as_numeric())),
    ("numeric_int8", |a, _| numeric_int8(a[0].as_numeric())),
    ("numeric_float4", |a, _| numeric_float4(a[0].as_numeric())),
    ("numeric_float8", |a, _| numeric_float8(a[0].as_numeric())),
];

fn int2(value: Option<i128>) -> Result<Value, SqlError> {
    fit(value.and_then(|value| i16::try_from(value).ok()), "smallint").map(Value::Int2)
}

fn int4(value: Option<i128>) -> Result<Value, SqlError> {
    fit(value.and_then(|value| i32::try_from(value).ok()), "integer").map(Value::Int4)
}

fn int8(value: Option<i128>) -> Result<Value, SqlError> {
    fit(value.and_then(|value| i64::try_from(value).ok()), "bigint").map(Value::Int8)
}

/// A float rounded half to even; `None` for NaN. What is beyond 128 bits stays beyond 64.
fn integer_of(value: f64) -> Option<i128> {
    (!value.is_nan()).then(|| value.round_ties_even() as i128)
}

/// A numeric as an integer, rounded half away from zero.
pub(super) fn rounded(value: &Numeric, type_name: &str) -> Result<i128, SqlError> {
    let what = match value.to_integer() {
        NumericKind::Integer(integer) => return Ok(integer),
        NumericKind::Nan => "NaN",
        NumericKind::Infinite => "infinity",
    };
    Err(SqlError::unsupported(format!("cannot convert {what} to {type_name}")))
}

/// A smallint of a numeric.
pub fn numeric_int2(value: &Numeric) -> Result<Value, SqlError> {
    int2(Some(rounded(value, "smallint")?))
}

/// An integer of a numeric.
pub fn numeric_int4(value: &Numeric) -> Result<Value, SqlError> {
    int4(Some(rounded(value, "integer")?))
}

/// A bigint of a numeric.
pub fn numeric_int8(value: &Numeric) -> Result<Value, SqlError> {
    int8(Some(rounded(value, "bigint")?))
}

/// A double of a numeric. PostgreSQL reads the float from the numeric's text, and names it in the error.
pub fn numeric_float8(value: &Numeric) -> Result<Value, SqlError> {
    let float = value.to_f64();
    let is_lost =
        float.is_infinite() != value.is_infinite() || (float == 0.0) != (value.signum() == 0 && !value.is_nan());
    if is_lost {
        return Err(out_of_float_range(&value.to_string(), "double precision"));
    }
    Ok(Value::Float8(float))
}

/// A real of a numeric.
pub fn numeric_float4(value: &Numeric) -> Result<Value, SqlError> {
    read_real(&value.to_string()).map(Value::Float4)
}
