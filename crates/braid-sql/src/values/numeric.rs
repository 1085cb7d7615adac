//! Numbers with any number of digits: up to 131072 before the point and 16383 after it, NaN and two infinities.
//!
//! A number is an integer and a scale, the count of its digits after the point: `1.50` is 150 with scale 2. The scale belongs to
//! the value, and each function says which scale its result has; PostgreSQL's rules are in [`scales`]. Integers of 128 bits are
//! kept in place and computed without allocation. Wider ones are shared.
//!
//! | module | contents |
//! |---|---|
//! | [`sums`] | sums of many numbers, variances |
//! | [`text`] | from text, and as text |
//! | [`arithmetic`] | sums, products, quotients, rounding, divisors |
//! | [`powers`] | roots, exponentials, logarithms, powers |
//! | [`convert`] | from and to integers and floats |
//! | [`narrow`] | quotients, roots and rounding of 128 bits |
//! | [`decimal`] | integers of any width with a scale: what computes where 128 bits do not suffice |
//! | [`scales`] | the scale of a quotient, a root and so on |
//! | [`series`] | logarithm and exponential as series |

mod arithmetic;
mod convert;
mod decimal;
mod narrow;
pub(crate) mod powers;
mod scales;
mod series;
pub mod sums;
mod text;

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigInt;

use arithmetic::aligned;
pub(crate) use convert::NumericKind;
use decimal::Decimal;
use narrow::Narrow;

use crate::{SqlError, SqlState};

/// Digits before the point: `(32767 + 1) * 4`, as PostgreSQL counts groups of four digits in 16 bits.
const WHOLE_DIGITS_MAX: i64 = 131_072;

/// Digits after the point: `2^14 - 1`.
const SCALE_MAX: i32 = 16_383;

/// A number of type `numeric`.
///
/// `==` and the hash are those of representations: `1.0` and `1.00` differ, NaN equals itself. [`Numeric::compare`] is SQL's
/// order, and values that are equal by it have one [`Numeric::normal_form`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Numeric(Repr);

impl From<Narrow> for Numeric {
    /// The scale of a result is one that numerics have.
    fn from(Narrow { unscaled, scale }: Narrow) -> Self {
        Self::from_unscaled(unscaled, u16::try_from(scale).expect("scales are from 0 to 16383"))
    }
}

/// A number that fits [`Repr::Narrow`] is never [`Repr::Wide`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    /// The halves of an `i128`, which would be aligned to 16 bytes as a whole.
    Narrow {
        high: i64,
        low: u64,
        scale: u16,
    },
    Wide(Arc<(BigInt, u16)>),
    NegativeInfinity,
    Infinity,
    Nan,
}

const _: () = assert!(size_of::<Numeric>() == 24, "as large as the other values");

impl Numeric {
    /// What is not a number. It equals itself, and is greater than all others.
    pub const NAN: Self = Self(Repr::Nan);
    /// Greater than all numbers.
    pub const INFINITY: Self = Self(Repr::Infinity);
    /// Less than all numbers.
    pub const NEGATIVE_INFINITY: Self = Self(Repr::NegativeInfinity);
    /// 0
    pub const ZERO: Self = Self::from_unscaled(0, 0);
    /// 1
    pub const ONE: Self = Self::from_unscaled(1, 0);

    /// `unscaled / 10^scale`. The scale is at most 16383.
    pub const fn from_unscaled(unscaled: i128, scale: u16) -> Self {
        debug_assert!(scale as i32 <= SCALE_MAX);
        Self(Repr::Narrow { high: (unscaled >> 64) as i64, low: unscaled as u64, scale })
    }

    /// The number as an integer and its scale; `None` for one that is wider, infinite or NaN.
    pub fn unscaled(&self) -> Option<(i128, u16)> {
        match self.0 {
            Repr::Narrow { high, low, scale } => Some((i128::from(high) << 64 | i128::from(low), scale)),
            _ => None,
        }
    }

    /// The number, if it has 128 bits.
    fn narrow(&self) -> Option<Narrow> {
        self.unscaled().map(|(unscaled, scale)| Narrow::new(unscaled, scale))
    }

    /// Digits after the point; `None` for infinities and NaN.
    pub fn scale(&self) -> Option<u16> {
        match &self.0 {
            Repr::Narrow { scale, .. } => Some(*scale),
            Repr::Wide(wide) => Some(wide.1),
            _ => None,
        }
    }

    /// Bytes behind the number, about.
    pub(super) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Wide(wide) => size_of::<(BigInt, u16)>() + (wide.0.bits() / 8) as usize,
            _ => 0,
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        self.0 == Repr::Nan
    }

    /// Whether it is one of the infinities.
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinity | Repr::NegativeInfinity)
    }

    /// -1, 0 or 1 for a number's and an infinity's sign; 0 for NaN.
    pub fn signum(&self) -> i32 {
        match &self.0 {
            Repr::Narrow { high, low, .. } => (*high, *low).cmp(&(0, 0)) as i32,
            Repr::Wide(wide) if wide.0.sign() == num_bigint::Sign::Minus => -1,
            Repr::Wide(_) | Repr::Infinity => 1,
            Repr::NegativeInfinity => -1,
            Repr::Nan => 0,
        }
    }

    /// SQL's order: infinities are beyond all numbers, and NaN is greater than anything but NaN.
    pub fn compare(&self, other: &Self) -> Ordering {
        if let Some((a, b, _)) = aligned(self, other) {
            return a.cmp(&b);
        }
        match (self.decimal(), other.decimal()) {
            (Some(a), Some(b)) => a.compare(&b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// The order of infinities, numbers and NaN.
    fn rank(&self) -> u8 {
        match self.0 {
            Repr::NegativeInfinity => 0,
            Repr::Narrow { .. } | Repr::Wide(_) => 1,
            Repr::Infinity => 2,
            Repr::Nan => 3,
        }
    }

    /// The same number without zeros at the end of its digits after the point: values that [compare](Self::compare) as equal
    /// have the same.
    #[must_use]
    pub fn normal_form(&self) -> Self {
        match (self.unscaled(), self.decimal()) {
            (Some((mut unscaled, mut scale)), _) => {
                while scale > 0 && unscaled % 10 == 0 {
                    (unscaled, scale) = if unscaled == 0 { (0, 0) } else { (unscaled / 10, scale - 1) };
                }
                Self::from_unscaled(unscaled, scale)
            }
            (None, Some(decimal)) => Self::of_decimal(decimal.trimmed()).expect("it becomes shorter"),
            (None, None) => self.clone(),
        }
    }

    /// The number as `numeric(precision, scale)` keeps it: rounded half away from zero. The scale may be negative or larger than
    /// the precision. Fails with what PostgreSQL says of a number that is too large, and of infinities.
    pub fn with_modifier(&self, precision: i32, scale: i32) -> Result<Self, SqlError> {
        if self.is_nan() {
            return Ok(self.clone());
        }
        let Some(digits) = self.rounded_digits(scale) else {
            return Err(field_overflow(precision, scale, "cannot hold an infinite value"));
        };
        if digits.signum() != 0 && digits.whole_digits() > i64::from(precision - scale) {
            return Err(Self::overflow_of(precision, scale));
        }
        Ok(digits)
    }

    /// The error of a number that is too large for `numeric(precision, scale)`.
    fn overflow_of(precision: i32, scale: i32) -> SqlError {
        let bound = match precision - scale {
            0 => "1".to_owned(),
            digits_max => format!("10^{digits_max}"),
        };
        field_overflow(precision, scale, &format!("must round to an absolute value less than {bound}"))
    }

    /// The number rounded to a scale, which may be negative; `None` for infinities and NaN. A number that overflows when it is
    /// rounded cannot happen here: it has too many digits for its modifier before.
    fn rounded_digits(&self, scale: i32) -> Option<Self> {
        if let Some((unscaled, own)) = self.unscaled()
            && i32::from(own) == scale
        {
            return Some(Self::from_unscaled(unscaled, own));
        }
        let rounded = self.decimal()?.rounded(scale).with_scale_at_least(0);
        Some(Self::of_decimal(rounded).unwrap_or_else(|_| self.clone()))
    }

    /// Digits before the point, from the first that is not 0; negative for zeros after the point. Of a number that is not 0.
    fn whole_digits(&self) -> i64 {
        match self.unscaled() {
            Some((unscaled, scale)) => {
                i64::from(unscaled.unsigned_abs().checked_ilog10().unwrap_or(0)) + 1 - i64::from(scale)
            }
            None => self.decimal().map_or(0, |decimal| decimal.exponent() + 1),
        }
    }

    /// The number with an integer of any width; `None` for infinities and NaN.
    fn decimal(&self) -> Option<Decimal> {
        match &self.0 {
            Repr::Narrow { .. } => self.unscaled().map(|(unscaled, scale)| Decimal::new(unscaled, i32::from(scale))),
            Repr::Wide(wide) => Some(Decimal::new(wide.0.clone(), i32::from(wide.1))),
            _ => None,
        }
    }

    /// A number; an error if it has too many digits before or after the point.
    fn of_decimal(decimal: Decimal) -> Result<Self, SqlError> {
        let scale = u16::try_from(decimal.scale).ok().filter(|scale| i32::from(*scale) <= SCALE_MAX);
        let scale = scale.ok_or_else(numeric_overflow)?;
        match i128::try_from(&decimal.unscaled) {
            Ok(unscaled) => Ok(Self::from_unscaled(unscaled, scale)),
            Err(_) if decimal.exponent() >= WHOLE_DIGITS_MAX => Err(numeric_overflow()),
            Err(_) => Ok(Self(Repr::Wide(Arc::new((decimal.unscaled, scale))))),
        }
    }
}

fn field_overflow(precision: i32, scale: i32, sentence: &str) -> SqlError {
    let detail = format!("A field with precision {precision}, scale {scale} {sentence}.");
    SqlError::new(SqlState::NumericOutOfRange, "numeric field overflow").with_detail(detail)
}

/// A number that has too many digits for any numeric.
fn numeric_overflow() -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, "value overflows numeric format")
}

/// The error of all divisions.
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DivisionByZero, "division by zero")
}

#[cfg(test)]
mod tests;
