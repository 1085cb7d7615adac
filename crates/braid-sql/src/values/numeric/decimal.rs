//! Integers of any width with a scale: what computes where 128 bits do not suffice.
//!
//! Nothing here has limits: a caller checks them before digits are made, or when it makes a [`Numeric`](super::Numeric) of a result.
//! Scales may be negative in between.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// Digits that PostgreSQL keeps as one: the weight of a number counts groups of four.
pub(super) const GROUP_DIGITS: i64 = 4;

/// `unscaled / 10^scale`
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    pub unscaled: BigInt,
    pub scale: i32,
}

/// What happens to digits behind the last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Half or more rounds away from zero.
    Rounded,
    /// They are cut.
    Cut,
}

impl Decimal {
    pub fn new(unscaled: impl Into<BigInt>, scale: i32) -> Self {
        Self { unscaled: unscaled.into(), scale }
    }

    pub fn is_zero(&self) -> bool {
        self.unscaled.sign() == Sign::NoSign
    }

    pub fn is_negative(&self) -> bool {
        self.unscaled.sign() == Sign::Minus
    }

    pub fn abs(self) -> Self {
        Self { unscaled: BigInt::from(self.unscaled.magnitude().clone()), ..self }
    }

    /// Rounded half away from zero. A larger scale appends zeros.
    pub fn rounded(&self, scale: i32) -> Self {
        self.at_scale(scale, Behind::Rounded)
    }

    /// With digits behind the scale cut off. A larger scale appends zeros.
    pub fn cut(&self, scale: i32) -> Self {
        self.at_scale(scale, Behind::Cut)
    }

    /// With this many digits after the point. A larger scale appends zeros.
    pub fn at_scale(&self, scale: i32, behind: Behind) -> Self {
        if scale >= self.scale {
            return Self::new(&self.unscaled * power_of_ten(scale.abs_diff(self.scale)), scale);
        }
        // Less than 0.1 of the last place is 0 when rounded, and costs no power.
        if i64::from(scale) < -self.exponent() - 1 {
            return Self::new(0, scale);
        }
        Self::new(quotient(&self.unscaled, &power_of_ten(scale.abs_diff(self.scale)), behind), scale)
    }

    /// With zeros appended up to a scale; unchanged if it has that scale or a larger one.
    pub fn with_scale_at_least(self, scale: i32) -> Self {
        if self.scale >= scale { self } else { self.rounded(scale) }
    }

    /// Without zeros at the end behind the point.
    pub fn trimmed(&self) -> Self {
        let digits = self.unscaled.to_string();
        let zeros = digits.bytes().rev().take_while(|c| *c == b'0').count();
        let zeros = i32::try_from(zeros).unwrap_or(i32::MAX);
        let scale = if self.is_zero() { 0 } else { (self.scale - zeros).max(0) };
        if scale < self.scale { self.cut(scale) } else { self.clone() }
    }

    pub fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self::new(self.rounded(scale).unscaled + other.rounded(scale).unscaled, scale)
    }

    pub fn minus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self::new(self.rounded(scale).unscaled - other.rounded(scale).unscaled, scale)
    }

    /// Exact: the scales add up.
    pub fn times(&self, other: &Self) -> Self {
        Self::new(&self.unscaled * &other.unscaled, self.scale + other.scale)
    }

    /// The quotient at a scale. The divisor is not 0.
    pub fn over(&self, divisor: &Self, scale: i32, behind: Behind) -> Self {
        let shift = scale + divisor.scale - self.scale;
        let power = power_of_ten(shift.unsigned_abs());
        let unscaled = match shift {
            0.. => quotient(&(&self.unscaled * power), &divisor.unscaled, behind),
            _ => quotient(&self.unscaled, &(&divisor.unscaled * power), behind),
        };
        Self::new(unscaled, scale)
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let by_size = |a: &Self, b: &Self| a.exponent().cmp(&b.exponent());
        match self.unscaled.sign().cmp(&other.unscaled.sign()) {
            Ordering::Equal if self.is_zero() => Ordering::Equal,
            Ordering::Equal => {
                let by_size = by_size(self, other);
                let by_size = if self.is_negative() { by_size.reverse() } else { by_size };
                by_size.then_with(|| self.minus(other).unscaled.sign().cmp(&Sign::NoSign))
            }
            unequal => unequal,
        }
    }

    /// The power of ten of the first digit: 2 for 123.4; -1 for 0 with scale 0.
    pub fn exponent(&self) -> i64 {
        digit_count(&self.unscaled) - 1 - i64::from(self.scale)
    }

    /// The power of 10000 of the first group of digits, as PostgreSQL keeps them; 0 for 0.
    pub fn weight(&self) -> i64 {
        if self.is_zero() { 0 } else { self.exponent().div_euclid(GROUP_DIGITS) }
    }

    /// The first groups of digits, as an integer.
    pub fn first_groups(&self, count: i64) -> u64 {
        let scale = (count - 1 - self.weight()) * GROUP_DIGITS;
        let scale = i32::try_from(scale).expect("weights are within 2^17");
        let groups = self.cut(scale).unscaled;
        u64::try_from(groups.magnitude()).expect("four groups are sixteen digits")
    }

    /// Near to the number; infinite if it is too large.
    pub fn approximate(&self) -> f64 {
        format!("{}e{}", self.unscaled, -i64::from(self.scale)).parse().expect("digits and an exponent are a float")
    }
}

fn quotient(dividend: &BigInt, divisor: &BigInt, behind: Behind) -> BigInt {
    let quotient = dividend / divisor;
    if behind == Behind::Cut {
        return quotient;
    }
    let rest = dividend - &quotient * divisor;
    if (rest.magnitude() << 1_u8) < *divisor.magnitude() {
        return quotient;
    }
    if dividend.sign() == divisor.sign() { quotient + 1 } else { quotient - 1 }
}

/// Decimal digits of an integer; 0 has none.
fn digit_count(integer: &BigInt) -> i64 {
    if let Ok(narrow) = u128::try_from(integer.magnitude()) {
        return narrow.checked_ilog10().map_or(0, |log| i64::from(log) + 1);
    }
    // 2^(bits - 1) has this many digits, or one less. 2^19 bits are far from where the factor's error shows.
    let digits_min = ((integer.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
    let has_more = *integer.magnitude() >= *power_of_ten(digits_min + 1).magnitude();
    i64::from(digits_min) + if has_more { 2 } else { 1 }
}

/// `10^exponent`
pub(super) fn power_of_ten(exponent: u32) -> BigInt {
    match 10_u128.checked_pow(exponent) {
        Some(power) => BigInt::from(power),
        None => BigInt::from(10_u8).pow(exponent),
    }
}
