//! Integers, floats and numeric from text.

use std::num::IntErrorKind;
use std::str::FromStr;

use braid_base::{one_nan, one_nan_real};
use braid_storage::ColumnType;

use super::invalid_input;
use crate::{EngineError, SqlState};

/// Largest power of ten whose multiples fit 128 bits: what a numeric's unscaled value stays below.
const POWER_OF_TEN_MAX: usize = 38;

/// Digits after the point of a numeric without precision.
pub(crate) const PLAIN_SCALE: u8 = 10;

/// A signed integer: optional blanks, optional sign, digits.
pub(crate) fn parse_integer<T>(text: &str, type_name: &str) -> Result<T, EngineError>
where
    T: FromStr<Err = std::num::ParseIntError>,
{
    text.trim_ascii().parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            let message = format!("value \"{text}\" is out of range for type {type_name}");
            EngineError::new(SqlState::NumericOutOfRange, message)
        }
        _ => invalid_input(type_name, text),
    })
}

/// A float: what Rust reads, which includes `NaN`, `inf` and `Infinity` in any case. There is one NaN: Arrow tells it from one
/// with a sign. A text that is finite but does
/// not fit is an error, not infinity.
pub(crate) fn parse_double(text: &str) -> Result<f64, EngineError> {
    let trimmed = text.trim_ascii();
    let value: f64 = trimmed.parse().map_err(|_| invalid_input("double precision", text))?;
    in_float_range(value, trimmed, "double precision")?;
    Ok(one_nan(value))
}

/// As [`parse_double`], in 32 bits.
pub(crate) fn parse_real(text: &str) -> Result<f32, EngineError> {
    let trimmed = text.trim_ascii();
    let value: f32 = trimmed.parse().map_err(|_| invalid_input("real", text))?;
    in_float_range(f64::from(value), trimmed, "real")?;
    Ok(one_nan_real(value))
}

/// Fails where `text` was read as infinity although it does not say so.
fn in_float_range(value: f64, text: &str, type_name: &str) -> Result<(), EngineError> {
    let written_so = || text.bytes().any(|c| c.eq_ignore_ascii_case(&b'i'));
    if value.is_infinite() && !written_so() {
        let message = format!("\"{text}\" is out of range for type {type_name}");
        return Err(EngineError::new(SqlState::NumericOutOfRange, message));
    }
    Ok(())
}

/// A decimal number (`12`, `-.5`, `1.25e3`) as an unscaled integer: the value times `10^scale`, rounded half away from
/// zero, below `10^precision`.
pub(crate) fn parse_numeric(text: &str, precision: u8, scale: u8) -> Result<i128, EngineError> {
    let (negative, digits) = match text.trim_ascii().as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let decimal = Decimal::read(digits).ok_or_else(|| match text.trim_ascii().to_ascii_lowercase().as_str() {
        "nan" | "inf" | "infinity" | "-inf" | "-infinity" | "+inf" | "+infinity" => {
            EngineError::unsupported(format!("numeric has no value \"{}\" in Braid", text.trim_ascii()))
        }
        _ => invalid_input("numeric", text),
    })?;
    let unscaled = decimal.unscaled(precision, scale).ok_or_else(|| numeric_overflow(precision, scale))?;
    Ok(if negative { -unscaled } else { unscaled })
}

/// The numeric type that a number is written in: as many digits before and after the point as its text has.
pub(crate) fn numeric_digits(text: &str) -> Result<ColumnType, EngineError> {
    let digits = text.trim_ascii().trim_start_matches(['+', '-']).as_bytes();
    // What reads wrongly gets its error from the cast to whatever type.
    let Some(decimal) = Decimal::read(digits) else { return Ok(ColumnType::Numeric { precision: 38, scale: 0 }) };
    let scale = (decimal.fraction.len() as i64 - decimal.exponent).max(0);
    let whole = (decimal.whole.len() as i64 + decimal.exponent).max(1);
    match (u8::try_from(scale), u8::try_from(whole + scale)) {
        (Ok(scale), Ok(precision @ ..=38)) => Ok(ColumnType::Numeric { precision, scale }),
        _ => Err(EngineError::new(SqlState::NumericOutOfRange, format!("numeric \"{text}\" has more than 38 digits"))),
    }
}

/// Refuses a number with more digits after the point than a numeric without precision keeps: PostgreSQL's keeps them all.
pub(crate) fn check_plain_digits(text: &str) -> Result<(), EngineError> {
    let digits = text.trim_ascii().trim_start_matches(['+', '-']).as_bytes();
    let Some(decimal) = Decimal::read(digits) else { return Ok(()) };
    let zeros = decimal.whole.iter().chain(decimal.fraction).rev().take_while(|c| **c == b'0').count();
    let needed = decimal.fraction.len() as i64 - decimal.exponent - zeros as i64;
    let is_zero = zeros == decimal.whole.len() + decimal.fraction.len();
    if needed <= i64::from(PLAIN_SCALE) || is_zero {
        return Ok(());
    }
    let message =
        format!("a numeric without precision keeps {PLAIN_SCALE} digits after the point, not those of \"{text}\"");
    Err(EngineError::unsupported(message).with_hint("Round the number, or use a numeric(precision, scale)."))
}

/// PostgreSQL's error for a number that does not fit `numeric(precision, scale)`.
pub(crate) fn numeric_overflow(precision: u8, scale: u8) -> EngineError {
    EngineError::new(SqlState::NumericOutOfRange, "numeric field overflow").with_detail(format!(
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
            assert_eq!(check_plain_digits(text).is_ok(), text != "12345e-12", "{text}");
        }
        assert_eq!(check_plain_digits("-1.01234567891").unwrap_err().sqlstate(), "0A000");
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
