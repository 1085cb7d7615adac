//! Numerics from and to integers and floats.

use super::decimal::{Behind, Decimal, power_of_ten};
use super::{Numeric, Repr};

macro_rules! from_integers {
    ($($integer:ty)*) => {
        $(impl From<$integer> for Numeric {
            fn from(integer: $integer) -> Self {
                Self::from_unscaled(i128::from(integer), 0)
            }
        })*
    };
}

from_integers! { i16 i32 i64 i128 u32 u64 }

/// What an integer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumericKind {
    /// NaN
    Nan,
    /// An infinity of either sign.
    Infinite,
    /// A number that rounds to this integer, half away from zero. One beyond 128 bits is the nearest of 128 bits.
    Integer(i128),
}

/// Integers up to here, and powers of ten up to 10^22, are doubles without a rounding.
const EXACT_INTEGER_MAX: u128 = 1 << 53;

/// The largest power of ten that is a double without a rounding.
const EXACT_POWER_MAX: u16 = 22;

impl Numeric {
    /// The number as an integer, rounded half away from zero.
    pub(crate) fn to_integer(&self) -> NumericKind {
        match &self.0 {
            Repr::Nan => NumericKind::Nan,
            Repr::Infinity | Repr::NegativeInfinity => NumericKind::Infinite,
            Repr::Narrow { .. } | Repr::Wide(_) => {
                if let Some(integer) = self.narrow().and_then(|number| number.at_scale(0, Behind::Rounded)) {
                    return NumericKind::Integer(integer.unscaled);
                }
                let Some(decimal) = self.decimal() else { return NumericKind::Nan };
                let beyond = if decimal.is_negative() { i128::MIN } else { i128::MAX };
                NumericKind::Integer(i128::try_from(&decimal.rounded(0).unscaled).unwrap_or(beyond))
            }
        }
    }

    /// The nearest double. A number beyond all doubles is infinite, and one too small for them is 0.
    pub fn to_f64(&self) -> f64 {
        if let Some((unscaled, scale)) = self.unscaled()
            && unscaled.unsigned_abs() <= EXACT_INTEGER_MAX
            && scale <= EXACT_POWER_MAX
        {
            // Both are exact, so the quotient is rounded once.
            return unscaled as f64 / 10_f64.powi(i32::from(scale));
        }
        match &self.0 {
            Repr::Nan => f64::NAN,
            Repr::Infinity => f64::INFINITY,
            Repr::NegativeInfinity => f64::NEG_INFINITY,
            _ => self.decimal().map_or(f64::NAN, |decimal| decimal.approximate()),
        }
    }

    /// The number of a double's first digits, of which there are at most `digits` (15 for a double, 6 for a real): PostgreSQL
    /// takes those that are the same in each decimal of the double.
    pub fn from_f64(value: f64, digits: usize) -> Self {
        if !value.is_finite() {
            return match value {
                f64::INFINITY => Self::INFINITY,
                f64::NEG_INFINITY => Self::NEGATIVE_INFINITY,
                _ => Self::NAN,
            };
        }
        let text = format!("{value:.*e}", digits.saturating_sub(1));
        let (mantissa, exponent) = text.split_once('e').expect("Rust writes an exponent with {:e}");
        let exponent: i32 = exponent.parse().expect("Rust writes the exponent as an integer");
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len() as i32);
        let unscaled: i128 = mantissa.replace('.', "").parse().unwrap_or(0);
        match places - exponent {
            scale @ 0.. => Self::of_decimal(Decimal::new(unscaled, scale)),
            scale => Self::of_decimal(Decimal::new(power_of_ten(scale.unsigned_abs()) * unscaled, 0)),
        }
        .expect("doubles have at most 309 digits before the point and 340 after it")
    }
}
