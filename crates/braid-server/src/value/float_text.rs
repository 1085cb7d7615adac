//! Floats as PostgreSQL prints them (`extra_float_digits` at its default): the shortest digits that lie nearest to the
//! value, in positional form while the exponent is moderate, otherwise as `1e+15`.
//!
//! The digits come from the standard library's `{:e}`, or for few values from [`float_digits`]; only their arrangement
//! differs. Source of the limits: PostgreSQL's `d2s.c` and `f2s.c` (fixed notation for exponents -4 to 14 and -4 to 5).

use std::io::Write;
use std::num::FpCategory;

use braid_engine::float_digits;

use super::decimal_digits::append_padded;

/// Appends a `double precision`.
pub(crate) fn append_f64(out: &mut Vec<u8>, value: f64) {
    let negative = value.is_sign_negative();
    match special(value.classify(), negative) {
        Some(text) => out.extend_from_slice(text),
        None => {
            let mut digits = [0_u8; 32];
            let length = scientific(&mut digits, format_args!("{:e}", value.abs()));
            let shortest = std::str::from_utf8(&digits[..length]).expect("digits are text");
            let other = float_digits::double_digits(value.abs(), shortest);
            append_arranged(out, negative, other.as_deref().unwrap_or(shortest).as_bytes(), 15);
        }
    }
}

/// Appends a `real`.
pub(crate) fn append_f32(out: &mut Vec<u8>, value: f32) {
    let negative = value.is_sign_negative();
    match special(value.classify(), negative) {
        Some(text) => out.extend_from_slice(text),
        None => {
            let mut digits = [0_u8; 32];
            let length = scientific(&mut digits, format_args!("{:e}", value.abs()));
            let shortest = std::str::from_utf8(&digits[..length]).expect("digits are text");
            let other = float_digits::real_digits(value.abs(), shortest);
            append_arranged(out, negative, other.as_deref().unwrap_or(shortest).as_bytes(), 6);
        }
    }
}

/// The text of a value without digits; `None` of a finite value.
fn special(class: FpCategory, negative: bool) -> Option<&'static [u8]> {
    match class {
        FpCategory::Nan => Some(b"NaN"),
        FpCategory::Infinite if negative => Some(b"-Infinity"),
        FpCategory::Infinite => Some(b"Infinity"),
        FpCategory::Zero | FpCategory::Subnormal | FpCategory::Normal => None,
    }
}

fn scientific(buffer: &mut [u8; 32], value: std::fmt::Arguments<'_>) -> usize {
    let mut rest = &mut buffer[..];
    // 17 digits, a point, 'e', a sign and 3 digits of exponent are 23 bytes.
    rest.write_fmt(value).expect("a float in scientific form has at most 24 bytes");
    32 - rest.len()
}

/// `scientific` is `d[.ddd]e[-]x`; exponents from -4 to `positional_exponent_end` - 1 are printed without `e`.
fn append_arranged(out: &mut Vec<u8>, negative: bool, scientific: &[u8], positional_exponent_end: i32) {
    let at_e = scientific.iter().position(|b| *b == b'e').expect("scientific form has an exponent");
    let (mantissa, exponent) = (&scientific[..at_e], &scientific[at_e + 1..]);
    let exponent: i32 =
        std::str::from_utf8(exponent).ok().and_then(|e| e.parse().ok()).expect("the exponent is an integer");
    let (first, fraction) = (mantissa[0], mantissa.get(2..).unwrap_or(&[]));
    if negative {
        out.push(b'-');
    }
    if !(-4..positional_exponent_end).contains(&exponent) {
        out.extend_from_slice(mantissa);
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        append_padded(out, u64::from(exponent.unsigned_abs()), 2);
    } else if exponent < 0 {
        out.extend_from_slice(&b"0.0000"[..(1 - exponent) as usize]);
        out.push(first);
        out.extend_from_slice(fraction);
    } else {
        let whole = exponent as usize;
        out.push(first);
        if fraction.len() <= whole {
            out.extend_from_slice(fraction);
            out.resize(out.len() + whole - fraction.len(), b'0');
        } else {
            out.extend_from_slice(&fraction[..whole]);
            out.push(b'.');
            out.extend_from_slice(&fraction[whole..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_postgresql_prints_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00012345, "0.00012345"),
            (0.00001, "1e-05"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.2345e15, "1.2345e+15"),
            (1e300, "1e+300"),
            (-1e23, "-9.999999999999999e+22"),
            (1e-300, "1e-300"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (123.456, "123.456"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut out = Vec::new();
            append_f64(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn reals_print_as_postgresql_prints_them() {
        for (value, expected) in [
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (123_456.7, "123456.7"),
            (1_234_567.0, "1.234567e+06"),
            (0.00001, "1e-05"),
            (f32::MAX, "3.4028235e+38"),
        ] {
            let mut out = Vec::new();
            append_f32(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
