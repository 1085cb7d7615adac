//! Floats: arithmetic, rounding, powers and logarithms, from text and as text.
//!
//! A result that is infinite or 0 although no argument says so is an error. The C library computes the elementary functions, for
//! PostgreSQL as for Rust, save the cube root: Rust's is rounded correctly, as that of newer C libraries is.

use super::comparisons::order_of_floats;
use super::integers::out_of_range;
use super::numerics::invalid_buckets;
use crate::functions::{Call, Implementations};
use crate::input::numbers::{read_double, read_real};
use crate::output::numbers::{write_double_with, write_real_with};
use crate::values::numeric::division_by_zero;
use crate::values::numeric::powers::{
    complex_power, logarithm_of_negative, logarithm_of_zero, root_of_negative, zero_to_negative_power,
};
use crate::{SqlError, SqlState, Value};

/// Pi / 180, to the digits that PostgreSQL takes.
const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

/// The error of a result that must not be infinite.
pub fn float_overflow() -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, "value out of range: overflow")
}

/// Fails where a result is infinite or 0, and must not be.
pub(super) fn in_float_range(result: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<(), SqlError> {
    match result {
        f64::INFINITY | f64::NEG_INFINITY if !may_be_infinite => Err(float_overflow()),
        0.0 if !may_be_zero => Err(SqlError::new(SqlState::NumericOutOfRange, "value out of range: underflow")),
        _ => Ok(()),
    }
}

/// The arithmetic of floats: it is the same of 32 and of 64 bits.
pub trait Float:
    Copy
    + Into<f64>
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
}

impl Float for f32 {}
impl Float for f64 {}

fn is_infinite(value: impl Float) -> bool {
    value.into().is_infinite()
}

fn is_zero(value: impl Float) -> bool {
    value.into() == 0.0
}

/// The sum; an error if it is infinite although no argument is.
pub fn add<T: Float>(a: T, b: T) -> Result<T, SqlError> {
    let result = a + b;
    in_float_range(result.into(), is_infinite(a) || is_infinite(b), true)?;
    Ok(result)
}

fn subtract<T: Float>(a: T, b: T) -> Result<T, SqlError> {
    let result = a - b;
    in_float_range(result.into(), is_infinite(a) || is_infinite(b), true)?;
    Ok(result)
}

fn multiply<T: Float>(a: T, b: T) -> Result<T, SqlError> {
    let result = a * b;
    in_float_range(result.into(), is_infinite(a) || is_infinite(b), is_zero(a) || is_zero(b))?;
    Ok(result)
}

fn divide<T: Float>(a: T, b: T) -> Result<T, SqlError> {
    if is_zero(b) && !a.into().is_nan() {
        return Err(division_by_zero());
    }
    let result = a / b;
    in_float_range(result.into(), is_infinite(a), is_zero(a) || is_infinite(b))?;
    Ok(result)
}

/// Sum, difference, product and quotient of a pair of types, by their prefix.
macro_rules! arithmetic {
    ($($prefix:literal $left:ident $right:ident => $variant:ident $type:ty;)*) => {
        /// Arithmetic of two arguments.
        pub const ARITHMETIC: Implementations = &[$(
            (concat!($prefix, "pl"), |a, _| {
                add::<$type>(a[0].$left().into(), a[1].$right().into()).map(Value::$variant)
            }),
            (concat!($prefix, "mi"), |a, _| {
                subtract::<$type>(a[0].$left().into(), a[1].$right().into()).map(Value::$variant)
            }),
            (concat!($prefix, "mul"), |a, _| {
                multiply::<$type>(a[0].$left().into(), a[1].$right().into()).map(Value::$variant)
            }),
            (concat!($prefix, "div"), |a, _| {
                divide::<$type>(a[0].$left().into(), a[1].$right().into()).map(Value::$variant)
            }),
        )*];
    };
}

arithmetic! {
    "float4" as_float4 as_float4 => Float4 f32;
    "float8" as_float8 as_float8 => Float8 f64;
    "float48" as_float4 as_float8 => Float8 f64;
    "float84" as_float8 as_float4 => Float8 f64;
}

/// A function of a double that cannot fail.
macro_rules! of_double {
    ($function:expr) => {
        |a, _| Ok(Value::Float8($function(a[0].as_float8())))
    };
}

/// Signs, rounding, powers, logarithms, and texts.
pub const FUNCTIONS: Implementations = &[
    ("float4in", |a, _| read_real(a[0].as_text()).map(Value::Float4)),
    ("float8in", |a, _| read_double(a[0].as_text()).map(Value::Float8)),
    ("float4out", |a, call| Ok(written(|text| write_real_with(a[0].as_float4(), call.session.formats().floats, text)))),
    ("float8out", |a, call| {
        Ok(written(|text| write_double_with(a[0].as_float8(), call.session.formats().floats, text)))
    }),
    ("float4up", |a, _| Ok(a[0].clone())),
    ("float8up", |a, _| Ok(a[0].clone())),
    ("float4um", |a, _| Ok(Value::Float4(-a[0].as_float4()))),
    ("float8um", of_double!(|value: f64| -value)),
    ("float4abs", |a, _| Ok(Value::Float4(a[0].as_float4().abs()))),
    ("float8abs", of_double!(f64::abs)),
    ("dround", of_double!(f64::round_ties_even)),
    ("dceil", of_double!(f64::ceil)),
    ("dfloor", of_double!(f64::floor)),
    ("dtrunc", of_double!(f64::trunc)),
    ("dsign", of_double!(sign)),
    ("dsqrt", |a, _| match a[0].as_float8() {
        value if value < 0.0 => Err(root_of_negative()),
        value => Ok(Value::Float8(value.sqrt())),
    }),
    ("dcbrt", of_double!(f64::cbrt)),
    ("dpow", power),
    ("dexp", exponential),
    ("dlog1", |a, _| logarithm(a[0].as_float8(), f64::ln)),
    ("dlog10", |a, _| logarithm(a[0].as_float8(), f64::log10)),
    ("dpi", |_, _| Ok(Value::Float8(std::f64::consts::PI))),
    ("degrees", |a, _| divide(a[0].as_float8(), RADIANS_PER_DEGREE).map(Value::Float8)),
    ("radians", |a, _| multiply(a[0].as_float8(), RADIANS_PER_DEGREE).map(Value::Float8)),
    ("width_bucket_float8", width_bucket),
];

fn written(write: impl FnOnce(&mut String)) -> Value {
    let mut text = String::new();
    write(&mut text);
    Value::text(text)
}

/// 0 for NaN, too.
fn sign(value: f64) -> f64 {
    f64::from(i8::from(value > 0.0) - i8::from(value < 0.0))
}

/// POSIX says what it is of infinities and NaN.
fn power(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (base, exponent) = (arguments[0].as_float8(), arguments[1].as_float8());
    if base == 0.0 && exponent < 0.0 {
        return Err(zero_to_negative_power());
    }
    if base < 0.0 && !exponent.is_nan() && exponent.floor() != exponent {
        return Err(complex_power());
    }
    let result = base.powf(exponent);
    let has_infinity = base.is_infinite() || exponent.is_infinite();
    in_float_range(result, has_infinity, has_infinity || base == 0.0)?;
    Ok(Value::Float8(result))
}

fn exponential(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let exponent = arguments[0].as_float8();
    let result = exponent.exp();
    in_float_range(result, exponent.is_infinite(), exponent.is_infinite())?;
    Ok(Value::Float8(result))
}

fn logarithm(value: f64, function: fn(f64) -> f64) -> Result<Value, SqlError> {
    match value {
        0.0 => Err(logarithm_of_zero()),
        value if value < 0.0 => Err(logarithm_of_negative()),
        value => Ok(Value::Float8(function(value))),
    }
}

fn width_bucket(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let [operand, low, high] = [0, 1, 2].map(|at| arguments[at].as_float8());
    let count = arguments[3].as_int4();
    if count <= 0 {
        return Err(invalid_buckets("count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(invalid_buckets("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(invalid_buckets("lower and upper bounds must be finite"));
    }
    let direction = order_of_floats(low, high);
    if direction.is_eq() {
        return Err(invalid_buckets("lower bound cannot equal upper bound"));
    }
    if order_of_floats(operand, low) == direction {
        return Ok(Value::Int4(0));
    }
    if order_of_floats(operand, high) != direction {
        return count.checked_add(1).map(Value::Int4).ok_or_else(|| out_of_range("integer"));
    }
    // PostgreSQL 15 computes in this order, and gives the bucket behind the last to what rounds to it. Where the width overflows
    // its result is undefined; here it is the error of later versions.
    let bucket = f64::from(count) * (operand - low) / (high - low) + 1.0;
    let fits = bucket < f64::from(i32::MAX) + 1.0;
    if fits { Ok(Value::Int4(bucket as i32)) } else { Err(out_of_range("integer")) }
}
