//! The digits of a float as PostgreSQL chooses them (`d2s.c`, `f2s.c`): the shortest that lie nearer to it than to any other
//! float.
//!
//! The standard library's shortest digits only have to read back as the float. They may lie exactly between two floats, as 1e23
//! does: it reads back as the one whose last bit is zero. PostgreSQL writes another digit there.

use std::ops::RangeInclusive;

/// The digits of a double in scientific form, if they are not `shortest`, which is what `{:e}` writes.
pub fn double_digits(value: f64, shortest: &str) -> Option<String> {
    nearest_text(shortest, |digits| format!("{value:.digits$e}"), |text| text.parse() == Ok(value))
}

/// The digits of a real in scientific form, if they are not `shortest`, which is what `{:e}` writes.
pub fn real_digits(value: f32, shortest: &str) -> Option<String> {
    nearest_text(shortest, |digits| format!("{value:.digits$e}"), |text| text.parse() == Ok(value))
}

/// The text to write in place of one that lies exactly between two floats. `rounded` writes a number of digits after the
/// first, and `is_same` reads a text.
fn nearest_text(shortest: &str, rounded: impl Fn(usize) -> String, is_same: impl Fn(&str) -> bool) -> Option<String> {
    if !may_lie_between(shortest) || is_within(shortest, &is_same) {
        return None;
    }
    let (mantissa, _) = shortest.split_once('e')?;
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    // Seventeen digits tell all doubles apart.
    (digits..17).map(rounded).find(|text| is_within(text, &is_same))
}

/// Exponents of the texts that can lie exactly between two floats. Below 10^7 reals are less than 2 apart, and the text between
/// two floats is longer than theirs. Above, such a text is `digits * 10^power`, where `digits * 5^power` has at most 54
/// bits: `power` is at most 23, and `digits` has at most 17.
const BETWEEN_EXPONENTS: RangeInclusive<i32> = 7..=40;

/// The digits whose last is even, if a value lies exactly between two texts of as many digits, both of which read back as it. The
/// standard library writes the larger, PostgreSQL the even one.
pub fn even_digits(value: f64, scientific: &str, is_same: impl Fn(&str) -> bool) -> Option<String> {
    let (mantissa, exponent) = scientific.split_once('e')?;
    let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len());
    let last = mantissa.bytes().next_back().filter(|last| last % 2 == 1)?;
    if places < PLACES_BETWEEN_MIN || !has_one_more_place(value, places, exponent.parse().ok()?) {
        return None;
    }
    // The exact digits, with the 5 at their end: cut, they are the smaller text.
    let exact = format!("{value:.*e}", places + 1);
    let (exact, _) = exact.split_once('e')?;
    let smaller = &exact[..exact.len() - 1];
    let other = if smaller == mantissa { last + 1 } else { last - 1 };
    let even = format!("{}{}e{exponent}", &mantissa[..mantissa.len() - 1], char::from(other));
    (other.is_ascii_digit() && is_same(&even)).then_some(even)
}

/// Digits after the first of the shortest texts that can lie beside a real of 24 bits.
const PLACES_BETWEEN_MIN: usize = 5;

/// Whether a value's exact digits are one more than those of a text. A number with `n` bits after the point has as many digits
/// after the point, and the last is a 5.
fn has_one_more_place(value: f64, places: usize, exponent: i32) -> bool {
    let bits = value.to_bits();
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let bits_after_point = 1075 - (bits >> 52 & 0x7ff) as i32 - mantissa.trailing_zeros() as i32;
    if bits_after_point > 0 {
        return bits_after_point == places as i32 + 1 - exponent;
    }
    if !BETWEEN_EXPONENTS.contains(&exponent) {
        return false;
    }
    let exact = format!("{:.0}", value.abs());
    let exact = exact.trim_end_matches('0');
    exact.len() == places + 2 && exact.ends_with('5')
}

fn may_lie_between(scientific: &str) -> bool {
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok());
    exponent.is_some_and(|exponent| BETWEEN_EXPONENTS.contains(&exponent))
}

/// Whether a text lies nearer to a value than to its neighbours: so do the texts a little below and above it.
fn is_within(scientific: &str, is_same: impl Fn(&str) -> bool) -> bool {
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return false };
    let point = if mantissa.contains('.') { "" } else { "." };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let Ok(digits) = digits.parse::<i128>() else { return false };
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len()) as i32;
    let Ok(exponent) = exponent.parse::<i32>() else { return false };
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let above = format!("{mantissa}{point}{:0>20}e{exponent}", 1);
    let below = format!("{sign}{}{:9>20}e{}", digits - 1, 9, exponent - decimals - 20);
    is_same(&above) && is_same(&below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text was PostgreSQL 15's.
    #[test]
    fn texts_between_two_floats_get_another_digit() {
        for (value, expected) in [
            (1e23, Some("9.999999999999999e22")),
            (-1e23, Some("-9.999999999999999e22")),
            (2e23, Some("1.9999999999999998e23")),
            (1e22, None),
            (1.5, None),
            (f64::MAX, None),
        ] {
            assert_eq!(double_digits(value, &format!("{value:e}")).as_deref(), expected, "{value:e}");
        }
        assert_eq!(real_digits(16_777_216.0, "1.6777216e7"), None);
    }

    /// Every text was PostgreSQL 15's.
    #[test]
    #[expect(clippy::excessive_precision, reason = "the whole digits show that these are ties")]
    fn of_two_texts_that_are_as_near_the_last_digit_is_even() {
        let digits = |value: f64| even_digits(value, &format!("{value:e}"), |text| text.parse() == Ok(value));
        assert_eq!(digits(1_073_777_920.300_781_25).as_deref(), Some("1.0737779203007812e9"));
        assert_eq!(digits(-999_999_986_990_394.25).as_deref(), Some("-9.999999869903942e14"));
        for value in [0.5, 0.1, 1.0 / 3.0, 1e300, 1e-300, 123.456, 9_007_199_254_740_993.0] {
            assert_eq!(digits(value), None, "{value:e}");
        }
    }

    /// A text between two reals is rare; those found by search have one digit more afterwards, and read back the same.
    #[test]
    fn reals_read_back() {
        let mut found = 0;
        for bits in (0x4B80_0000..0x5F00_0000_u32).step_by(997) {
            let value = f32::from_bits(bits);
            let shortest = format!("{value:e}");
            if let Some(digits) = real_digits(value, &shortest) {
                found += 1;
                assert!(digits.len() > shortest.len(), "{shortest} became {digits}");
                assert_eq!(digits.parse(), Ok(value));
            }
        }
        assert!(found > 0);
    }
}
