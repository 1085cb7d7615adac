//! Sums, products, quotients, rounding and divisors of numerics.
//!
//! Each function first tries 128 bits, then computes with integers of any width. What it says of infinities and NaN is what floats
//! do, save that dividing by zero is an error.

use num_bigint::BigInt;

use super::decimal::{Behind, Decimal};
use super::narrow::narrow_power;
use super::scales::quotient_scale;
use super::{Numeric, Repr, SCALE_MAX, WHOLE_DIGITS_MAX, division_by_zero, numeric_overflow};
use crate::SqlError;

/// `round` and `trunc` keep at most this many digits before the point: one more is 0, whatever the number.
const ROUNDING_MIN: i32 = -(WHOLE_DIGITS_MAX as i32) - 1;

/// The largest n whose factorial is in range.
const FACTORIAL_MAX: i64 = 32_177;

/// Both numbers with the larger scale.
pub(super) fn aligned(a: &Numeric, b: &Numeric) -> Option<(i128, i128, u16)> {
    let ((a, a_scale), (b, b_scale)) = (a.unscaled()?, b.unscaled()?);
    let scale = a_scale.max(b_scale);
    let stretched = |value: i128, own: u16| match scale - own {
        0 => Some(value),
        more => value.checked_mul(narrow_power(more.into())?.cast_signed()),
    };
    Some((stretched(a, a_scale)?, stretched(b, b_scale)?, scale))
}

impl Numeric {
    /// Both numbers, if they are.
    fn decimals(&self, other: &Self) -> Option<(Decimal, Decimal)> {
        Some((self.decimal()?, other.decimal()?))
    }

    /// The infinity of a sign; NaN for 0.
    fn infinity_of(sign: i32) -> Self {
        match sign {
            1 => Self::INFINITY,
            -1 => Self::NEGATIVE_INFINITY,
            _ => Self::NAN,
        }
    }

    /// The sum, with the larger scale.
    pub fn checked_add(&self, other: &Self) -> Result<Self, SqlError> {
        if let Some((a, b, scale)) = aligned(self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Ok(Self::from_unscaled(sum, scale));
        }
        match self.decimals(other) {
            Some((a, b)) => Self::of_decimal(a.plus(&b)),
            None if self.is_nan() || other.is_nan() => Ok(Self::NAN),
            None if self.is_infinite() && other.is_infinite() && self != other => Ok(Self::NAN),
            None => Ok(if self.is_infinite() { self.clone() } else { other.clone() }),
        }
    }

    /// The difference, with the larger scale.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, SqlError> {
        self.checked_add(&other.negated())
    }

    /// The product; the scales add up, and it is rounded where that is more than 16383 digits.
    pub fn checked_mul(&self, other: &Self) -> Result<Self, SqlError> {
        if let (Some((a, a_scale)), Some((b, b_scale))) = (self.unscaled(), other.unscaled())
            && let (Some(product), scale @ 0..=SCALE_MAX) = (a.checked_mul(b), i32::from(a_scale) + i32::from(b_scale))
        {
            return Ok(Self::from_unscaled(product, scale.unsigned_abs() as u16));
        }
        match self.decimals(other) {
            Some((a, b)) => {
                let product = a.times(&b);
                Self::of_decimal(if product.scale > SCALE_MAX { product.rounded(SCALE_MAX) } else { product })
            }
            None if self.is_nan() || other.is_nan() => Ok(Self::NAN),
            None => Ok(Self::infinity_of(self.signum() * other.signum())),
        }
    }

    /// The quotient. Its scale gives it sixteen digits at least, and is not below those of both.
    pub fn checked_div(&self, divisor: &Self) -> Result<Self, SqlError> {
        self.divided(divisor, Behind::Rounded)
    }

    /// The scale of the quotient of two numbers, without the quotient.
    pub fn scale_of_quotient(&self, divisor: &Self) -> Result<u16, SqlError> {
        let (Some(dividend), Some(divisor)) = (self.narrow(), divisor.narrow()) else {
            return Ok(self.checked_div(divisor)?.scale().unwrap_or(0));
        };
        if divisor.unscaled == 0 {
            return Err(division_by_zero());
        }
        Ok(u16::try_from(dividend.scale_of_quotient(divisor)).expect("it is at most 1000"))
    }

    /// The quotient without its digits after the point.
    pub fn div_trunc(&self, divisor: &Self) -> Result<Self, SqlError> {
        self.divided(divisor, Behind::Cut)
    }

    fn divided(&self, divisor: &Self, behind: Behind) -> Result<Self, SqlError> {
        if let (Some(dividend), Some(by)) = (self.narrow(), divisor.narrow())
            && by.unscaled != 0
            && let Some(quotient) = dividend.divided(by, behind)
        {
            return Ok(quotient.into());
        }
        let Some((dividend, decimal)) = self.decimals(divisor) else {
            return self.divided_specially(divisor);
        };
        if decimal.is_zero() {
            return Err(division_by_zero());
        }
        let scale = if behind == Behind::Cut { 0 } else { quotient_scale(&dividend, &decimal) };
        Self::of_decimal(dividend.over(&decimal, scale, behind))
    }

    fn divided_specially(&self, divisor: &Self) -> Result<Self, SqlError> {
        match () {
            () if self.is_nan() || divisor.is_nan() => Ok(Self::NAN),
            () if divisor.is_infinite() => Ok(if self.is_infinite() { Self::NAN } else { Self::ZERO }),
            () if divisor.signum() == 0 => Err(division_by_zero()),
            () => Ok(Self::infinity_of(self.signum() * divisor.signum())),
        }
    }

    /// What remains of a division without digits after the point. It has the dividend's sign.
    pub fn checked_rem(&self, divisor: &Self) -> Result<Self, SqlError> {
        if let Some((a, b, scale)) = aligned(self, divisor)
            && b != 0
        {
            return Ok(Self::from_unscaled(a.wrapping_rem(b), scale));
        }
        match self.decimals(divisor) {
            Some((_, zero)) if zero.is_zero() => Err(division_by_zero()),
            Some((a, b)) => {
                let scale = a.scale.max(b.scale);
                Self::of_decimal(Decimal::new(a.rounded(scale).unscaled % b.rounded(scale).unscaled, scale))
            }
            None if self.is_nan() || divisor.is_nan() => Ok(Self::NAN),
            None if divisor.is_infinite() && !self.is_infinite() => Ok(self.clone()),
            None if divisor.signum() == 0 => Err(division_by_zero()),
            None => Ok(Self::NAN),
        }
    }

    /// The number with the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        match &self.0 {
            Repr::Nan => Self::NAN,
            Repr::Infinity => Self::NEGATIVE_INFINITY,
            Repr::NegativeInfinity => Self::INFINITY,
            Repr::Wide(wide) => {
                let negated = Decimal::new(-&wide.0, i32::from(wide.1));
                Self::of_decimal(negated).expect("it has no more digits")
            }
            Repr::Narrow { scale, .. } => match self.unscaled().and_then(|(unscaled, _)| unscaled.checked_neg()) {
                Some(unscaled) => Self::from_unscaled(unscaled, *scale),
                None => {
                    let wide = -BigInt::from(i128::MIN);
                    Self::of_decimal(Decimal::new(wide, i32::from(*scale))).expect("2^127 is in range")
                }
            },
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.signum() < 0 { self.negated() } else { self.clone() }
    }

    /// -1, 0 or 1; NaN for NaN.
    #[must_use]
    pub fn sign(&self) -> Self {
        if self.is_nan() { Self::NAN } else { Self::from(self.signum()) }
    }

    /// The number rounded half away from zero, to a number of digits after the point, or before it for a negative one.
    pub fn round(&self, digits: i32) -> Result<Self, SqlError> {
        self.with_digits(digits, Behind::Rounded)
    }

    /// The number with digits cut off, as [`round`](Self::round) counts them.
    pub fn trunc(&self, digits: i32) -> Result<Self, SqlError> {
        self.with_digits(digits, Behind::Cut)
    }

    fn with_digits(&self, digits: i32, behind: Behind) -> Result<Self, SqlError> {
        let digits = digits.clamp(ROUNDING_MIN, SCALE_MAX);
        if let Some(number) = self.narrow().and_then(|number| number.at_scale(digits, behind)) {
            return Ok(number.into());
        }
        match self.decimal() {
            Some(decimal) => Self::of_decimal(decimal.at_scale(digits, behind).with_scale_at_least(0)),
            None => Ok(self.clone()),
        }
    }

    /// The least integer that is not below the number.
    pub fn ceil(&self) -> Result<Self, SqlError> {
        self.toward(1)
    }

    /// The greatest integer that is not above the number.
    pub fn floor(&self) -> Result<Self, SqlError> {
        self.toward(-1)
    }

    fn toward(&self, step: i32) -> Result<Self, SqlError> {
        let cut = self.trunc(0)?;
        let is_cut = cut.compare(self).is_ne() && self.signum() == step;
        if is_cut { cut.checked_add(&Self::from(step)) } else { Ok(cut) }
    }

    /// The scale that its digits need; `None` for infinities and NaN.
    pub fn scale_min(&self) -> Option<u16> {
        self.normal_form().scale()
    }

    /// `n!`
    pub fn factorial(n: i64) -> Result<Self, SqlError> {
        if n < 0 {
            let message = "factorial of a negative number is undefined";
            return Err(SqlError::new(crate::SqlState::NumericOutOfRange, message));
        }
        if n > FACTORIAL_MAX {
            return Err(numeric_overflow());
        }
        // Products of few factors fit a machine word: that is fewer steps over the long number.
        let mut product = BigInt::from(1);
        let mut factors = 1_u64;
        for factor in 2..=n.unsigned_abs() {
            match factors.checked_mul(factor) {
                Some(more) => factors = more,
                None => {
                    product *= factors;
                    factors = factor;
                }
            }
        }
        Self::of_decimal(Decimal::new(product * factors, 0))
    }

    /// The greatest common divisor, with the larger scale; NaN for what has none.
    pub fn gcd(&self, other: &Self) -> Result<Self, SqlError> {
        let Some((a, b)) = self.decimals(other) else { return Ok(Self::NAN) };
        let scale = a.scale.max(b.scale);
        Self::of_decimal(Decimal::new(divisor_of(a.rounded(scale).unscaled, b.rounded(scale).unscaled), scale))
    }

    /// The least common multiple, with the larger scale; NaN for what has none.
    pub fn lcm(&self, other: &Self) -> Result<Self, SqlError> {
        let Some((a, b)) = self.decimals(other) else { return Ok(Self::NAN) };
        let scale = a.scale.max(b.scale);
        if a.is_zero() || b.is_zero() {
            return Self::of_decimal(Decimal::new(0, scale));
        }
        let (a, b) = (a.abs().rounded(scale).unscaled, b.abs().rounded(scale).unscaled);
        let divisor = divisor_of(a.clone(), b.clone());
        Self::of_decimal(Decimal::new(a / divisor * b, scale))
    }

    /// The bucket, from 1, of those of equal width from `low` to `high`, which may be the smaller bound. All are numbers, and this
    /// one is `low`, or between the bounds. PostgreSQL 15 rounds the quotient, so what is near the next bucket is in it; behind the
    /// last is one more.
    pub(crate) fn bucket(&self, low: &Self, high: &Self, count: i32) -> Option<i32> {
        let ((operand, low), high) = (self.decimals(low)?, high.decimal()?);
        let (distance, width) = (operand.minus(&low).times(&Decimal::new(count, 0)), high.minus(&low));
        let buckets = distance.over(&width, quotient_scale(&distance, &width), Behind::Rounded).cut(0);
        i32::try_from(&buckets.unscaled).ok()?.checked_add(1)
    }
}

/// The greatest common divisor by Euclid. Each step halves the larger integer at least every second time.
fn divisor_of(mut a: BigInt, mut b: BigInt) -> BigInt {
    while b.sign() != num_bigint::Sign::NoSign {
        (a, b) = (b.clone(), a % b);
    }
    BigInt::from(a.magnitude().clone())
}
