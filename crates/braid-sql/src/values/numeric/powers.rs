//! Roots, exponentials, logarithms and powers of numerics.
//!
//! The scales of the results and of what is computed in between are PostgreSQL's: the rounding of a logarithm shows in the power
//! that is made of it. What it says of infinities and NaN is what POSIX says of `pow` and `log`.

use super::decimal::{Behind, Decimal, GROUP_DIGITS};
use super::narrow::Narrow;
use super::scales::{LOG10_E, RESULT_SCALE_MAX, SIGNIFICANT_DIGITS, logarithm_exponent, result_scale, root_scale};
use super::series::{exponential, natural_logarithm};
use super::{Numeric, Repr, WHOLE_DIGITS_MAX, division_by_zero, numeric_overflow};
use crate::{SqlError, SqlState};

/// Exponents of e from which on a power overflows, or is 0: `3 * 2000`.
const EXPONENT_MAX: f64 = 6000.0;

/// The same for an estimated exponent.
const ESTIMATED_EXPONENT_MAX: f64 = 2000.0 * 3.01;

/// Digits that are computed behind those of a result.
const GUARD_DIGITS: i64 = 8;

pub(crate) fn root_of_negative() -> SqlError {
    SqlError::new(SqlState::InvalidPowerArgument, "cannot take square root of a negative number")
}

pub(crate) fn zero_to_negative_power() -> SqlError {
    SqlError::new(SqlState::InvalidPowerArgument, "zero raised to a negative power is undefined")
}

pub(crate) fn complex_power() -> SqlError {
    let message = "a negative number raised to a non-integer power yields a complex result";
    SqlError::new(SqlState::InvalidPowerArgument, message)
}

pub(crate) fn logarithm_of_zero() -> SqlError {
    SqlError::new(SqlState::InvalidLogarithmArgument, "cannot take logarithm of zero")
}

pub(crate) fn logarithm_of_negative() -> SqlError {
    SqlError::new(SqlState::InvalidLogarithmArgument, "cannot take logarithm of a negative number")
}

fn scale_of(digits: i64) -> i32 {
    i32::try_from(digits.max(0)).expect("scales are below 2^20")
}

/// The square root at a scale. The radicand is not negative.
pub(super) fn root(radicand: &Decimal, scale: i32) -> Decimal {
    // The root of the number with twice the digits, and two for rounding, is an integer.
    let shifted = radicand.cut(2 * (scale + 1));
    Decimal::new(shifted.unscaled.sqrt(), scale + 1).rounded(scale)
}

impl Numeric {
    /// The square root.
    pub fn sqrt(&self) -> Result<Self, SqlError> {
        if self.signum() < 0 {
            return Err(root_of_negative());
        }
        if let Some(root) = self.narrow().and_then(Narrow::square_root) {
            return Ok(root.into());
        }
        let Some(radicand) = self.decimal() else { return Ok(self.clone()) };
        Self::of_decimal(root(&radicand, root_scale(radicand.weight(), radicand.scale)))
    }

    /// `e^x`
    pub fn exp(&self) -> Result<Self, SqlError> {
        let Some(exponent) = self.decimal() else {
            return Ok(if self.0 == Repr::NegativeInfinity { Self::ZERO } else { self.clone() });
        };
        let digits = (exponent.approximate() * LOG10_E).clamp(-2000.0, 2000.0) as i64;
        Self::of_decimal(power_of_e(&exponent, result_scale(digits, &[exponent.scale]))?)
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Result<Self, SqlError> {
        if self.signum() < 0 {
            return Err(logarithm_of_negative());
        }
        let Some(argument) = self.decimal() else { return Ok(self.clone()) };
        if argument.is_zero() {
            return Err(logarithm_of_zero());
        }
        let scale = result_scale(logarithm_exponent(&argument), &[argument.scale]);
        Self::of_decimal(natural_logarithm(&argument, scale))
    }

    /// The logarithm to a base: `ln(x) / ln(base)`.
    pub fn log(base: &Self, argument: &Self) -> Result<Self, SqlError> {
        if base.is_nan() || argument.is_nan() {
            return Ok(Self::NAN);
        }
        let (Some(base_digits), Some(digits)) = (base.decimal(), argument.decimal()) else {
            return Self::log_of_infinities(base, argument);
        };
        for sign in [base.signum(), argument.signum()] {
            match sign {
                0 => return Err(logarithm_of_zero()),
                -1 => return Err(logarithm_of_negative()),
                _ => {}
            }
        }
        let (base_exponent, exponent) = (logarithm_exponent(&base_digits), logarithm_exponent(&digits));
        let scale = result_scale(exponent - base_exponent, &[base_digits.scale, digits.scale]);
        let significant = i64::from(scale) + exponent - base_exponent + GUARD_DIGITS;
        let base_logarithm = natural_logarithm(&base_digits, scale_of(significant - base_exponent));
        let logarithm = natural_logarithm(&digits, scale_of(significant - exponent));
        if base_logarithm.is_zero() {
            return Err(division_by_zero());
        }
        Self::of_decimal(logarithm.over(&base_logarithm, scale, Behind::Rounded))
    }

    fn log_of_infinities(base: &Self, argument: &Self) -> Result<Self, SqlError> {
        match (base.signum(), argument.signum()) {
            (-1, _) | (_, -1) => Err(logarithm_of_negative()),
            (0, _) | (_, 0) => Err(logarithm_of_zero()),
            _ if base.is_infinite() && argument.is_infinite() => Ok(Self::NAN),
            _ => Ok(if base.is_infinite() { Self::ZERO } else { Self::INFINITY }),
        }
    }

    /// `base^exponent`
    pub fn power(&self, exponent: &Self) -> Result<Self, SqlError> {
        let is = |number: &Self, value: &Self| number.compare(value).is_eq();
        if self.is_nan() || exponent.is_nan() {
            let is_one = is(self, &Self::ONE) || is(exponent, &Self::ZERO);
            return Ok(if is_one { Self::ONE } else { Self::NAN });
        }
        if self.signum() == 0 && exponent.signum() < 0 {
            return Err(zero_to_negative_power());
        }
        if self.signum() < 0 && exponent.scale_min().is_some_and(|scale| scale > 0) {
            return Err(complex_power());
        }
        match (self.decimal(), exponent.decimal()) {
            (Some(base), Some(exponent)) => Self::of_decimal(power(&base, &exponent)?),
            _ => Ok(self.power_of_infinities(exponent)),
        }
    }

    fn power_of_infinities(&self, exponent: &Self) -> Self {
        let of = |is_infinite: bool| if is_infinite { Self::INFINITY } else { Self::ZERO };
        let size = self.abs().compare(&Self::ONE);
        match (self.signum(), exponent.signum()) {
            _ if size.is_eq() && (self.signum() > 0 || exponent.is_infinite()) => Self::ONE,
            (_, 0) => Self::ONE,
            (0, _) => Self::ZERO,
            (_, sign) if exponent.is_infinite() => of(size.is_gt() == (sign > 0)),
            (1, sign) => of(sign > 0),
            (_, -1) => Self::ZERO,
            _ if exponent.decimal().is_some_and(|exponent| is_odd(&exponent)) => Self::NEGATIVE_INFINITY,
            _ => Self::INFINITY,
        }
    }
}

fn is_odd(integer: &Decimal) -> bool {
    integer.cut(0).unscaled.bit(0)
}

/// `e^exponent` at a scale; 0 where it is too small.
fn power_of_e(exponent: &Decimal, scale: i32) -> Result<Decimal, SqlError> {
    let size = exponent.approximate();
    if size.abs() < EXPONENT_MAX {
        return Ok(exponential(exponent, scale));
    }
    if size > 0.0 { Err(numeric_overflow()) } else { Ok(Decimal::new(0, scale)) }
}

fn power(base: &Decimal, exponent: &Decimal) -> Result<Decimal, SqlError> {
    let integer = exponent.cut(0);
    let is_integer = integer.compare(exponent).is_eq();
    if is_integer && let Ok(exponent) = i32::try_from(&integer.unscaled) {
        let scale = result_scale(0, &[base.scale]);
        return integer_power(base, exponent, scale);
    }
    if base.is_zero() {
        return Ok(Decimal::new(0, scale_of(SIGNIFICANT_DIGITS)));
    }
    let result = positive_power(&base.clone().abs(), exponent)?;
    let is_negative = base.is_negative() && is_odd(&integer);
    Ok(if is_negative { Decimal::new(-result.unscaled, result.scale) } else { result })
}

/// `e^(exponent * ln(base))`, of a positive base. A first estimate of the result says how many digits the logarithm needs.
fn positive_power(base: &Decimal, exponent: &Decimal) -> Result<Decimal, SqlError> {
    let logarithm_exponent = logarithm_exponent(base);
    let exponent_of_e = |scale: i32| natural_logarithm(base, scale).times(exponent).rounded(scale);
    let estimate = exponent_of_e(scale_of(GUARD_DIGITS - logarithm_exponent)).approximate();
    if estimate.abs() > ESTIMATED_EXPONENT_MAX {
        return if estimate > 0.0 { Err(numeric_overflow()) } else { Ok(Decimal::new(0, scale_of(RESULT_SCALE_MAX))) };
    }
    let digits = (estimate * LOG10_E) as i64;
    let scale = result_scale(digits, &[base.scale, exponent.scale]);
    let significant = (i64::from(scale) + digits).max(0);
    power_of_e(&exponent_of_e(scale_of(significant - logarithm_exponent + GUARD_DIGITS)), scale)
}

/// A power with an integer as its exponent, by repeated squaring.
fn integer_power(base: &Decimal, exponent: i32, scale: i32) -> Result<Decimal, SqlError> {
    let one = Decimal::new(1, 0);
    match exponent {
        0 => return Ok(one.rounded(scale)),
        1 => return Ok(base.rounded(scale)),
        2 => return Ok(base.times(base).rounded(scale)),
        _ if base.is_zero() && exponent < 0 => return Err(division_by_zero()),
        _ if base.is_zero() => return Ok(Decimal::new(0, scale)),
        -1 => return Ok(one.over(base, scale, Behind::Rounded)),
        _ => {}
    }
    // The power of ten of the result's first digit.
    let estimate = f64::from(exponent) * decimal_logarithm(base);
    if estimate > 3.0 * WHOLE_DIGITS_MAX as f64 {
        return Err(numeric_overflow());
    }
    if estimate + 1.0 < -f64::from(scale) {
        return Ok(Decimal::new(0, scale));
    }
    // Each factor of the product may add an error of one in the last digit.
    let guard = f64::from(exponent).abs().ln() as i64 + GUARD_DIGITS;
    let significant = 1 + i64::from(scale) + estimate as i64 + guard;
    match repeated_product(base, exponent.unsigned_abs(), significant) {
        Some(product) if exponent < 0 && product.is_zero() => Err(division_by_zero()),
        Some(product) if exponent < 0 => Ok(one.over(&product, scale, Behind::Rounded)),
        Some(product) => Ok(product.rounded(scale)),
        None if exponent < 0 => Ok(Decimal::new(0, scale)),
        None => Err(numeric_overflow()),
    }
}

/// The power with a number of digits; `None` if it has too many before the point.
fn repeated_product(base: &Decimal, exponent: u32, significant: i64) -> Option<Decimal> {
    let product = |a: &Decimal, b: &Decimal| {
        let scale = (significant - (a.weight() + b.weight()) * GROUP_DIGITS).min(i64::from(a.scale + b.scale));
        a.times(b).rounded(scale_of(scale))
    };
    let mut square = base.clone();
    let mut result = if exponent & 1 == 1 { base.clone() } else { Decimal::new(1, 0) };
    let mut bits = exponent >> 1;
    while bits > 0 {
        square = product(&square, &square);
        if bits & 1 == 1 {
            result = product(&square, &result);
        }
        if [&square, &result].iter().any(|number| number.weight() * GROUP_DIGITS >= WHOLE_DIGITS_MAX) {
            return None;
        }
        bits >>= 1;
    }
    Some(result)
}

/// log10 of a number's size, near enough to count digits.
fn decimal_logarithm(number: &Decimal) -> f64 {
    let first_place = number.exponent();
    let digits = 16;
    let first_digits = number.clone().abs().cut(scale_to_i32(digits - 1 - first_place)).unscaled;
    let first_digits = u64::try_from(first_digits).unwrap_or(1).max(1);
    (first_digits as f64).log10() + (first_place - digits + 1) as f64
}

fn scale_to_i32(scale: i64) -> i32 {
    i32::try_from(scale).expect("scales are below 2^20")
}
