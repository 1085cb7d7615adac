//! Integers, floats and numeric from text.

use std::num::IntErrorKind;
use std::str::FromStr;

use braid_base::{one_nan, one_nan_real};
use num_bigint::BigInt;

use super::invalid_input;
use crate::value_text::{is_space, trim_spaces};
use crate::{SqlError, SqlState};

/// Largest power of ten whose multiples fit 128 bits: what a numeric's unscaled value stays below.
const POWER_OF_TEN_MAX: usize = 38;

/// A signed integer: optional blanks, optional sign, digits.
pub fn parse_integer<T>(text: &str, type_name: &str) -> Result<T, SqlError>
where
    T: FromStr<Err = std::num::ParseIntError>,
{
    trim_spaces(text).parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => out_of_range(text, type_name),
        _ => invalid_input(type_name, text),
    })
}

/// A float as [`read_double`] reads it, and plain decimals fast. There is one NaN: Arrow tells it from one with a sign.
pub fn parse_double(text: &str) -> Result<f64, SqlError> {
    match text.trim_ascii().parse::<f64>() {
        Ok(value) if value.is_normal() => Ok(value),
        _ => read_double(text).map(one_nan),
    }
}

/// As [`parse_double`], in 32 bits.
pub fn parse_real(text: &str) -> Result<f32, SqlError> {
    match text.trim_ascii().parse::<f32>() {
        Ok(value) if value.is_normal() => Ok(value),
        _ => read_real(text).map(one_nan_real),
    }
}

/// An oid, as C's `strtoul` reads it: a sign makes an integer of 64 bits, of which the lower 32 count if it is one of 32 bits.
pub fn parse_oid(text: &str) -> Result<u32, SqlError> {
    match read_oid(text)? {
        (_, rest) if !trim_spaces(rest).is_empty() => Err(invalid_input("oid", text)),
        (number, _) => number.ok_or_else(|| out_of_range(text, "oid")),
    }
}

/// The number that begins a text, and what follows it.
pub fn leading_oid(text: &str) -> Result<(u32, &str), SqlError> {
    let (number, rest) = read_oid(text)?;
    Ok((number.ok_or_else(|| out_of_range(text, "oid"))?, rest))
}

/// The number that begins a text, `None` if it does not fit 32 bits, and what follows it. More than 64 bits are an error, whatever follows.
fn read_oid(text: &str) -> Result<(Option<u32>, &str), SqlError> {
    let start = text.trim_start_matches(is_space);
    let (digits, rest) = leading_digits(start);
    if digits.is_empty() {
        return Err(invalid_input("oid", text));
    }
    let magnitude: u64 = digits.parse().map_err(|_| out_of_range(text, "oid"))?;
    let bits = if start.starts_with('-') { magnitude.wrapping_neg() } else { magnitude };
    let signed = || i32::try_from(bits.cast_signed()).map(i32::cast_unsigned);
    Ok((u32::try_from(bits).or_else(|_| signed()).ok(), rest))
}

/// The digits after a sign, and what follows them.
fn leading_digits(text: &str) -> (&str, &str) {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    unsigned.split_at(unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len()))
}

/// The `smallint` that begins a text, up to a blank, and what follows it.
pub fn leading_smallint(text: &str) -> Result<(i16, &str), SqlError> {
    let (digits, rest) = leading_digits(text);
    if digits.is_empty() {
        return Err(invalid_input("smallint", text));
    }
    let number = text[..text.len() - rest.len()].parse().map_err(|_| out_of_range(text, "smallint"))?;
    if rest.is_empty() || rest.starts_with(' ') { Ok((number, rest)) } else { Err(invalid_input("smallint", text)) }
}

fn out_of_range(text: &str, type_name: &str) -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, format!("value \"{text}\" is out of range for type {type_name}"))
}

/// A double as `float8in` reads it: as C's `strtod`, hexadecimal digits included. A number that becomes 0 or infinite by rounding
/// is an error.
pub fn read_double(text: &str) -> Result<f64, SqlError> {
    read_float(text, "double precision", |number| out_of_float_range(number, "double precision"))
}

/// The same of a real, as `float4in` reads it.
pub fn read_real(text: &str) -> Result<f32, SqlError> {
    // Its error has the whole text, blanks included.
    read_float(text, "real", |_| out_of_float_range(text, "real"))
}

/// `"1e400" is out of range for type double precision`
pub fn out_of_float_range(text: &str, type_name: &str) -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, format!("\"{text}\" is out of range for type {type_name}"))
}

fn read_float<T: FromStr + Into<f64> + Copy>(
    text: &str,
    type_name: &str,
    out_of_range: impl FnOnce(&str) -> SqlError,
) -> Result<T, SqlError> {
    let number = text.trim_start_matches(is_space);
    let end = float_end(number).ok_or_else(|| invalid_input(type_name, text))?;
    let (number, rest) = number.split_at(end);
    let decimal = hexadecimal_float(number).unwrap_or_else(|| number.to_owned());
    let word = decimal.trim_start_matches(['+', '-']);
    let is_word = word.starts_with(['i', 'I', 'n', 'N']);
    // `nan(...)` is NaN, whatever the parentheses say.
    let readable = if word.starts_with(['n', 'N']) { "NaN" } else { &decimal };
    let value: T = readable.parse().map_err(|_| invalid_input(type_name, text))?;
    let mantissa = word.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|c| (b'1'..=b'9').contains(&c));
    let float: f64 = value.into();
    if !is_word && (float.is_infinite() || (float == 0.0 && !is_zero)) {
        return Err(out_of_range(number));
    }
    if rest.trim_start_matches(is_space).is_empty() { Ok(value) } else { Err(invalid_input(type_name, text)) }
}

/// Where the float at the start of a text ends; `None` if there is none.
fn float_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let sign = usize::from(text.starts_with(['+', '-']));
    let word = |word: &str| bytes.get(sign..sign + word.len()).is_some_and(|c| c.eq_ignore_ascii_case(word.as_bytes()));
    if word("infinity") {
        return Some(sign + 8);
    }
    if word("inf") {
        return Some(sign + 3);
    }
    if word("nan") {
        let inner = text[sign + 3..].strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let inner = inner.filter(|(inner, _)| inner.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_'));
        return Some(sign + 3 + inner.map_or(0, |(inner, _)| inner.len() + 2));
    }
    let hexadecimal = || number_end(bytes, sign + 2, u8::is_ascii_hexdigit, *b"pP");
    let hexadecimal = if word("0x") { hexadecimal() } else { None };
    hexadecimal.or_else(|| number_end(bytes, sign, u8::is_ascii_digit, *b"eE"))
}

/// Where digits with a point and an exponent end.
fn number_end(text: &[u8], start: usize, is_digit: fn(&u8) -> bool, exponent: [u8; 2]) -> Option<usize> {
    let skip = |from: usize, is: fn(&u8) -> bool| text[from..].iter().take_while(|c| is(c)).count() + from;
    let mut end = skip(start, is_digit);
    let mut digits = end - start;
    if text.get(end) == Some(&b'.') {
        let point = end;
        end = skip(point + 1, is_digit);
        digits += end - point - 1;
    }
    if digits == 0 {
        return None;
    }
    if text.get(end).is_some_and(|c| exponent.contains(c)) {
        let sign = usize::from(text.get(end + 1).is_some_and(|c| b"+-".contains(c)));
        let exponent = end + 1 + sign;
        let exponent_end = if exponent <= text.len() { skip(exponent, u8::is_ascii_digit) } else { exponent };
        if exponent_end > exponent {
            end = exponent_end;
        }
    }
    Some(end)
}

/// Hexadecimal digits that can matter: a float has 53 bits, and the shortest step between floats is 2^-1074.
const HEX_DIGITS_MAX: usize = 300;

/// A hexadecimal float (`0x1.8p3`) in decimal, digit for digit; `None` for what is none.
fn hexadecimal_float(text: &str) -> Option<String> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.trim_start_matches('+')),
    };
    let hexadecimal = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"))?;
    let (digits, exponent) = hexadecimal.split_once(['p', 'P']).unwrap_or((hexadecimal, "0"));
    let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let all: String = [whole, fraction].concat();
    let zeros = all.len() - all.trim_start_matches('0').len();
    let all = &all[zeros..];
    if all.is_empty() {
        return Some(format!("{sign}0"));
    }
    // A 1 behind the digits that matter stands for those behind it.
    let mut kept = all[..all.len().min(HEX_DIGITS_MAX)].to_owned();
    if all.len() > HEX_DIGITS_MAX && all[HEX_DIGITS_MAX..].bytes().any(|c| c != b'0') {
        kept.replace_range(HEX_DIGITS_MAX - 1.., "1");
    }
    let dropped = (all.len() - kept.len()) as i64;
    let exponent = exponent.saturating_add(4 * (dropped - fraction.len() as i64));
    // Beyond these the float is 0 or infinite for certain: 300 digits are 1200 bits.
    let exponent = exponent.clamp(-4000, 4000);
    let mantissa = BigInt::parse_bytes(kept.as_bytes(), 16)?;
    Some(match exponent {
        0.. => format!("{sign}{}", mantissa << exponent.unsigned_abs()),
        _ => format!("{sign}{}e{exponent}", mantissa * BigInt::from(5).pow(exponent.unsigned_abs() as u32)),
    })
}

/// A decimal number (`12`, `-.5`, `1.25e3`) as an unscaled integer: the value times `10^scale`, rounded half away from
/// zero, below `10^precision`.
pub fn parse_numeric(text: &str, precision: u8, scale: u8) -> Result<i128, SqlError> {
    let (negative, digits) = match text.trim_ascii().as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let decimal = Decimal::read(digits).ok_or_else(|| match text.trim_ascii().to_ascii_lowercase().as_str() {
        "nan" | "inf" | "infinity" | "-inf" | "-infinity" | "+inf" | "+infinity" => {
            SqlError::unsupported(format!("numeric has no value \"{}\" in Braid", text.trim_ascii()))
        }
        _ => invalid_input("numeric", text),
    })?;
    let unscaled = decimal.unscaled(precision, scale).ok_or_else(|| numeric_overflow(precision, scale))?;
    Ok(if negative { -unscaled } else { unscaled })
}

/// Precision and scale of the numeric that a number is written in: as many digits before and after the point as its text has.
pub fn numeric_digits(text: &str) -> Result<(u8, u8), SqlError> {
    let digits = text.trim_ascii().trim_start_matches(['+', '-']).as_bytes();
    // What reads wrongly gets its error from the cast to whatever type.
    let Some(decimal) = Decimal::read(digits) else { return Ok((38, 0)) };
    let scale = (decimal.fraction.len() as i64 - decimal.exponent).max(0);
    let whole = (decimal.whole.len() as i64 + decimal.exponent).max(1);
    match (u8::try_from(scale), u8::try_from(whole + scale)) {
        (Ok(scale), Ok(precision @ ..=38)) => Ok((precision, scale)),
        _ => Err(SqlError::new(SqlState::NumericOutOfRange, format!("numeric \"{text}\" has more than 38 digits"))),
    }
}

/// Refuses a number with more than `scale` digits after the point, for a column that stands for a numeric without precision:
/// PostgreSQL's keeps them all.
pub fn check_plain_digits(text: &str, scale: u8) -> Result<(), SqlError> {
    let digits = text.trim_ascii().trim_start_matches(['+', '-']).as_bytes();
    let Some(decimal) = Decimal::read(digits) else { return Ok(()) };
    let zeros = decimal.whole.iter().chain(decimal.fraction).rev().take_while(|c| **c == b'0').count();
    let needed = decimal.fraction.len() as i64 - decimal.exponent - zeros as i64;
    let is_zero = zeros == decimal.whole.len() + decimal.fraction.len();
    if needed <= i64::from(scale) || is_zero {
        return Ok(());
    }
    let message =
        format!("a numeric column of 38 digits keeps {scale} of them after the point, not those of \"{text}\"");
    Err(SqlError::unsupported(message)
        .with_hint("Round the number, or use a numeric(precision, scale) of at most 37 digits."))
}

/// PostgreSQL's error for a number that does not fit `numeric(precision, scale)`.
pub fn numeric_overflow(precision: u8, scale: u8) -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, "numeric field overflow").with_detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than 10^{}.",
        precision.saturating_sub(scale)
    ))
}

/// Digits around a point, and a power of ten. The digits are borrowed: nothing is copied or allocated.
struct Decimal<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Decimal<'a> {
    fn read(text: &'a [u8]) -> Option<Self> {
        let digits_at = |from: usize| text[from..].iter().take_while(|c| c.is_ascii_digit()).count() + from;
        let whole_end = digits_at(0);
        let (fraction, fraction_end) = match text.get(whole_end) {
            Some(b'.') => (whole_end + 1, digits_at(whole_end + 1)),
            _ => (whole_end, whole_end),
        };
        if whole_end == 0 && fraction_end == fraction {
            return None;
        }
        let exponent = match &text[fraction_end..] {
            [] => 0,
            [b'e' | b'E', exponent @ ..] => std::str::from_utf8(exponent).ok()?.parse::<i16>().ok()?,
            _ => return None,
        };
        Some(Self { whole: &text[..whole_end], fraction: &text[fraction..fraction_end], exponent: i64::from(exponent) })
    }

    /// `None` on overflow.
    fn unscaled(&self, precision: u8, scale: u8) -> Option<i128> {
        // Digits to the left of the place after which we round.
        let kept = self.whole.len() as i64 + self.exponent + i64::from(scale);
        let mut digits = self.whole.iter().chain(self.fraction).map(|c| c - b'0').skip_while(|&d| d == 0);
        let count = self.whole.len() + self.fraction.len();
        let leading_zeros = count - digits.clone().count();
        let kept = kept - leading_zeros as i64;
        let mut value: i128 = 0;
        let mut taken = 0;
        while taken < kept {
            let Some(digit) = digits.next() else { break };
            if taken as usize >= POWER_OF_TEN_MAX {
                return None;
            }
            value = value * 10 + i128::from(digit);
            taken += 1;
        }
        if taken < kept {
            if value != 0 {
                let zeros = usize::try_from(kept - taken).ok()?;
                let factor = 10_i128.checked_pow(u32::try_from(zeros).ok()?)?;
                value = value.checked_mul(factor)?;
            }
        } else if kept >= 0 && digits.next().is_some_and(|digit| digit >= 5) {
            value += 1;
        }
        (value < 10_i128.pow(u32::from(precision))).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_ranges() {
        assert_eq!(parse_integer::<i32>(" -42 ", "integer").unwrap(), -42);
        assert_eq!(parse_integer::<i64>("+7", "bigint").unwrap(), 7);
        for (text, sqlstate) in [("abc", "22P02"), ("", "22P02"), ("1.5", "22P02"), ("32768", "22003")] {
            assert_eq!(parse_integer::<i16>(text, "smallint").unwrap_err().sqlstate(), sqlstate, "{text}");
        }
    }

    #[test]
    fn oids_have_a_sign_for_32_bits() {
        for (text, oid) in
            [(" 42 ", 42), ("4294967295", u32::MAX), ("-1", u32::MAX), ("18446744073709551615", u32::MAX)]
        {
            assert_eq!(parse_oid(text), Ok(oid), "{text}");
        }
        for (text, sqlstate) in
            [("4294967296", "22003"), ("-4294967295", "22003"), ("99999999999999999999x", "22003"), ("5x", "22P02")]
        {
            assert_eq!(parse_oid(text).unwrap_err().sqlstate(), sqlstate, "{text}");
        }
    }

    #[test]
    fn floats_are_read_as_in_c() {
        for (text, value) in
            [("0x10", 16.0), ("-0x1.8p-3", -0.1875), ("\u{b}1.5", 1.5), ("1e-310", 1e-310), ("0e-400", 0.0)]
        {
            assert_eq!(read_double(text), Ok(value), "{text}");
        }
        assert!(read_double("nan(12)").unwrap().is_nan());
        assert_eq!(
            read_double(" 1e400 ").unwrap_err().to_string(),
            "\"1e400\" is out of range for type double precision"
        );
        assert_eq!(read_real(" 1e40 ").unwrap_err().to_string(), "\" 1e40 \" is out of range for type real");
        for text in ["", "1e", "0x", "infx", "1 2", "nan(1 2)"] {
            assert_eq!(read_double(text).unwrap_err().sqlstate(), "22P02", "{text}");
        }
        assert_eq!(read_double("1e-400").unwrap_err().sqlstate(), "22003");
    }

    #[test]
    fn floats_do_not_become_infinite() {
        assert_eq!(parse_double(" 1e300 ").unwrap(), 1e300);
        assert_eq!(parse_double("-Infinity").unwrap(), f64::NEG_INFINITY);
        assert!(parse_real("NaN").unwrap().is_nan());
        assert_eq!(parse_double("1e400").unwrap_err().sqlstate(), "22003");
        assert_eq!(parse_real("1e39").unwrap_err().sqlstate(), "22003");
        assert_eq!(parse_double("1,5").unwrap_err().sqlstate(), "22P02");
    }

    #[test]
    fn numerics_round_half_away_from_zero() {
        for (text, expected) in [
            ("1", 100),
            ("1.005", 101),
            ("-1.005", -101),
            ("1.0049999", 100),
            (".5", 50),
            ("5.", 500),
            ("+0.009", 1),
            ("0.004", 0),
            ("0.005", 1),
            ("0.0005", 0),
            ("1.25e1", 1250),
            ("125e-2", 125),
            ("1e-50", 0),
            ("0e5", 0),
            ("000123.4", 12340),
            ("999.994", 99999),
        ] {
            assert_eq!(parse_numeric(text, 5, 2).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn digits_are_not_lost_without_a_word() {
        for text in ["1", "1.0123456789", "1.01234567890000", "0e-30", "1e20", "12345e-12", "abc"] {
            assert_eq!(check_plain_digits(text, 10).is_ok(), text != "12345e-12", "{text}");
        }
        assert_eq!(check_plain_digits("-1.01234567891", 10).unwrap_err().sqlstate(), "0A000");
    }

    #[test]
    fn numerics_overflow_at_their_precision() {
        for text in ["999.995", "1000", "1e3", "99999999999999999999999999999999999999999999999"] {
            let error = parse_numeric(text, 5, 2).unwrap_err();
            assert_eq!(error.sqlstate(), "22003", "{text}");
            assert!(error.detail().unwrap().ends_with("less than 10^3."), "{error:?}");
        }
        for text in ["", ".", "1.2.3", "1e", "abc", "--1"] {
            assert_eq!(parse_numeric(text, 5, 2).unwrap_err().sqlstate(), "22P02", "{text}");
        }
        assert_eq!(parse_numeric("NaN", 5, 2).unwrap_err().sqlstate(), "0A000");
        let nines = "9".repeat(38);
        assert_eq!(parse_numeric(&nines, 38, 0).unwrap(), 10_i128.pow(38) - 1);
        assert_eq!(parse_numeric(&format!("{nines}.5"), 38, 0).unwrap_err().sqlstate(), "22003");
    }
}
