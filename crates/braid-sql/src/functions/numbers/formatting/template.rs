//! The templates of formats for numbers: `S999G990D00` cut into `S`, `9`, `9`, and so on, and what they say together.

use crate::functions::templates::{Piece, cut};
use crate::{SqlError, SqlState};

/// What a template stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `9`: a digit.
    Digit,
    /// `0`: a digit that is there also as 0 before the first.
    Zero,
    /// `.` and `D`: the decimal point.
    Point,
    /// `,` and `G`: what separates groups.
    Separator,
    /// `L`: the currency symbol.
    Currency,
    /// `S`: the sign, next to the number.
    Sign,
    /// `MI`: the sign of a negative number.
    Minus,
    /// `PL`: the sign of a positive number.
    Plus,
    /// `SG`: the sign in this place.
    PlacedSign,
    /// `PR`: angle brackets around a negative number.
    Brackets,
    /// `RN`, `rn`: a Roman number.
    Roman(Case),
    /// `TH`, `th`: the suffix of an ordinal number.
    Ordinal(Case),
    /// `V`: digits behind it shift the point.
    Shift,
    /// `EEEE`: an exponent.
    Exponent,
    /// `FM`: no blanks.
    Fill,
    /// `B`
    Blank,
    /// `C`, `SP`: nothing.
    Nothing,
}

/// Letters of a template, and of what it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `TH`
    Upper,
    /// `th`
    Lower,
}

impl Case {
    /// A text of ASCII in these letters.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Upper => text.to_ascii_uppercase(),
            Self::Lower => text.to_ascii_lowercase(),
        }
    }
}

/// Templates. Those in upper case stand for those in lower case, too, if these are not before them. Of those that begin alike, the
/// longer is first.
const KEYS: &[(&str, Key)] = &[
    (",", Key::Separator),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Digit),
    ("B", Key::Blank),
    ("C", Key::Nothing),
    ("D", Key::Point),
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("G", Key::Separator),
    ("L", Key::Currency),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Brackets),
    ("rn", Key::Roman(Case::Lower)),
    ("RN", Key::Roman(Case::Upper)),
    ("SG", Key::PlacedSign),
    ("SP", Key::Nothing),
    ("S", Key::Sign),
    ("th", Key::Ordinal(Case::Lower)),
    ("TH", Key::Ordinal(Case::Upper)),
    ("V", Key::Shift),
];

fn key_at(text: &str) -> (Option<Key>, usize) {
    let is_there = |name: &str| {
        let is_lower = || text.bytes().take(name.len()).eq(name.bytes().map(|c| c.to_ascii_lowercase()));
        text.starts_with(name) || is_lower()
    };
    let found = KEYS.iter().find(|(name, _)| is_there(name));
    (found.map(|(_, key)| *key), found.map_or(0, |(name, _)| name.len()))
}

/// Where the sign of `S` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignPlace {
    /// Before the number; with the digits before `S` in the format.
    Before(usize),
    /// Behind it.
    Behind,
}

/// What the templates of a format say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Digits before the point.
    pub whole: usize,
    /// Digits behind it.
    pub places: usize,
    /// Digits behind `V`, if it is there.
    pub shift: Option<usize>,
    /// Digits before the first `0`, if there is one before the point.
    pub first_zero: Option<usize>,
    /// Digits up to the last `0`.
    pub zeros_end: usize,
    /// `S`
    pub sign: Option<SignPlace>,
    /// `MI` or `SG`
    pub has_minus: bool,
    /// `PL` or `SG`
    pub has_plus: bool,
    /// `PR`
    pub has_brackets: bool,
    /// A decimal point.
    pub has_point: bool,
    /// `FM`
    pub is_filled: bool,
    /// `RN`
    pub is_roman: bool,
    /// `EEEE`
    pub has_exponent: bool,
    /// `B` before all digits.
    pub is_blank: bool,
}

/// A format of numbers.
pub struct Format {
    /// Templates and text.
    pub pieces: Vec<Piece<Key>>,
    /// What they say together.
    pub shape: Shape,
}

impl Format {
    /// Cuts a format. Templates that contradict each other are an error.
    pub fn parse(format: &str) -> Result<Self, SqlError> {
        let pieces = cut(format, key_at);
        let mut shape = Shape::default();
        for piece in &pieces {
            if let Piece::Template(key) = piece {
                shape.add(*key)?;
            }
        }
        Ok(Self { pieces, shape })
    }
}

fn contradiction(message: &str) -> SqlError {
    SqlError::new(SqlState::SyntaxError, message)
}

fn point_and_shift() -> SqlError {
    contradiction("cannot use \"V\" and decimal point together")
}

impl Shape {
    fn add(&mut self, key: Key) -> Result<(), SqlError> {
        if self.has_exponent && key != Key::Exponent {
            return Err(contradiction("\"EEEE\" must be the last pattern used"));
        }
        match key {
            Key::Digit | Key::Zero => return self.add_digit(key),
            Key::Point if self.has_point => return Err(contradiction("multiple decimal points")),
            Key::Point if self.shift.is_some() => return Err(point_and_shift()),
            Key::Point => self.has_point = true,
            Key::Shift if self.has_point => return Err(point_and_shift()),
            Key::Shift => self.shift = Some(self.shift.unwrap_or(0)),
            Key::Fill => self.is_filled = true,
            Key::Blank => self.is_blank |= self.whole == 0 && self.places == 0 && self.first_zero.is_none(),
            Key::Roman(_) => self.is_roman = true,
            Key::Exponent => return self.add_exponent(),
            Key::Sign | Key::Minus | Key::Plus | Key::PlacedSign | Key::Brackets => return self.add_sign(key),
            Key::Separator | Key::Currency | Key::Ordinal(_) | Key::Nothing => {}
        }
        Ok(())
    }

    fn add_digit(&mut self, key: Key) -> Result<(), SqlError> {
        if self.has_brackets {
            let digit = if key == Key::Zero { 0 } else { 9 };
            return Err(contradiction(&format!("\"{digit}\" must be ahead of \"PR\"")));
        }
        if key == Key::Zero && !self.has_point {
            self.first_zero.get_or_insert(self.whole);
        }
        match &mut self.shift {
            Some(shift) if key == Key::Digit => *shift += 1,
            _ if self.has_point => self.places += 1,
            _ => self.whole += 1,
        }
        if key == Key::Zero {
            self.zeros_end = self.whole + self.places;
        }
        Ok(())
    }

    fn add_exponent(&mut self) -> Result<(), SqlError> {
        if self.has_exponent {
            return Err(contradiction("cannot use \"EEEE\" twice"));
        }
        let has_sign = self.sign.is_some() || self.has_brackets || self.has_minus || self.has_plus;
        if has_sign || self.is_blank || self.is_filled || self.is_roman || self.shift.is_some() {
            return Err(contradiction("\"EEEE\" is incompatible with other formats")
                .with_detail("\"EEEE\" may only be used together with digit and decimal point patterns."));
        }
        self.has_exponent = true;
        Ok(())
    }

    fn add_sign(&mut self, key: Key) -> Result<(), SqlError> {
        let is_placed = self.has_plus || self.has_minus;
        let name = match key {
            Key::Minus => "MI",
            Key::Plus => "PL",
            _ => "SG",
        };
        match key {
            Key::Sign if self.sign.is_some() => return Err(contradiction("cannot use \"S\" twice")),
            Key::Sign if is_placed || self.has_brackets => {
                return Err(contradiction("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
            }
            Key::Sign if self.has_point => self.sign = Some(SignPlace::Behind),
            Key::Sign => self.sign = Some(SignPlace::Before(self.whole)),
            Key::Brackets if self.sign.is_some() || is_placed => {
                return Err(contradiction("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
            }
            Key::Brackets => self.has_brackets = true,
            _ if self.sign.is_some() => {
                return Err(contradiction(&format!("cannot use \"S\" and \"{name}\" together")));
            }
            _ => {
                self.has_minus |= key != Key::Plus;
                self.has_plus |= key != Key::Minus;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_make_a_shape() {
        let shape = Format::parse("S9G990D09\"99\"").unwrap().shape;
        assert_eq!((shape.whole, shape.places, shape.first_zero, shape.zeros_end), (4, 2, Some(3), 5));
        assert_eq!((shape.sign, shape.shift), (Some(SignPlace::Before(0)), None));
    }

    #[test]
    fn an_exponent_goes_with_digits_only() {
        let error = Format::parse("S9EEEE").map(|_| ()).unwrap_err();
        assert_eq!(error.message(), "\"EEEE\" is incompatible with other formats");
        let detail = "\"EEEE\" may only be used together with digit and decimal point patterns.";
        assert_eq!(error.detail(), Some(detail));
    }
}
