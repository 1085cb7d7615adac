//! Quotients, roots and rounding of numbers of 128 bits, without allocation.
//!
//! Integers in between have 256 bits. A function returns `None` where that does not suffice: then [`Decimal`](super::decimal)
//! computes the same result.

use arrow::datatypes::i256;

use super::decimal::{Behind, GROUP_DIGITS};
use super::scales::{quotient_exponent, result_scale, root_scale};
use super::sums::Spread;

/// The largest power of ten of 128 bits: `10^38 < 2^127`.
const EXPONENT_MAX: usize = 38;

/// `10^0` to `10^38`
const POWERS_OF_TEN: [u128; EXPONENT_MAX + 1] = {
    let mut powers = [1; EXPONENT_MAX + 1];
    let mut exponent = 1;
    while exponent <= EXPONENT_MAX {
        powers[exponent] = 10 * powers[exponent - 1];
        exponent += 1;
    }
    powers
};

/// Bits of a root that Newton's method has after one step: a double has 53, and each step doubles them, less one for its rounding.
const BITS_AFTER_ONE_STEP: u32 = 2 * 52;

/// `unscaled / 10^scale`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrow {
    pub unscaled: i128,
    pub scale: i32,
}

/// `10^exponent`
pub(super) fn narrow_power(exponent: u32) -> Option<u128> {
    POWERS_OF_TEN.get(exponent as usize).copied()
}

impl Narrow {
    pub fn new(unscaled: i128, scale: u16) -> Self {
        Self { unscaled, scale: i32::from(scale) }
    }

    /// The power of 10000 of the first group of digits, and this group, as PostgreSQL keeps them; 0 and 0 for 0.
    fn first_group(self) -> (i64, u128) {
        let magnitude = self.unscaled.unsigned_abs();
        // The logarithm of 64 bits takes a fraction of the time of that of 128.
        let log = u64::try_from(magnitude).map_or_else(|_| magnitude.checked_ilog10(), u64::checked_ilog10);
        let Some(log) = log else { return (0, 0) };
        let weight = (i64::from(log) - i64::from(self.scale)).div_euclid(GROUP_DIGITS);
        // The group's last digit is this many places before the number's last: from -3 to 38.
        let place = i64::from(self.scale) + weight * GROUP_DIGITS;
        let power = POWERS_OF_TEN[place.unsigned_abs() as usize];
        (weight, if place >= 0 { divided(magnitude, power).0 } else { magnitude * power })
    }

    /// The quotient, at the scale that PostgreSQL gives it or cut to an integer. The divisor is not 0.
    pub fn divided(self, divisor: Self, behind: Behind) -> Option<Self> {
        let scale = match behind {
            Behind::Cut => 0,
            Behind::Rounded => self.scale_of_quotient(divisor),
        };
        self.over(divisor, scale, behind)
    }

    /// The scale of the quotient. The divisor is not 0.
    pub fn scale_of_quotient(self, divisor: Self) -> i32 {
        let exponent = quotient_exponent(self.first_group(), divisor.first_group());
        result_scale(exponent, &[self.scale, divisor.scale])
    }

    /// The quotient at a scale. The divisor is not 0.
    fn over(self, divisor: Self, scale: i32, behind: Behind) -> Option<Self> {
        let shift = scale + divisor.scale - self.scale;
        let power = narrow_power(shift.unsigned_abs())?;
        let (dividend, by) = (self.unscaled.unsigned_abs(), divisor.unscaled.unsigned_abs());
        let magnitude = match (shift >= 0, dividend.checked_mul(power), by.checked_mul(power)) {
            (true, Some(dividend), _) => quotient(dividend, by, behind),
            (true, None, _) => wide_quotient(product(dividend, power)?, by, behind)?,
            (false, _, Some(by)) => quotient(dividend, by, behind),
            // Less than half of the last place: 2^128 is twice the largest dividend.
            (false, _, None) => 0,
        };
        let is_negative = (self.unscaled < 0) != (divisor.unscaled < 0);
        Some(Self { unscaled: signed(magnitude, is_negative)?, scale })
    }

    /// The number with this many digits after the point, or zeros before it for a negative scale.
    pub fn at_scale(self, scale: i32, behind: Behind) -> Option<Self> {
        if self.unscaled == 0 {
            return Some(Self { unscaled: 0, scale: scale.max(0) });
        }
        let power = |digits: i32| narrow_power(digits.unsigned_abs());
        if scale >= self.scale {
            let power = i128::try_from(power(scale - self.scale)?).ok()?;
            return Some(Self { unscaled: self.unscaled.checked_mul(power)?, scale });
        }
        // Half of 10^39 is more than 2^127.
        let cut = power(self.scale - scale).map_or(0, |by| quotient(self.unscaled.unsigned_abs(), by, behind));
        let zeros = power(scale.min(0));
        let magnitude = if cut == 0 { 0 } else { cut.checked_mul(zeros?)? };
        Some(Self { unscaled: signed(magnitude, self.unscaled < 0)?, scale: scale.max(0) })
    }

    /// The square root at the scale that PostgreSQL gives it. The number is not negative.
    pub fn square_root(self) -> Option<Self> {
        self.root(root_scale(self.first_group().0, self.scale))
    }

    /// The square root at a scale. The number is not negative.
    fn root(self, scale: i32) -> Option<Self> {
        // The root of the number with twice the digits, and two for rounding, is an integer.
        let shift = 2 * (scale + 1) - self.scale;
        let power = narrow_power(shift.unsigned_abs())?;
        let unscaled = self.unscaled.unsigned_abs();
        let radicand = if shift >= 0 { product(unscaled, power)? } else { wide(unscaled / power)? };
        Some(Self { unscaled: i128::try_from((floor_root(radicand) + 5) / 10).ok()?, scale })
    }
}

/// The variance, or its root, of `count` integers with this sum and this sum of squares.
pub(super) fn variance(sum: Narrow, squares: Narrow, count: i64, spread: Spread, is_deviation: bool) -> Option<Narrow> {
    if squares.scale != 2 * sum.scale {
        return None;
    }
    let count = i128::from(count);
    let dividend = squares.unscaled.checked_mul(count)?.checked_sub(sum.unscaled.checked_mul(sum.unscaled)?)?;
    if dividend <= 0 {
        return Some(Narrow { unscaled: 0, scale: 0 });
    }
    let others = if spread == Spread::Sample { count - 1 } else { count };
    let divisor = Narrow { unscaled: count * others, scale: 0 };
    let variance = Narrow { unscaled: dividend, scale: squares.scale }.divided(divisor, Behind::Rounded)?;
    if is_deviation { variance.root(variance.scale) } else { Some(variance) }
}

fn signed(magnitude: u128, is_negative: bool) -> Option<i128> {
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if is_negative { -magnitude } else { magnitude })
}

fn wide(integer: u128) -> Option<i256> {
    Some(i256::from_parts(integer, 0))
}

fn product(a: u128, b: u128) -> Option<i256> {
    wide(a)?.checked_mul(wide(b)?)
}

/// Quotient and rest. A division of 64 bits takes a fraction of the time of one of 128.
fn divided(dividend: u128, divisor: u128) -> (u128, u128) {
    match (u64::try_from(dividend), u64::try_from(divisor)) {
        (Ok(dividend), Ok(divisor)) => ((dividend / divisor).into(), (dividend % divisor).into()),
        _ => (dividend / divisor, dividend % divisor),
    }
}

fn quotient(dividend: u128, divisor: u128, behind: Behind) -> u128 {
    let (quotient, rest) = divided(dividend, divisor);
    // Twice the rest is at least the divisor.
    quotient + u128::from(behind == Behind::Rounded && rest >= divisor - rest)
}

fn wide_quotient(dividend: i256, divisor: u128, behind: Behind) -> Option<u128> {
    let divisor = wide(divisor)?;
    let quotient = dividend.checked_div(divisor)?;
    let rest = dividend.wrapping_sub(quotient.wrapping_mul(divisor));
    let (quotient, 0) = quotient.to_parts() else { return None };
    let rounds_up = behind == Behind::Rounded && rest >= divisor.wrapping_sub(rest);
    quotient.checked_add(u128::from(rounds_up))
}

/// The largest integer whose square is at most `radicand`, which is not negative.
fn floor_root(radicand: i256) -> u128 {
    let (low, high) = radicand.to_parts();
    if high == 0 {
        return low.isqrt();
    }
    // 2^128
    const HIGH: f64 = (1_u128 << 127) as f64 * 2.0;
    let estimate = (high as f64 * HIGH + low as f64).sqrt() as u128;
    let step = |root: u128| {
        let root = i256::from_parts(root, 0);
        let (sum, _) = (root.wrapping_add(radicand.wrapping_div(root)) >> 1_u8).to_parts();
        sum
    };
    let mut root = step(estimate);
    if 256 - radicand.leading_zeros() > 2 * BITS_AFTER_ONE_STEP {
        root = step(root);
    }
    let is_above = |root: u128| {
        let root = i256::from_parts(root, 0);
        root.checked_mul(root).is_none_or(|square| square > radicand)
    };
    while is_above(root) {
        root -= 1;
    }
    while !is_above(root + 1) {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use braid_base::{Random as _, SeededRandom};
    use num_bigint::BigInt;

    use super::super::decimal::Decimal;
    use super::super::scales::quotient_scale;
    use super::*;

    /// Integers of all lengths, and those beside powers of two and ten.
    fn integers() -> Vec<i128> {
        let mut random = SeededRandom::new(7);
        let mut integers = vec![0, 1, -1, i128::MAX, i128::MIN, i128::MIN + 1];
        for bits in 1..127 {
            let magnitude = (u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())) >> (128 - bits);
            integers.extend([magnitude as i128, -(magnitude as i128), (1 << bits) - 1, 1 << bits]);
        }
        integers.extend(
            POWERS_OF_TEN.iter().flat_map(|power| [*power as i128, *power as i128 - 1, 5 * (*power as i128 / 10)]),
        );
        integers
    }

    fn decimal(number: Narrow) -> Decimal {
        Decimal::new(number.unscaled, number.scale)
    }

    fn check(narrow: Option<Narrow>, wide: &Decimal, what: &str) {
        if let Some(narrow) = narrow {
            assert_eq!((BigInt::from(narrow.unscaled), narrow.scale), (wide.unscaled.clone(), wide.scale), "{what}");
        } else {
            // Only results or integers in between that are long are left to the other way.
            assert!(wide.unscaled.bits() > 60, "{what}");
        }
    }

    #[test]
    fn quotients_are_those_of_wide_integers() {
        let integers = integers();
        let mut count = 0;
        for (at, dividend) in integers.iter().enumerate() {
            for (other, divisor) in
                integers.iter().enumerate().skip(at % 5).step_by(5).filter(|(_, divisor)| **divisor != 0)
            {
                let [scale, divisor_scale] = [(at * 7 + other) as i32 % 21, (at + other * 5) as i32 % 18];
                let (a, b) =
                    (Narrow { unscaled: *dividend, scale }, Narrow { unscaled: *divisor, scale: divisor_scale });
                for behind in [Behind::Rounded, Behind::Cut] {
                    let scale = if behind == Behind::Cut { 0 } else { quotient_scale(&decimal(a), &decimal(b)) };
                    let result = a.divided(b, behind);
                    count += usize::from(result.is_some());
                    let wide = decimal(a).over(&decimal(b), scale, behind);
                    if result.is_some() {
                        check(result, &wide, &format!("{a:?} / {b:?}"));
                    }
                }
            }
        }
        assert!(5 * count > integers.len() * integers.len(), "most fit 128 bits: {count}");
    }

    #[test]
    fn rounding_is_that_of_wide_integers() {
        for (at, unscaled) in integers().into_iter().enumerate() {
            let number = Narrow { unscaled, scale: at as i32 % 41 };
            for scale in -45..45 {
                for behind in [Behind::Rounded, Behind::Cut] {
                    let wide = match behind {
                        Behind::Rounded => decimal(number).rounded(scale),
                        Behind::Cut => decimal(number).cut(scale),
                    };
                    check(number.at_scale(scale, behind), &wide.with_scale_at_least(0), &format!("{number:?} {scale}"));
                }
            }
        }
    }

    #[test]
    fn roots_are_floors() {
        for low in integers().into_iter().filter(|low| *low >= 0) {
            for high in integers().into_iter().filter(|high| (0..1 << 120).contains(high)).step_by(9) {
                let radicand = i256::from_parts(low as u128, high);
                let expected = ((BigInt::from(high) << 128_u8) + BigInt::from(low)).sqrt();
                assert_eq!(BigInt::from(floor_root(radicand)), expected, "{radicand}");
            }
        }
    }
}
