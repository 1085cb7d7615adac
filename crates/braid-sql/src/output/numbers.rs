//! Floats and numeric as text.

use std::fmt::Write;

use super::float_digits;
use super::float_text::general_digits;
use crate::formats::FloatDigits;

/// Decimal exponents from which on PostgreSQL writes a double in scientific form: its guaranteed digits (DBL_DIG).
const DOUBLE_DIGITS: i32 = 15;

/// The same for real (FLT_DIG).
const REAL_DIGITS: i32 = 6;

/// A double: the shortest text that lies nearer to it than to any other.
pub fn write_double(value: f64, out: &mut String) {
    if value.is_finite() {
        let shortest = format!("{value:e}");
        let digits = float_digits::double_digits(value, &shortest).unwrap_or(shortest);
        let even = float_digits::even_digits(value, &digits, |text| text.parse() == Ok(value));
        write_shortest(&even.unwrap_or(digits), DOUBLE_DIGITS, out);
    } else {
        write_not_finite(value, out);
    }
}

/// A double with the digits that a session asks for.
pub fn write_double_with(value: f64, digits: FloatDigits, out: &mut String) {
    match digits {
        FloatDigits::Rounded(extra) if value.is_finite() => write_rounded(value, DOUBLE_DIGITS, extra, out),
        _ => write_double(value, out),
    }
}

/// The same of a real.
pub fn write_real_with(value: f32, digits: FloatDigits, out: &mut String) {
    match digits {
        FloatDigits::Rounded(extra) if value.is_finite() => write_rounded(value.into(), REAL_DIGITS, extra, out),
        _ => write_real(value, out),
    }
}

/// As C's `%.*g` prints it, with at least one digit.
fn write_rounded(value: f64, guaranteed: i32, extra: i8, out: &mut String) {
    let digits = (guaranteed + i32::from(extra)).max(1);
    out.push_str(&general_digits(value, digits));
}

/// The same of a real.
pub fn write_real(value: f32, out: &mut String) {
    if value.is_finite() {
        let shortest = format!("{value:e}");
        let digits = float_digits::real_digits(value, &shortest).unwrap_or(shortest);
        let even = float_digits::even_digits(f64::from(value), &digits, |text| text.parse() == Ok(value));
        write_shortest(&even.unwrap_or(digits), REAL_DIGITS, out);
    } else {
        write_not_finite(f64::from(value), out);
    }
}

fn write_not_finite(value: f64, out: &mut String) {
    out.push_str(match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    });
}

/// `scientific` is Rust's shortest form, `-1.25e-7`: the digits are right, the layout is not PostgreSQL's.
fn write_shortest(scientific: &str, digits_max: i32, out: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').expect("Rust writes an exponent with {:e}");
    let exponent: i32 = exponent.parse().expect("Rust writes the exponent as an integer");
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    out.push_str(sign);
    if !(-4..digits_max).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).expect("a String takes everything");
        return;
    }
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    if exponent < 0 {
        out.push_str("0.");
        (1..-exponent).for_each(|_| out.push('0'));
        out.push_str(&digits);
        return;
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        out.push_str(&digits);
        (digits.len()..whole).for_each(|_| out.push('0'));
    } else {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    }
}

/// A numeric from its unscaled value: all digits of its scale are written.
pub fn write_numeric(unscaled: i128, scale: i8, out: &mut String) {
    let start = out.len();
    if scale <= 0 {
        write!(out, "{unscaled}").expect("a String takes everything");
        if unscaled != 0 {
            (scale..0).for_each(|_| out.push('0'));
        }
        return;
    }
    let scale = scale as usize;
    if unscaled < 0 {
        out.push('-');
    }
    // At least one digit before the point.
    write!(out, "{:0>width$}", unscaled.unsigned_abs(), width = scale + 1).expect("a String takes everything");
    debug_assert!(out.len() > start + scale);
    out.insert(out.len() - scale, '.');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_look_as_in_postgresql() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.25e-7, "1.25e-07"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123456.789, "123456.789"),
            (1e300, "1e+300"),
            (1e22, "1e+22"),
            (1e23, "9.999999999999999e+22"),
            (-1e23, "-9.999999999999999e+22"),
            (2e23, "1.9999999999999998e+23"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut out = String::new();
            write_double(value, &mut out);
            assert_eq!(out, text);
        }
        for (value, text) in [(1e5_f32, "100000"), (1e6, "1e+06"), (0.1, "0.1"), (f32::INFINITY, "Infinity")] {
            let mut out = String::new();
            write_real(value, &mut out);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn numerics_keep_their_scale() {
        for (unscaled, scale, text) in [
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (12345, 2, "123.45"),
            (-12345, 0, "-12345"),
            (12, -2, "1200"),
            (0, -2, "0"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        ] {
            let mut out = String::new();
            write_numeric(unscaled, scale, &mut out);
            assert_eq!(out, text);
        }
    }
}
