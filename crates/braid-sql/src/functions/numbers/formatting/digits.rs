//! The digits of a number for a format: rounded to its places, shifted by `V`, `#` where they do not fit.

use super::template::Shape;
use crate::functions::numbers::casts::rounded;
use crate::functions::numbers::integers::fit;
use crate::values::Numeric;
use crate::{SqlError, Value};

/// A number that is ready to be written.
pub struct Digits {
    /// Digits with a point, or a whole number of Roman digits or with an exponent.
    pub text: String,
    /// The sign; none for Roman numbers and those with an exponent.
    pub sign: Option<Sign>,
    /// Digits of the format before the first digit.
    pub lead: usize,
    /// Digits of the format before the point, with those behind `V`.
    pub whole: usize,
    /// Digits behind the point: fewer than in the format for floats.
    pub places: usize,
}

/// The sign of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Also of 0 and NaN.
    Plus,
    /// Also of a float's -0.
    Minus,
}

/// What PostgreSQL writes for Roman numbers out of their range: 15 characters, as many as the longest has.
const NO_ROMAN: &str = "###############";

/// The largest Roman number.
const ROMAN_MAX: i32 = 3999;

/// Roman digits with what they are worth, the larger first.
const ROMAN_DIGITS: [(&str, i32); 13] = [
    ("M", 1000),
    ("CM", 900),
    ("D", 500),
    ("CD", 400),
    ("C", 100),
    ("XC", 90),
    ("L", 50),
    ("XL", 40),
    ("X", 10),
    ("IX", 9),
    ("V", 5),
    ("IV", 4),
    ("I", 1),
];

/// Decimal digits that any float keeps (`FLT_DIG`).
const REAL_DIGITS: usize = 6;

/// The same of a double (`DBL_DIG`).
const DOUBLE_DIGITS: usize = 15;

/// Digits behind the point that are computed; those behind them are 0, as PostgreSQL's `snprintf` has it.
const FLOAT_PLACES_MAX: usize = 350;

impl Digits {
    /// The digits of a value of one of the types that `to_char` takes.
    pub fn of(value: &Value, shape: &Shape) -> Result<Self, SqlError> {
        if shape.is_roman {
            return Ok(Self::of_text(roman(roman_value(value)?), shape));
        }
        if shape.has_exponent {
            return Ok(Self::of_text(with_exponent(value, shape), shape));
        }
        match value {
            Value::Int4(value) => Ok(Self::of_integer(shifted_int4(*value, shape).to_string(), shape)),
            Value::Int8(value) => Ok(Self::of_integer(shifted_int8(*value, shape)?.to_string(), shape)),
            Value::Float4(value) => {
                let value = shape.shift.map_or(*value, |shift| value * 10_f64.powf(shift as f64) as f32);
                Ok(Self::of_float(value.into(), shape, REAL_DIGITS))
            }
            Value::Float8(value) => {
                let value = shape.shift.map_or(*value, |shift| value * 10_f64.powf(shift as f64));
                Ok(Self::of_float(value, shape, DOUBLE_DIGITS))
            }
            value => Self::of_numeric(value.as_numeric(), shape),
        }
    }

    fn of_text(text: String, shape: &Shape) -> Self {
        Self { text, sign: None, lead: 0, whole: shape.whole, places: shape.places }
    }

    fn of_integer(digits: String, shape: &Shape) -> Self {
        let text = if shape.places == 0 { digits } else { format!("{digits}.{}", "0".repeat(shape.places)) };
        Self::fitted(&text, shape, shape.places)
    }

    fn of_float(value: f64, shape: &Shape, digits_max: usize) -> Self {
        let whole = fixed(value.abs(), 0).len();
        let places = shape.places.min(digits_max.saturating_sub(whole));
        Self::fitted(&fixed(value, places), shape, places)
    }

    fn of_numeric(value: &Numeric, shape: &Shape) -> Result<Self, SqlError> {
        let places = i32::try_from(shape.places).unwrap_or(i32::MAX);
        let shifted = match shape.shift {
            Some(shift) => value.checked_mul(&power_of_ten(shift as i64)?)?,
            None => value.clone(),
        };
        Ok(Self::fitted(&shifted.round(places)?.to_string(), shape, shape.places))
    }

    /// A number with a sign, or `#` if it has more digits before the point than the format.
    fn fitted(text: &str, shape: &Shape, places: usize) -> Self {
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => (Sign::Minus, text),
            None => (Sign::Plus, text),
        };
        let whole = shape.whole + shape.shift.unwrap_or(0);
        let own_whole = text.find('.').unwrap_or(text.len());
        let text =
            if own_whole > whole { format!("{}.{}", "#".repeat(whole), "#".repeat(places)) } else { text.to_owned() };
        Self { text, sign: Some(sign), lead: whole.saturating_sub(own_whole), whole, places }
    }
}

/// `10^exponent`
pub fn power_of_ten(exponent: i64) -> Result<Numeric, SqlError> {
    Numeric::from(10).power(&Numeric::from(exponent))
}

/// The product wraps, as that of PostgreSQL's C does.
fn shifted_int4(value: i32, shape: &Shape) -> i32 {
    shape.shift.map_or(value, |shift| value.wrapping_mul(truncated_int4(10_f64.powf(shift as f64))))
}

fn shifted_int8(value: i64, shape: &Shape) -> Result<i64, SqlError> {
    let Some(shift) = shape.shift else { return Ok(value) };
    let power = u32::try_from(shift).ok().and_then(|shift| 10_i64.checked_pow(shift));
    fit(power.and_then(|power| value.checked_mul(power)), "bigint")
}

/// What processors make of a double that is no integer of 32 bits: the least.
fn truncated_int4(value: f64) -> i32 {
    let fits = value > f64::from(i32::MIN) - 1.0 && value < f64::from(i32::MAX) + 1.0;
    if fits { value as i32 } else { i32::MIN }
}

/// The integer whose Roman number is written.
fn roman_value(value: &Value) -> Result<i32, SqlError> {
    match value {
        Value::Int4(value) => Ok(*value),
        Value::Int8(value) => fit(i32::try_from(*value).ok(), "integer"),
        Value::Float4(value) => Ok(truncated_int4(value.round_ties_even().into())),
        Value::Float8(value) => Ok(truncated_int4(value.round_ties_even())),
        value => fit(i32::try_from(rounded(value.as_numeric(), "integer")?).ok(), "integer"),
    }
}

fn roman(mut number: i32) -> String {
    if !(1..=ROMAN_MAX).contains(&number) {
        return NO_ROMAN.to_owned();
    }
    let mut text = String::new();
    for (digit, worth) in ROMAN_DIGITS {
        while number >= worth {
            text.push_str(digit);
            number -= worth;
        }
    }
    text
}

/// A number with an exponent; a blank is the sign of one that is not negative. What is no number is `#`.
fn with_exponent(value: &Value, shape: &Shape) -> String {
    let text = match value {
        Value::Int4(value) => scientific(f64::from(*value), shape.places),
        Value::Int8(value) => Numeric::from(*value).scientific(shape.places),
        Value::Float4(value) => scientific((*value).into(), shape.places),
        Value::Float8(value) => scientific(*value, shape.places),
        value => value.as_numeric().scientific(shape.places),
    };
    match text {
        Some(text) if text.starts_with('-') => text,
        Some(text) => format!(" {text}"),
        // A place for the sign, and four for the exponent.
        None => format!(" {}.{}", "#".repeat(shape.whole), "#".repeat(shape.places + 4)),
    }
}

/// `%.*e` of C; `None` for what is no number.
fn scientific(value: f64, places: usize) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:.*e}", places.min(FLOAT_PLACES_MAX));
    let (mantissa, exponent) = text.split_once('e').expect("Rust writes an exponent with {:e}");
    let exponent: i32 = exponent.parse().expect("Rust writes the exponent as an integer");
    let zeros = "0".repeat(places.saturating_sub(FLOAT_PLACES_MAX));
    Some(format!("{mantissa}{zeros}e{exponent:+03}"))
}

/// `%.*f` of C.
fn fixed(value: f64, places: usize) -> String {
    match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => format!("{value:.places$}"),
    }
}
