//! Numerics from text, and as text.

use std::fmt;

use num_bigint::BigInt;

use super::decimal::Decimal;
use super::{Numeric, Repr, SCALE_MAX, WHOLE_DIGITS_MAX, numeric_overflow};
use crate::SqlError;
use crate::value_text::{invalid_input, is_space, trim_spaces};

/// Exponents from which on a text overflows, whatever its digits are: those of 0, too.
const EXPONENT_LIMIT: i64 = i32::MAX as i64 / 2;

impl Numeric {
    /// A number from its text, as `numeric_in` reads it: blanks, a sign, digits with a point, an exponent; or `NaN`, `inf`,
    /// `Infinity` in any case. All its digits after the point are kept.
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        read(text, |digits| digits.number())
    }

    /// A number from its text as `numeric(precision, scale)` keeps it. Digits that are rounded away do not count for the limits of
    /// a number.
    pub fn parse_with_modifier(text: &str, precision: i32, scale: i32) -> Result<Self, SqlError> {
        read(text, |digits| digits.clipped(scale).number_within(precision, scale))?.with_modifier(precision, scale)
    }
}

/// Reads digits, or a word.
fn read(text: &str, number: impl FnOnce(Digits<'_>) -> Result<Numeric, SqlError>) -> Result<Numeric, SqlError> {
    let trimmed = trim_spaces(text);
    let (is_negative, rest) = match trimmed.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    match rest.first() {
        Some(b'0'..=b'9' | b'.') => match Digits::read(rest, is_negative) {
            Some(digits) => number(digits?),
            None => Err(invalid_input("numeric", text)),
        },
        _ => special(trimmed).ok_or_else(|| invalid_input("numeric", text)),
    }
}

fn special(text: &str) -> Option<Numeric> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => Some(Numeric::NAN),
        "inf" | "infinity" | "+inf" | "+infinity" => Some(Numeric::INFINITY),
        "-inf" | "-infinity" => Some(Numeric::NEGATIVE_INFINITY),
        _ => None,
    }
}

/// Digits around a point, and a power of ten.
struct Digits<'a> {
    is_negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Digits<'a> {
    /// `None` for what is no number; an error for an exponent that is too large.
    fn read(text: &'a [u8], is_negative: bool) -> Option<Result<Self, SqlError>> {
        let (whole, rest) = split_digits(text);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest),
            rest => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (exponent, rest) = match rest {
            [b'e' | b'E', rest @ ..] => read_exponent(rest)?,
            rest => (0, rest),
        };
        if exponent.abs() >= EXPONENT_LIMIT {
            return Some(Err(numeric_overflow()));
        }
        rest.is_empty().then_some(Ok(Self { is_negative, whole, fraction, exponent }))
    }

    /// Without digits that do not matter for rounding to a scale: those behind the next.
    fn clipped(mut self, scale: i32) -> Self {
        let surplus = self.fraction.len() as i64 - self.exponent - i64::from(scale) - 1;
        let surplus = usize::try_from(surplus).unwrap_or(0);
        let of_fraction = surplus.min(self.fraction.len());
        self.fraction = &self.fraction[..self.fraction.len() - of_fraction];
        let of_whole = (surplus - of_fraction).min(self.whole.len());
        self.whole = &self.whole[..self.whole.len() - of_whole];
        self.exponent += of_whole as i64;
        self
    }

    fn all(&self) -> impl Iterator<Item = u8> {
        self.whole.iter().chain(self.fraction).copied()
    }

    fn leading_zeros(&self) -> usize {
        self.all().take_while(|c| *c == b'0').count()
    }

    /// Digits before the point, from the first that is not 0; `None` for 0.
    fn whole_digits(&self) -> Option<i64> {
        let zeros = self.leading_zeros();
        (zeros < self.all().count()).then(|| self.whole.len() as i64 - zeros as i64 + self.exponent)
    }

    /// The number, or one that rounds as it does, or one that overflows as it does.
    fn number_within(&self, precision: i32, scale: i32) -> Result<Numeric, SqlError> {
        match self.whole_digits() {
            // More digits than any precision has.
            Some(digits) if digits > WHOLE_DIGITS_MAX => Err(Numeric::overflow_of(precision, scale)),
            Some(digits) if digits >= -i64::from(scale) => self.number(),
            _ => Ok(Numeric::ZERO),
        }
    }

    fn number(&self) -> Result<Numeric, SqlError> {
        let scale = (self.fraction.len() as i64 - self.exponent).max(0);
        let scale = i32::try_from(scale).ok().filter(|scale| *scale <= SCALE_MAX).ok_or_else(numeric_overflow)?;
        match self.whole_digits() {
            None => return Numeric::of_decimal(Decimal::new(0, scale)),
            Some(digits) if digits > WHOLE_DIGITS_MAX => return Err(numeric_overflow()),
            Some(_) => {}
        }
        let leading_zeros = self.leading_zeros();
        // What 38 digits say fits 128 bits.
        let unscaled = if self.all().count() - leading_zeros <= 38 {
            BigInt::from(self.all().fold(0_i128, |value, c| value * 10 + i128::from(c - b'0')))
        } else {
            let digits: Vec<u8> = self.all().skip(leading_zeros).collect();
            BigInt::parse_bytes(&digits, 10).expect("they are digits")
        };
        let unscaled = if self.is_negative { -unscaled } else { unscaled };
        // The digits as written end at this place; it is left of the point for 1e5.
        let end = i32::try_from(self.fraction.len() as i64 - self.exponent).expect("bounded by digits and by scale");
        Numeric::of_decimal(Decimal::new(unscaled, end).with_scale_at_least(scale))
    }
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|c| c.is_ascii_digit()).count())
}

/// An exponent as C's `strtol` reads it, which skips blanks before the sign, and what follows it.
fn read_exponent(text: &[u8]) -> Option<(i64, &[u8])> {
    let blanks = text.iter().take_while(|c| is_space(char::from(**c))).count();
    let (is_negative, text) = match &text[blanks..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (digits, rest) = split_digits(text);
    if digits.is_empty() {
        return None;
    }
    let add = |value: i64, c: &u8| value.saturating_mul(10).saturating_add(i64::from(c - b'0'));
    let exponent = digits.iter().fold(0, add);
    Some((if is_negative { -exponent } else { exponent }, rest))
}

impl fmt::Display for Numeric {
    /// As `numeric_out` writes it: all digits of the scale, no exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Nan => f.write_str("NaN"),
            Repr::Infinity => f.write_str("Infinity"),
            Repr::NegativeInfinity => f.write_str("-Infinity"),
            Repr::Wide(wide) => write_digits(f, self.signum() < 0, &wide.0.magnitude().to_string(), wide.1),
            Repr::Narrow { scale, .. } => {
                let (unscaled, _) = self.unscaled().expect("it is narrow");
                write_digits(f, unscaled < 0, &unscaled.unsigned_abs().to_string(), *scale)
            }
        }
    }
}

impl Numeric {
    /// The number with one digit before the point, some behind it, and an exponent: `1.50e+03`. Rounding may make it two digits
    /// before the point, as PostgreSQL's does: `10.0e+00` for 9.99. `None` for NaN and infinities.
    pub fn scientific(&self, places: usize) -> Option<String> {
        let decimal = self.decimal()?;
        let exponent = if decimal.is_zero() { 0 } else { decimal.exponent() };
        // Digits behind those that it has are 0.
        let scale = decimal.scale + exponent as i32;
        let kept = i32::try_from(places).map_or(scale, |places| scale.min(places)).max(0);
        let mantissa = Decimal::new(decimal.unscaled, scale).rounded(kept);
        let digits = mantissa.unscaled.magnitude().to_string();
        let (whole, behind) = digits.split_at(digits.len().saturating_sub(kept as usize));
        let sign = if mantissa.is_negative() { "-" } else { "" };
        let point = if places > 0 { "." } else { "" };
        let whole = if whole.is_empty() { "0" } else { whole };
        let zeros = "0".repeat(places.saturating_sub(behind.len()));
        Some(format!("{sign}{whole}{point}{behind}{zeros}e{exponent:+03}"))
    }
}

fn write_digits(f: &mut fmt::Formatter<'_>, is_negative: bool, digits: &str, scale: u16) -> fmt::Result {
    if is_negative {
        f.write_str("-")?;
    }
    let scale = usize::from(scale);
    if scale == 0 {
        return f.write_str(digits);
    }
    match digits.len().checked_sub(scale) {
        None | Some(0) => write!(f, "0.{digits:0>scale$}"),
        Some(whole) => write!(f, "{}.{}", &digits[..whole], &digits[whole..]),
    }
}
