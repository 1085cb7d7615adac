//! Angles of doubles, in radians and in degrees, and hyperbolic functions.
//!
//! Functions of degrees are exact where the result is a short decimal: the sine of 30 degrees is 0.5. PostgreSQL scales what the C
//! library says by what it says of the angle whose result is known. The inverse hyperbolic functions are FDLIBM's formulas, since
//! Rust's own round otherwise than the C library.

use std::f64::consts::LN_2;

use crate::functions::Implementations;
use crate::{SqlError, SqlState, Value};

/// Pi / 180, to the digits that PostgreSQL takes.
const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

/// A function that cannot fail.
macro_rules! total {
    ($function:expr) => {
        |a, _| Ok(Value::Float8($function(a[0].as_float8())))
    };
}

/// A function of finite angles.
macro_rules! of_angle {
    ($function:expr) => {
        |a, _| within(a[0].as_float8(), |angle| !angle.is_infinite(), $function)
    };
}

/// A function of -1 to 1.
macro_rules! of_ratio {
    ($function:expr) => {
        |a, _| within(a[0].as_float8(), |ratio| ratio.is_nan() || ratio.abs() <= 1.0, $function)
    };
}

/// The functions.
pub const FUNCTIONS: Implementations = &[
    ("dsin", of_angle!(f64::sin)),
    ("dcos", of_angle!(f64::cos)),
    ("dtan", of_angle!(f64::tan)),
    ("dcot", of_angle!(|angle: f64| 1.0 / angle.tan())),
    ("dasin", of_ratio!(f64::asin)),
    ("dacos", of_ratio!(f64::acos)),
    ("datan", total!(f64::atan)),
    ("datan2", |a, _| Ok(Value::Float8(a[0].as_float8().atan2(a[1].as_float8())))),
    ("dsind", of_angle!(sine)),
    ("dcosd", of_angle!(cosine)),
    ("dtand", of_angle!(tangent)),
    ("dcotd", of_angle!(cotangent)),
    ("dasind", of_ratio!(arc_sine)),
    ("dacosd", of_ratio!(arc_cosine)),
    ("datand", total!(|ratio: f64| arc_degrees(ratio.atan()))),
    ("datan2d", |a, _| Ok(Value::Float8(arc_degrees(a[0].as_float8().atan2(a[1].as_float8()))))),
    ("dsinh", total!(f64::sinh)),
    ("dcosh", total!(f64::cosh)),
    ("dtanh", total!(f64::tanh)),
    ("dasinh", total!(area_sine)),
    ("dacosh", |a, _| within(a[0].as_float8(), |value| value.is_nan() || value >= 1.0, area_cosine)),
    ("datanh", of_ratio!(area_tangent)),
];

/// A function's result for an argument of its domain.
fn within(value: f64, has: fn(f64) -> bool, function: fn(f64) -> f64) -> Result<Value, SqlError> {
    if has(value) {
        return Ok(Value::Float8(function(value)));
    }
    Err(SqlError::new(SqlState::NumericOutOfRange, "input is out of range"))
}

/// The sine of 0 to 30 degrees.
fn sine_to_30(degrees: f64) -> f64 {
    (degrees * RADIANS_PER_DEGREE).sin() / (30.0 * RADIANS_PER_DEGREE).sin() / 2.0
}

/// The cosine of 0 to 60 degrees.
fn cosine_to_60(degrees: f64) -> f64 {
    let below_one = |degrees: f64| 1.0 - (degrees * RADIANS_PER_DEGREE).cos();
    1.0 - below_one(degrees) / below_one(60.0) / 2.0
}

/// The sine of 0 to 90 degrees.
fn sine_to_90(degrees: f64) -> f64 {
    if degrees <= 30.0 { sine_to_30(degrees) } else { cosine_to_60(90.0 - degrees) }
}

/// The cosine of 0 to 90 degrees.
fn cosine_to_90(degrees: f64) -> f64 {
    if degrees <= 60.0 { cosine_to_60(degrees) } else { sine_to_30(90.0 - degrees) }
}

/// An angle's counterpart between 0 and 90 degrees, and the signs of its sine and of its cosine.
fn to_quadrant(degrees: f64) -> (f64, f64, f64) {
    let (mut degrees, mut sine_sign, mut cosine_sign) = (degrees % 360.0, 1.0, 1.0);
    if degrees < 0.0 {
        (degrees, sine_sign) = (-degrees, -sine_sign);
    }
    if degrees > 180.0 {
        (degrees, sine_sign) = (360.0 - degrees, -sine_sign);
    }
    if degrees > 90.0 {
        (degrees, cosine_sign) = (180.0 - degrees, -cosine_sign);
    }
    (degrees, sine_sign, cosine_sign)
}

fn sine(degrees: f64) -> f64 {
    let (degrees, sign, _) = to_quadrant(degrees);
    sign * sine_to_90(degrees)
}

fn cosine(degrees: f64) -> f64 {
    let (degrees, _, sign) = to_quadrant(degrees);
    sign * cosine_to_90(degrees)
}

fn tangent(degrees: f64) -> f64 {
    let (degrees, sine_sign, cosine_sign) = to_quadrant(degrees);
    let of = |degrees| sine_to_90(degrees) / cosine_to_90(degrees);
    without_negative_zero(sine_sign * cosine_sign * (of(degrees) / of(45.0)))
}

fn cotangent(degrees: f64) -> f64 {
    let (degrees, sine_sign, cosine_sign) = to_quadrant(degrees);
    let of = |degrees| cosine_to_90(degrees) / sine_to_90(degrees);
    without_negative_zero(sine_sign * cosine_sign * (of(degrees) / of(45.0)))
}

fn without_negative_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// The angle of a sine from 0 to 1.
fn arc_sine_to_90(ratio: f64) -> f64 {
    if ratio <= 0.5 { ratio.asin() / 0.5_f64.asin() * 30.0 } else { 90.0 - ratio.acos() / 0.5_f64.acos() * 60.0 }
}

fn arc_sine(ratio: f64) -> f64 {
    if ratio >= 0.0 { arc_sine_to_90(ratio) } else { -arc_sine_to_90(-ratio) }
}

fn arc_cosine(ratio: f64) -> f64 {
    match ratio {
        0.0..=0.5 => 90.0 - ratio.asin() / 0.5_f64.asin() * 30.0,
        0.5.. => ratio.acos() / 0.5_f64.acos() * 60.0,
        _ => 90.0 + arc_sine_to_90(-ratio),
    }
}

/// The degrees of an arc, so that those of 1's arc tangent are 45.
fn arc_degrees(arc: f64) -> f64 {
    arc / 1.0_f64.atan() * 45.0
}

fn area_sine(value: f64) -> f64 {
    let size = value.abs();
    let area = match size {
        _ if !size.is_finite() || size < 2.0_f64.powi(-28) => return value,
        _ if size > 2.0_f64.powi(28) => size.ln() + LN_2,
        _ if size > 2.0 => (2.0 * size + 1.0 / ((value * value + 1.0).sqrt() + size)).ln(),
        _ => {
            let square = value * value;
            (size + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
        }
    };
    area.copysign(value)
}

fn area_cosine(value: f64) -> f64 {
    if value > 2.0_f64.powi(28) {
        return if value.is_finite() { value.ln() + LN_2 } else { value };
    }
    if value > 2.0 {
        return (2.0 * value - 1.0 / (value + (value * value - 1.0).sqrt())).ln();
    }
    let above = value - 1.0;
    (above + (2.0 * above + above * above).sqrt()).ln_1p()
}

fn area_tangent(value: f64) -> f64 {
    let size = value.abs();
    let area = match size {
        _ if size.is_nan() || size < 2.0_f64.powi(-28) => return value,
        _ if size < 0.5 => {
            let double = size + size;
            0.5 * (double + double * size / (1.0 - size)).ln_1p()
        }
        _ if size < 1.0 => 0.5 * ((size + size) / (1.0 - size)).ln_1p(),
        _ => f64::INFINITY,
    };
    area.copysign(value)
}
