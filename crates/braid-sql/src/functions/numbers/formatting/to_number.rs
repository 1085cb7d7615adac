//! `to_number`: a number out of a text, by a format.
//!
//! Each template reads at most one character; most skip a character that they do not know. The number is what was read.

use super::check_format;
use super::digits::power_of_ten;
use super::template::{Format, Key, Shape};
use crate::functions::strings::results::HEADER_BYTES;
use crate::functions::templates::Piece;
use crate::functions::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::types::SqlType;
use crate::values::Numeric;
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[("numeric_to_number", to_number)];

/// A format of this length and more gives null: PostgreSQL counts bytes in 31 bits.
const FORMAT_BYTES_MAX: usize = i32::MAX as usize / 8;

/// What PostgreSQL adds to modifiers.
const MODIFIER_HEADER: i32 = HEADER_BYTES as i32;

fn to_number(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let format = arguments[1].as_text();
    if format.is_empty() || format.len() >= FORMAT_BYTES_MAX {
        return Ok(Value::Null);
    }
    check_format(format, 0)?;
    let Format { pieces, shape } = Format::parse(format)?;
    if shape.has_exponent {
        return Err(SqlError::unsupported("\"EEEE\" not supported for input"));
    }
    if shape.is_roman {
        return Err(SqlError::unsupported("\"RN\" not supported for input"));
    }
    let mut reader = Reader::new(arguments[0].as_text(), shape);
    for piece in pieces {
        if reader.is_at_end() {
            break;
        }
        match piece {
            Piece::Text(_) | Piece::Quoted(_) => reader.skip_character(),
            Piece::Template(key) => reader.read(key),
        }
    }
    let number = reader.number()?;
    match shape.shift {
        Some(shift) => number.checked_mul(&power_of_ten(-(shift as i64))?).map(Value::Numeric),
        None => Ok(Value::Numeric(number)),
    }
}

/// Reads a text, byte by byte: what is not ASCII is only skipped.
struct Reader<'a> {
    text: &'a [u8],
    shape: Shape,
    at: usize,
    sign: Option<u8>,
    /// Digits and the point.
    digits: String,
    has_point: bool,
    whole_digits: usize,
    places: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, shape: Shape) -> Self {
        let text = text.as_bytes();
        Self { text, shape, at: 0, sign: None, digits: String::new(), has_point: false, whole_digits: 0, places: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_character(&mut self) {
        let width = match self.next() {
            Some(0xf0..) => 4,
            Some(0xe0..) => 3,
            Some(0xc0..) => 2,
            _ => 1,
        };
        self.at += width;
    }

    /// Skips characters that are no part of a number.
    fn skip_characters(&mut self, count: usize) {
        for _ in 0..count {
            if self.next().is_none_or(|c| b"0123456789.,+-".contains(&c)) {
                break;
            }
            self.skip_character();
        }
    }

    fn read(&mut self, key: Key) {
        match key {
            Key::Digit | Key::Zero | Key::Point => {
                self.read_digit(key);
                self.at += 1;
            }
            // Nothing sets the state in which a format with `FM` would read it.
            Key::Separator if self.shape.is_filled => {}
            Key::Separator if self.next() == Some(b',') => self.at += 1,
            Key::Currency => self.skip_characters(1),
            Key::Ordinal(_) if !self.shape.has_point => self.skip_characters(2),
            Key::Minus => self.read_placed_sign(b"-"),
            Key::Plus => self.read_placed_sign(b"+"),
            Key::PlacedSign => self.read_placed_sign(b"-+"),
            _ => {}
        }
    }

    fn read_placed_sign(&mut self, signs: &[u8]) {
        match self.next().filter(|c| signs.contains(c)) {
            Some(sign) => {
                self.sign = Some(sign);
                self.at += 1;
            }
            None => self.skip_characters(1),
        }
    }

    /// Reads a digit or the point, with a sign before the first or behind. The byte it stops at is skipped by the caller.
    fn read_digit(&mut self, key: Key) {
        if self.next() == Some(b' ') {
            self.at += 1;
        }
        let has_digits = self.whole_digits + self.places > 0;
        if !self.is_at_end() && self.sign.is_none() && key != Key::Point && !has_digits {
            self.read_leading_sign();
        }
        let Some(next) = self.next() else { return };
        let mut is_read = false;
        if next.is_ascii_digit() {
            if self.has_point && self.places == self.shape.places {
                return;
            }
            self.digits.push(next.into());
            *(if self.has_point { &mut self.places } else { &mut self.whole_digits }) += 1;
            is_read = true;
        } else if self.shape.has_point && !self.has_point && next == b'.' {
            self.digits.push('.');
            self.has_point = true;
            is_read = true;
        }
        if self.sign.is_none() && self.whole_digits + self.places > 0 {
            self.read_sign_behind(is_read);
        }
    }

    fn read_leading_sign(&mut self) {
        self.sign = match self.next() {
            Some(b'<') if self.shape.has_brackets => Some(b'-'),
            Some(sign @ (b'-' | b'+')) => Some(sign),
            _ => return,
        };
        self.at += 1;
    }

    /// `S` follows the last digit at once; `MI`, `PL` and `SG` may stand where a digit was expected.
    fn read_sign_behind(&mut self, is_read: bool) {
        let is_sign = |c: &u8| matches!(c, b'-' | b'+');
        if self.shape.sign.is_some() {
            if let Some(sign) = self.text.get(self.at + 1).copied().filter(is_sign)
                && is_read
            {
                self.sign = Some(sign);
                self.at += 1;
            }
        } else if !is_read && (self.shape.has_plus || self.shape.has_minus) {
            self.sign = self.next().filter(is_sign);
        }
    }

    /// The number that was read, with as many digits as the format has.
    fn number(&self) -> Result<Numeric, SqlError> {
        let sign = char::from(self.sign.unwrap_or(b' '));
        let digits = self.digits.strip_suffix('.').unwrap_or(&self.digits);
        let text = format!("{sign}{digits}");
        let precision = self.shape.whole + self.shape.shift.unwrap_or(0) + self.places;
        // PostgreSQL makes a modifier without a check: large numbers run into each other, and into the sign.
        let modifier = ((precision as i32) << 16 | self.places as i32).wrapping_add(MODIFIER_HEADER);
        match (SqlType { id: TypeId::NUMERIC, modifier }).numeric_digits() {
            Some((precision, scale)) => Numeric::parse_with_modifier(&text, precision, scale),
            None => Numeric::parse(&text),
        }
    }
}
