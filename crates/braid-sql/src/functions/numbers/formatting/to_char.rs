//! `to_char` of numbers: digits and text as the format says.
//!
//! The rules for blanks, signs and the point are PostgreSQL's with their oddities: a template behind the last digit ends the text.

use super::check_format;
use super::digits::{Digits, Sign};
use super::template::{Format, Key, Shape, SignPlace};
use crate::functions::strings::results::HEADER_BYTES;
use crate::functions::templates::{Piece, ordinal_suffix};
use crate::functions::{Call, Implementations};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("int4_to_char", to_char),
    ("int8_to_char", to_char),
    ("numeric_to_char", to_char),
    ("float4_to_char", to_char),
    ("float8_to_char", to_char),
];

/// A format of this length and more gives an empty text: PostgreSQL counts bytes in 31 bits.
const FORMAT_BYTES_MAX: usize = (i32::MAX as usize - HEADER_BYTES) / 8;

/// The width of a Roman number.
const ROMAN_WIDTH: usize = 15;

fn to_char(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let format = arguments[1].as_text();
    if format.is_empty() || format.len() >= FORMAT_BYTES_MAX {
        return Ok(Value::text(String::new()));
    }
    check_format(format, HEADER_BYTES)?;
    let Format { pieces, shape } = Format::parse(format)?;
    let digits = Digits::of(&arguments[0], &shape)?;
    if shape.has_exponent {
        return Ok(Value::text(digits.text));
    }
    let mut writer = Writer::new(shape, &digits);
    for piece in pieces {
        match piece {
            Piece::Text(character) | Piece::Quoted(character) => writer.out.push(character),
            Piece::Template(key) => writer.write(key)?,
        }
        if writer.is_ended {
            break;
        }
    }
    Ok(Value::text(writer.out))
}

/// Writes a number by its templates. Digits are ASCII, and places in them are bytes.
struct Writer<'a> {
    shape: Shape,
    digits: &'a Digits,
    /// The next digit.
    at: usize,
    /// Which template of a digit or point comes next.
    template_at: usize,
    /// The template at which the number ends.
    template_count: usize,
    /// With `FM`, digits behind this one are left out.
    last_relevant: Option<usize>,
    is_sign_written: bool,
    /// Whether the last template wrote a digit.
    is_in_number: bool,
    out: String,
    /// Whether a template has ended the text.
    is_ended: bool,
}

impl<'a> Writer<'a> {
    fn new(mut shape: Shape, digits: &'a Digits) -> Self {
        if shape.is_roman {
            shape = Shape { is_filled: shape.is_filled, is_roman: true, ..Shape::default() };
        } else {
            (shape.whole, shape.places) = (digits.whole, digits.places);
        }
        let is_plus = digits.sign == Some(Sign::Plus);
        let is_sign_written = if shape.has_plus || shape.has_minus {
            shape.has_minus
        } else {
            shape.has_brackets &= !shape.is_filled || digits.sign == Some(Sign::Minus);
            if shape.sign == Some(SignPlace::Before(shape.whole)) {
                shape.sign = Some(SignPlace::Behind);
            }
            is_plus && shape.is_filled && shape.sign.is_none()
        };
        let has_sign_only = !is_sign_written && digits.lead == 0;
        // The last template counts from 0; one more is the sign's.
        let template_count = shape.places + shape.whole + usize::from(has_sign_only);
        Self {
            shape,
            digits,
            at: 0,
            template_at: 0,
            template_count,
            last_relevant: last_relevant(&shape, digits),
            is_sign_written,
            is_in_number: false,
            out: String::new(),
            is_ended: false,
        }
    }

    fn digit(&self) -> Option<u8> {
        self.digits.text.as_bytes().get(self.at).copied()
    }

    fn is_minus(&self) -> bool {
        self.digits.sign == Some(Sign::Minus)
    }

    /// A blank, unless `FM` leaves blanks out.
    fn write_blank(&mut self) {
        if !self.shape.is_filled {
            self.out.push(' ');
        }
    }

    fn write(&mut self, key: Key) -> Result<(), SqlError> {
        match key {
            Key::Digit | Key::Zero | Key::Point => self.write_digit(key),
            Key::Separator if self.is_in_number => self.out.push(','),
            Key::Separator => self.write_blank(),
            Key::Currency => self.out.push(' '),
            Key::Minus if self.is_minus() => self.out.push('-'),
            Key::Plus if self.digits.sign == Some(Sign::Plus) => self.out.push('+'),
            Key::Minus | Key::Plus => self.write_blank(),
            Key::PlacedSign => match self.digits.sign {
                Some(sign) => self.out.push(sign_character(sign)),
                None => self.is_ended = true,
            },
            Key::Roman(case) => {
                let width = if self.shape.is_filled { 0 } else { ROMAN_WIDTH };
                self.out.push_str(&format!("{:>width$}", case.apply(&self.digits.text)));
            }
            Key::Ordinal(case) => self.write_ordinal(|suffix| case.apply(suffix))?,
            Key::Sign | Key::Brackets | Key::Shift | Key::Exponent | Key::Fill | Key::Blank | Key::Nothing => {}
        }
        Ok(())
    }

    fn write_ordinal(&mut self, case: impl Fn(&str) -> String) -> Result<(), SqlError> {
        let number = &self.digits.text;
        if self.shape.is_roman || number.starts_with('#') || self.is_minus() || self.shape.has_point {
            return Ok(());
        }
        if !number.ends_with(|c: char| c.is_ascii_digit()) {
            let message = format!("\"{number}\" is not a number");
            return Err(SqlError::new(SqlState::InvalidTextRepresentation, message));
        }
        self.out.push_str(&case(ordinal_suffix(number)));
        Ok(())
    }

    /// A digit or the point, with the sign before the first of them and what closes the last.
    fn write_digit(&mut self, key: Key) {
        if self.shape.is_roman {
            return;
        }
        self.is_in_number = false;
        let is_in_lead = self.template_at < self.digits.lead;
        let has_zeros = self.shape.first_zero.is_some_and(|first| first <= self.template_at);
        let is_first_zero = self.shape.first_zero == Some(self.template_at);
        let is_number_bare = !self.is_hidden_zero() || self.is_point_last();
        if !self.is_sign_written && (!is_in_lead || is_first_zero) && is_number_bare {
            self.write_sign();
        }
        if is_in_lead && has_zeros {
            self.out.push('0');
            self.is_in_number = true;
        } else if is_in_lead {
            self.write_blank();
        } else {
            self.write_own_digit(key);
        }
        let end = if self.last_relevant == Some(self.at) {
            self.template_at
        } else {
            // One less than the count, and one more for each of blanks and the point.
            (self.template_count + usize::from(self.digits.lead > 0) + usize::from(self.shape.has_point))
                .wrapping_sub(1)
        };
        if self.template_at + 1 == end && !self.is_ended {
            self.close();
        }
        self.template_at += 1;
    }

    /// Whether the next digit is the 0 of `0.5` for a format without `0` before its point.
    fn is_hidden_zero(&self) -> bool {
        self.shape.first_zero.is_none() && self.at == 0 && self.digit() == Some(b'0') && self.shape.places != 0
    }

    /// Whether the number has no digits behind the point that matter.
    fn is_point_last(&self) -> bool {
        self.last_relevant.is_some_and(|at| self.digits.text.as_bytes()[at] == b'.')
    }

    fn write_sign(&mut self) {
        match (self.shape.sign, self.digits.sign) {
            (Some(SignPlace::Behind), _) | (_, None) => return,
            (Some(SignPlace::Before(_)), Some(sign)) => self.out.push(sign_character(sign)),
            (None, Some(Sign::Plus)) if self.shape.has_brackets => self.out.push(' '),
            (None, Some(Sign::Minus)) if self.shape.has_brackets => self.out.push('<'),
            (None, Some(Sign::Plus)) => self.write_blank(),
            (None, Some(Sign::Minus)) => self.out.push('-'),
        }
        self.is_sign_written = true;
    }

    fn write_own_digit(&mut self, key: Key) {
        let is_relevant = key == Key::Zero || self.last_relevant.is_none_or(|last| self.at <= last);
        match self.digit() {
            None => {
                self.is_ended = is_relevant;
                return;
            }
            Some(b'.') => self.out.push('.'),
            Some(_) if !is_relevant => {}
            Some(_) if self.is_hidden_zero() && self.shape.is_filled => {
                self.out.push_str(if self.is_point_last() { "0" } else { "" });
            }
            Some(_) if self.is_hidden_zero() => self.out.push(' '),
            Some(digit) => {
                self.out.push(digit.into());
                self.is_in_number = true;
            }
        }
        self.at += 1;
    }

    /// What stands behind the last digit.
    fn close(&mut self) {
        if self.is_sign_written && self.shape.has_brackets {
            self.out.push(if self.is_minus() { '>' } else { ' ' });
        } else if self.shape.sign == Some(SignPlace::Behind) {
            self.out.extend(self.digits.sign.map(sign_character));
        }
    }
}

fn sign_character(sign: Sign) -> char {
    match sign {
        Sign::Plus => '+',
        Sign::Minus => '-',
    }
}

/// The last digit that matters, or the point, for a format with `FM` and a point. Those of `0` matter.
fn last_relevant(shape: &Shape, digits: &Digits) -> Option<usize> {
    if !shape.is_filled || !shape.has_point {
        return None;
    }
    let point = digits.text.find('.')?;
    let last = digits.text.bytes().rposition(|c| c != b'0').unwrap_or(point).max(point);
    let zeros = shape.zeros_end.saturating_sub(digits.lead).min(digits.text.len() - 1);
    Some(last.max(zeros))
}
