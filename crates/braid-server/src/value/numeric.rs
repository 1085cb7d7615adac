//! `numeric` on the wire: text with exactly the type's scale, and PostgreSQL's binary form in base 10 000.
//!
//! Binary form, big-endian:
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 2 | number of base-10 000 digits that follow |
//! | 2 | 2 | weight: the first digit counts 10 000^weight |
//! | 4 | 2 | sign: 0x0000 positive, 0x4000 negative, 0xC000 NaN, 0xD000 and 0xF000 infinities |
//! | 6 | 2 | scale: decimal digits after the point in the text form |
//! | 8 | 2 each | digits 0 to 9999, without leading and trailing zeros |
//!
//! Arrow decimals have no NaN or infinities. Reading these is an error of the caller.

use arrow::datatypes::i256;

use super::decimal_digits::{U128_DIGITS_MAX, write_u128_back};

const SIGN_NEGATIVE: u16 = 0x4000;

/// Decimal digits in one base-10 000 digit.
const GROUP: usize = 4;

/// Appends an unscaled `value` with `scale` digits after the point.
#[inline]
pub(crate) fn append_text_128(out: &mut Vec<u8>, value: i128, scale: i8) {
    let mut buffer = [0; U128_DIGITS_MAX];
    let start = write_u128_back(&mut buffer, value.unsigned_abs());
    append_text(out, value < 0, &buffer[start..], scale);
}

/// Appends an unscaled `value` with `scale` digits after the point.
pub(crate) fn append_text_256(out: &mut Vec<u8>, value: i256, scale: i8) {
    let digits = value.to_string();
    append_text(out, value < i256::ZERO, digits.trim_start_matches('-').as_bytes(), scale);
}

fn append_text(out: &mut Vec<u8>, negative: bool, digits: &[u8], scale: i8) {
    if negative {
        out.push(b'-');
    }
    if scale <= 0 {
        out.extend_from_slice(digits);
        if digits != b"0" {
            out.resize(out.len() + usize::from(scale.unsigned_abs()), b'0');
        }
        return;
    }
    let scale = scale as usize;
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    } else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + scale - digits.len(), b'0');
        out.extend_from_slice(digits);
    }
}

/// Appends the binary form of an unscaled `value`.
pub(crate) fn append_binary_128(out: &mut Vec<u8>, value: i128, scale: i8) {
    let mut buffer = [0; U128_DIGITS_MAX];
    let start = write_u128_back(&mut buffer, value.unsigned_abs());
    append_binary(out, value < 0, &buffer[start..], scale);
}

/// Appends the binary form of an unscaled `value`.
pub(crate) fn append_binary_256(out: &mut Vec<u8>, value: i256, scale: i8) {
    let digits = value.to_string();
    append_binary(out, value < i256::ZERO, digits.trim_start_matches('-').as_bytes(), scale);
}

fn append_binary(out: &mut Vec<u8>, negative: bool, digits: &[u8], scale: i8) {
    // The value is 0.d1d2d3… * 10^point; groups are cut at multiples of four digits from the point.
    let point = digits.len() as i32 - i32::from(scale);
    let lead = point.rem_euclid(GROUP as i32) as usize;
    let missing = if lead == 0 { 0 } else { GROUP - lead };
    let digit = |at: usize| -> u16 {
        let at = at.wrapping_sub(missing);
        digits.get(at).map_or(0, |d| u16::from(d - b'0'))
    };
    let group_count = (missing + digits.len()).div_ceil(GROUP);
    let group = |g: usize| (0..GROUP).fold(0, |sum, k| sum * 10 + digit(g * GROUP + k));
    let first = (0..group_count).find(|g| group(*g) != 0).unwrap_or(group_count);
    let end = (first..group_count).rev().find(|g| group(*g) != 0).map_or(first, |last| last + 1);
    let weight = if end == first { 0 } else { (point + missing as i32) / GROUP as i32 - 1 - first as i32 };
    let sign = if negative { SIGN_NEGATIVE } else { 0 };
    out.extend_from_slice(&((end - first) as u16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&u16::from(scale.max(0) as u8).to_be_bytes());
    for g in first..end {
        out.extend_from_slice(&group(g).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: i128, scale: i8) -> String {
        let mut out = Vec::new();
        append_text_128(&mut out, value, scale);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_has_exactly_the_scale() {
        for (value, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (12345, 2, "123.45"),
            (-100, 2, "-1.00"),
            (7, -3, "7000"),
            (0, -3, "0"),
            (10_i128.pow(37), 37, "1.0000000000000000000000000000000000000"),
        ] {
            assert_eq!(text(value, scale), expected);
        }
    }

    #[test]
    fn binary_matches_postgresql() {
        // From `select numeric_send(...)`.
        for (value, scale, words) in [
            (0, 2, vec![0, 0, 0, 2]),
            (1, 0, vec![1, 0, 0, 0, 1]),
            (12_345, 2, vec![2, 0, 0, 2, 123, 4500]),
            (-12_345, 2, vec![2, 0, 0x4000, 2, 123, 4500]),
            (1, 4, vec![1, 0xFFFF, 0, 4, 1]),
            (1, 5, vec![1, 0xFFFE, 0, 5, 1000]),
            (10_000, 0, vec![1, 1, 0, 0, 1]),
            (123_456_789, 0, vec![3, 2, 0, 0, 1, 2345, 6789]),
            (100_000_001, 4, vec![3, 1, 0, 4, 1, 0, 1]),
        ] {
            let mut out = Vec::new();
            append_binary_128(&mut out, value, scale);
            let got: Vec<u16> = out.chunks(2).map(|w| u16::from_be_bytes([w[0], w[1]])).collect();
            assert_eq!(got, words, "{value} at scale {scale}");
        }
    }
}
