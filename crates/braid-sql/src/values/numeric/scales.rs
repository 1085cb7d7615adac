//! The scale of a quotient, a root, a logarithm, an exponential and a power.
//!
//! PostgreSQL gives such results at least sixteen digits that count, and at least the scales of the arguments. It counts in groups
//! of four digits where that is cheaper, which is why `1/3` has twenty digits after the point.

use super::decimal::{Decimal, GROUP_DIGITS};

/// Digits that a result has at least, from its first that is not 0.
pub(super) const SIGNIFICANT_DIGITS: i64 = 16;

/// The largest scale that these results have.
pub(super) const RESULT_SCALE_MAX: i64 = 1000;

/// log10(e), to the digits with which PostgreSQL estimates.
#[expect(clippy::approx_constant, reason = "PostgreSQL estimates with these digits")]
pub(super) const LOG10_E: f64 = 0.434_294_481_903_252;

/// ln(10), to the digits with which PostgreSQL estimates.
const LN_10: f64 = std::f64::consts::LN_10;

/// The scale that gives a result its digits, where `exponent` is the power of ten of its first: at least the scales of the
/// arguments, at most 1000.
pub(super) fn result_scale(exponent: i64, scales: &[i32]) -> i32 {
    let given = scales.iter().copied().max().map_or(0, i64::from);
    let scale = (SIGNIFICANT_DIGITS - exponent).max(given).clamp(0, RESULT_SCALE_MAX);
    i32::try_from(scale).expect("it is at most 1000")
}

/// A quotient's.
pub(super) fn quotient_scale(dividend: &Decimal, divisor: &Decimal) -> i32 {
    let first_group = |decimal: &Decimal| {
        let group = if decimal.is_zero() { 0 } else { decimal.first_groups(1) };
        (decimal.weight(), u128::from(group))
    };
    result_scale(quotient_exponent(first_group(dividend), first_group(divisor)), &[dividend.scale, divisor.scale])
}

/// The exponent of a quotient's first group of digits, estimated from the weights and the values of the first groups of both.
pub(super) fn quotient_exponent(dividend: (i64, u128), divisor: (i64, u128)) -> i64 {
    let borrows = dividend.1 <= divisor.1;
    (dividend.0 - divisor.0 - i64::from(borrows)) * GROUP_DIGITS
}

/// A square root's, of a number with this weight and scale.
pub(super) fn root_scale(weight: i64, scale: i32) -> i32 {
    let exponent = (weight + 1) * GROUP_DIGITS / 2 - 1;
    result_scale(exponent, &[scale])
}

/// The exponent of the first digit of a natural logarithm, estimated. The argument is positive.
pub(super) fn logarithm_exponent(argument: &Decimal) -> i64 {
    if argument.is_zero() || argument.is_negative() {
        return 0;
    }
    let difference = argument.minus(&Decimal::new(1, 0));
    if difference.is_zero() {
        return 0;
    }
    // Between 0.9 and 1.1, ln(1 + x) is about x.
    if difference.clone().abs().compare(&Decimal::new(1, 1)).is_le() {
        return difference.exponent();
    }
    let exponent = (argument.weight() - 1) * GROUP_DIGITS;
    let logarithm = (argument.first_groups(2) as f64).ln() + exponent as f64 * LN_10;
    logarithm.abs().log10() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_digits_are_postgresqls() {
        let decimal = |unscaled: i64, scale| Decimal::new(unscaled, scale);
        for (number, weight, first) in [
            (decimal(1, 0), 0, 1),
            (decimal(12_345, 0), 1, 1),
            (decimal(12_345, 1), 0, 1234),
            (decimal(5, 1), -1, 5000),
            (decimal(5, 5), -2, 5000),
            (decimal(500_000, 10), -2, 5000),
        ] {
            assert_eq!((number.weight(), number.first_groups(1)), (weight, first), "{number:?}");
        }
    }

    #[test]
    fn logarithms_near_one_are_small() {
        for (unscaled, scale, exponent) in [
            (10_001, 4, -4),
            (11, 1, -1),
            (9, 1, -1),
            (91, 2, -2),
            (89, 2, 0),
            (12, 1, 0),
            (1, 0, 0),
            (3, 0, 0),
            (100, 0, 0),
        ] {
            assert_eq!(logarithm_exponent(&Decimal::new(unscaled, scale)), exponent, "{unscaled} {scale}");
        }
    }
}
