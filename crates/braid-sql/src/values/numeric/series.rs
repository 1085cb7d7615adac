//! The natural logarithm and the exponential of numbers with any number of digits.
//!
//! Both compute with integers that are multiples of `2^-bits`. Each operation errs by less than one of these; there are fewer than
//! 2^20 of them, and exponentiation doubles the error of its argument [`HALVINGS`] times. [`GUARD_BITS`] are more than that, by at
//! least 2^64, so that the digits asked for are those of the rounded result, save with a probability of 2^-64.
//!
//! PostgreSQL's own results differ where its eight guard digits are 49999999 or 50000000.

use num_bigint::{BigInt, Sign};

use super::decimal::{Decimal, power_of_ten};

/// Bits behind those that are asked for.
const GUARD_BITS: u64 = 128;

/// How often the argument of the exponential is halved, and its result squared.
const HALVINGS: u64 = 24;

/// Bits that hold a number of decimal digits: log2(10) is less than 3.322.
fn bits_of(digits: i64) -> u64 {
    digits.max(0).unsigned_abs() * 3322 / 1000 + 1
}

/// `ln(argument)`, rounded to a scale. The argument is positive.
pub(super) fn natural_logarithm(argument: &Decimal, scale: i32) -> Decimal {
    let bits = bits_of(i64::from(scale)) + GUARD_BITS;
    let divisor = power_of_ten(argument.scale.max(0).unsigned_abs());
    let (dividend, divisor) = (argument.unscaled.clone(), divisor);
    // argument = m * 2^doublings, where m is near 1: the series is that of ln(m).
    let mut doublings = dividend.bits() as i64 - divisor.bits() as i64;
    let scaled = |doublings: i64| match doublings {
        0.. => (dividend.clone(), &divisor << doublings.unsigned_abs()),
        _ => (&dividend << doublings.unsigned_abs(), divisor.clone()),
    };
    let (mut a, mut b) = scaled(doublings);
    if &a * 3 > &b * 4 {
        doublings += 1;
        (a, b) = scaled(doublings);
    } else if &a * 3 < &b * 2 {
        doublings -= 1;
        (a, b) = scaled(doublings);
    }
    let logarithm = 2 * area_tangent(&((&a - &b) << bits), &(a + b), bits) + doublings * ln_2(bits);
    decimal_of(&logarithm, bits, scale)
}

/// `atanh(dividend / divisor)`, where the dividend is already a multiple of `2^-bits`: the sum of `z^n / n` for odd n.
fn area_tangent(dividend: &BigInt, divisor: &BigInt, bits: u64) -> BigInt {
    let ratio: BigInt = dividend / divisor;
    let square: BigInt = (&ratio * &ratio) >> bits;
    let (mut power, mut sum) = (ratio.clone(), ratio);
    // Each power is at most a 25th of the last: the ratio is at most 1/5.
    for n in (3_u64..).step_by(2) {
        power = (power * &square) >> bits;
        let term = &power / n;
        if is_spent(&term) {
            break;
        }
        sum += term;
    }
    sum
}

/// Whether a term adds nothing more. Shifting a negative number to the right ends with -1.
fn is_spent(term: &BigInt) -> bool {
    term.sign() == Sign::NoSign || term.magnitude().bits() == 1
}

/// `ln(2) = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)`
fn ln_2(bits: u64) -> BigInt {
    let part = |factor: i64, n: i64| factor * area_tangent_of_reciprocal(n, bits);
    part(18, 26) + part(-2, 4801) + part(8, 8749)
}

fn area_tangent_of_reciprocal(n: i64, bits: u64) -> BigInt {
    let mut power = (BigInt::from(1) << bits) / n;
    let mut sum = power.clone();
    for divisor in (3_i64..).step_by(2) {
        power /= n * n;
        if power.sign() == Sign::NoSign {
            break;
        }
        sum += &power / divisor;
    }
    sum
}

/// `e^argument`, rounded to a scale. The argument is between -7000 and 7000.
pub(super) fn exponential(argument: &Decimal, scale: i32) -> Decimal {
    // Digits before the point need as many more bits: e^x has x * log10(e) of them.
    let whole_digits = (argument.approximate() * std::f64::consts::LOG10_E).max(0.0) as i64 + 1;
    let bits = bits_of(i64::from(scale) + whole_digits) + GUARD_BITS;
    let argument = (&argument.unscaled << bits) / power_of_ten(argument.scale.max(0).unsigned_abs());
    let ln_2 = ln_2(bits);
    // argument = doublings * ln(2) + rest, where the rest is between -ln(2) and ln(2).
    let doublings = &argument / &ln_2;
    let rest: BigInt = (argument - &doublings * ln_2) >> HALVINGS;
    let mut power = small_exponential(&rest, bits);
    for _ in 0..HALVINGS {
        power = (&power * &power) >> bits;
    }
    let doublings = i64::try_from(&doublings).expect("the argument is below 7000");
    let power = if doublings >= 0 { power << doublings.unsigned_abs() } else { power >> doublings.unsigned_abs() };
    decimal_of(&power, bits, scale)
}

/// The sum of `z^n / n!`, for z below `2^-HALVINGS`.
fn small_exponential(argument: &BigInt, bits: u64) -> BigInt {
    let mut term = BigInt::from(1) << bits;
    let mut sum = term.clone();
    for n in 1_u64.. {
        term = ((term * argument) >> bits) / n;
        if is_spent(&term) {
            break;
        }
        sum += &term;
    }
    sum
}

/// A multiple of `2^-bits` as a decimal, rounded half away from zero.
fn decimal_of(value: &BigInt, bits: u64, scale: i32) -> Decimal {
    let doubled = BigInt::from(value.magnitude().clone()) * power_of_ten(scale.max(0).unsigned_abs());
    let rounded = (doubled + (BigInt::from(1) << (bits - 1))) >> bits;
    Decimal::new(if value.sign() == Sign::Minus { -rounded } else { rounded }, scale)
}
