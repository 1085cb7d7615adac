//! Quotients of numerics, with the digits that PostgreSQL gives them.
//!
//! PostgreSQL's quotient has at least 16 significant digits, more where an operand has more after the point
//! (`select_div_scale` in numeric.c). How many depends on both values, and they are rounded there, half away from zero. A
//! numeric of ours has as many digits after the point as its type; the others are zeros.

use arrow::datatypes::i256;

/// Fewest significant digits of a quotient.
const SIGNIFICANT_DIGITS: i32 = 16;
/// PostgreSQL's digits are of base 10 000.
const GROUP_DIGITS: i32 = 4;

/// A numeric: `unscaled / 10^scale`.
#[derive(Clone, Copy, Debug)]
pub struct Numeric {
    /// All of its digits.
    pub unscaled: i128,
    /// How many of them are after the point.
    pub scale: u8,
}

impl Numeric {
    /// The power of 10 000 of its first digit other than zero, and that digit. Both are 0 for zero.
    fn leading_group(self) -> (i32, u32) {
        let magnitude = self.unscaled.unsigned_abs();
        let Some(log) = magnitude.checked_ilog10() else { return (0, 0) };
        let weight = (log as i32 - i32::from(self.scale)).div_euclid(GROUP_DIGITS);
        let place = i32::from(self.scale) + weight * GROUP_DIGITS;
        // What is left has at most four digits.
        let power = 10_u128.pow(place.unsigned_abs());
        (weight, (if place >= 0 { magnitude / power } else { magnitude * power }) as u32)
    }
}

/// Digits after the point to which PostgreSQL rounds `left / right`.
pub fn quotient_digits(left: Numeric, right: Numeric) -> u32 {
    let ((left_weight, left_group), (right_weight, right_group)) = (left.leading_group(), right.leading_group());
    let weight = left_weight - right_weight - i32::from(left_group <= right_group);
    let digits = SIGNIFICANT_DIGITS - weight * GROUP_DIGITS;
    digits.max(left.scale.into()).max(right.scale.into()).max(0).unsigned_abs()
}

/// `left / right`, unscaled, with `scale` digits after the point: PostgreSQL's value, as far as its digits reach. `None`
/// where it does not fit 38 digits. `right` is not zero.
pub fn numeric_quotient(left: Numeric, right: Numeric, scale: u8) -> Option<i128> {
    let digits = quotient_digits(left, right).min(scale.into());
    // left / 10^a / (right / 10^b) * 10^digits = left * 10^(digits + b - a) / right
    let shift = digits as i32 + i32::from(right.scale) - i32::from(left.scale);
    let power = |exponent: u32| 10_i128.checked_pow(exponent);
    let (up, down) = (shift.max(0).unsigned_abs(), (-shift).max(0).unsigned_abs());
    let narrow = || {
        let (dividend, divisor) = (left.unscaled.checked_mul(power(up)?)?, right.unscaled.checked_mul(power(down)?)?);
        rounded_quotient(dividend, divisor)
    };
    let quotient = narrow().or_else(|| {
        let ten = i256::from_i128(10);
        let dividend = i256::from_i128(left.unscaled).checked_mul(ten.checked_pow(up)?)?;
        let divisor = i256::from_i128(right.unscaled).checked_mul(ten.checked_pow(down)?)?;
        rounded_wide_quotient(dividend, divisor)
    })?;
    let quotient = quotient.checked_mul(power(u32::from(scale) - digits)?)?;
    (quotient.unsigned_abs() < 10_u128.pow(38)).then_some(quotient)
}

/// Rounded half away from zero.
fn rounded_quotient(dividend: i128, divisor: i128) -> Option<i128> {
    // A division of 128 bits takes several times as long as one of 64.
    let (quotient, rest) = match (i64::try_from(dividend), i64::try_from(divisor)) {
        (Ok(dividend), Ok(divisor)) => {
            (i128::from(dividend.checked_div(divisor)?), i128::from(dividend.checked_rem(divisor)?))
        }
        _ => (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?),
    };
    let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
    let rounds_up = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    quotient.checked_add(if rounds_up { away } else { 0 })
}

fn rounded_wide_quotient(dividend: i256, divisor: i256) -> Option<i128> {
    let quotient = dividend.checked_div(divisor)?.to_i128()?;
    let rest = dividend.checked_rem(divisor)?;
    let twice = rest.wrapping_abs().checked_add(rest.wrapping_abs())?;
    let away = if dividend.is_negative() == divisor.is_negative() { 1 } else { -1 };
    quotient.checked_add(if twice >= divisor.wrapping_abs() { away } else { 0 })
}

/// How many of a quotient's `scale` digits after the point are shown: as many as PostgreSQL's, as far as the quotient itself
/// tells. At least `least` are, those of its operands.
pub fn shown_digits(quotient: Numeric, least: u8) -> u8 {
    let scale = i32::from(quotient.scale);
    let magnitude = quotient.unscaled.unsigned_abs();
    let Some(log) = magnitude.checked_ilog10() else { return quotient.scale };
    let weight = (log as i32 - scale).div_euclid(GROUP_DIGITS);
    // The operands' first digits decide between these two.
    let fewer = SIGNIFICANT_DIGITS - weight * GROUP_DIGITS;
    let digits = fewer.max(least.into()).clamp(0, scale);
    let is_exact = magnitude.is_multiple_of(10_u128.pow((scale - digits).unsigned_abs()));
    if is_exact { digits as u8 } else { (fewer + GROUP_DIGITS).max(digits).min(scale) as u8 }
}

/// The square root of a numeric that is not negative, rounded at `digits` after the point.
pub fn numeric_square_root(square: Numeric, digits: u32) -> Option<i128> {
    // root * 10^digits = sqrt(unscaled * 10^(2 * digits - scale))
    let shift = 2 * digits as i32 - i32::from(square.scale);
    let power = i256::from_i128(10).checked_pow(shift.unsigned_abs())?;
    let unscaled = i256::from_i128(square.unscaled);
    let radicand = if shift >= 0 { unscaled.checked_mul(power)? } else { unscaled.checked_div(power)? };
    let root = floor_root(radicand)?;
    let rest = radicand.checked_sub(root.checked_mul(root)?)?;
    let rounded = if rest > root { root.checked_add(i256::ONE)? } else { root };
    rounded.to_i128()
}

/// The largest integer whose square is at most `radicand`: Newton's method from above.
fn floor_root(radicand: i256) -> Option<i256> {
    if radicand == i256::ZERO {
        return Some(i256::ZERO);
    }
    let bits = 256 - radicand.leading_zeros();
    let mut root = i256::ONE << bits.div_ceil(2) as u8;
    loop {
        let next = root.checked_add(radicand.checked_div(root)?)?.checked_div(i256::from_i128(2))?;
        if next >= root {
            return Some(root);
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(unscaled: i128, scale: u8) -> Numeric {
        Numeric { unscaled, scale }
    }

    fn quotient(left: (i128, u8), right: (i128, u8)) -> (Option<i128>, u32, u8) {
        let (left, right) = (numeric(left.0, left.1), numeric(right.0, right.1));
        let value = numeric_quotient(left, right, 20);
        let shown = value.map_or(0, |value| shown_digits(numeric(value, 20), left.scale.max(right.scale)));
        (value, quotient_digits(left, right), shown)
    }

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn quotients_have_postgresqls_digits() {
        for (left, right, value, digits) in [
            ((10, 1), (3, 0), 33_333_333_333_333_333_333, 20),
            ((20, 1), (3, 0), 66_666_666_666_666_666_667, 20),
            ((100, 1), (4, 0), 250_000_000_000_000_000_000, 16),
            ((1_000_000, 1), (3, 0), 3_333_333_333_333_333_300_000_000, 12),
            ((123_456_789_123, 3), (7, 1), 17_636_684_160_428_571_000_000_000_000, 8),
            ((1_000_000_000_000, 0), (70, 1), 14_285_714_285_714_285_714_000_000_000_000, 8),
            ((-10, 1), (3, 0), -33_333_333_333_333_333_333, 20),
            ((1, 3), (7, 0), 14_285_714_285_714_286, 20),
        ] {
            assert_eq!(quotient(left, right), (Some(value), digits, digits as u8), "{left:?} / {right:?}");
        }
        // The digits of an operand are all shown, and no more where they suffice.
        let average = numeric(3_333_333_333_374_485_596_300_000_000_000_000, 20);
        assert_eq!((shown_digits(average, 6), shown_digits(average, 2)), (6, 8));
        // Equal first digits: PostgreSQL expects less than one and shows 20 digits.
        assert_eq!(quotient((50, 1), (5, 0)), (Some(10_i128.pow(20)), 20, 16));
        assert_eq!(quotient((10_i128.pow(37), 0), (1, 20)).0, None);
    }

    #[test]
    fn roots_are_rounded() {
        for (unscaled, scale, digits, root) in [
            (1445, 1, 16, 120_208_152_801_713_079),
            (4, 0, 4, 20_000),
            (0, 0, 16, 0),
            (2, 0, 15, 1_414_213_562_373_095),
        ] {
            assert_eq!(numeric_square_root(numeric(unscaled, scale), digits), Some(root), "{unscaled} {scale}");
        }
    }

    #[test]
    fn wide_and_narrow_quotients_are_equal() {
        for (dividend, divisor) in [(7, 2), (-7, 2), (7, -2), (-20, 3), (1, 3), (5, 10), (4, 10), (i128::MAX / 2, 9)] {
            let wide = rounded_wide_quotient(i256::from_i128(dividend), i256::from_i128(divisor));
            assert_eq!(rounded_quotient(dividend, divisor), wide, "{dividend} / {divisor}");
        }
        assert_eq!(rounded_quotient(-7, 2), Some(-4));
        assert_eq!(rounded_quotient(-20, 3), Some(-7));
    }
}
