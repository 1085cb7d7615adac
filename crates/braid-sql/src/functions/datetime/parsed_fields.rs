//! The fields that a format finds in a text.
//!
//! Blanks before and after fields are skipped. A separator of the format stands for one in the text, or for none; any other
//! character stands for any one. After `FX` each character of the format stands for exactly one. A field before another one with
//! digits has a fixed width; others take all digits that there are.

use super::formatting::{DAYS, MONTHS, ROMAN_MONTHS};
use super::scanner::{Scanner, invalid, is_separator, leading_number};
use super::template::{Convention, Key, Node};
use crate::SqlError;
use crate::functions::templates::Piece;
use crate::value_text::is_space;

/// Fields; 0 is one that is not given.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct ParsedFields {
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    /// Seconds since midnight.
    pub day_second: i32,
    pub millisecond: i32,
    pub microsecond: i32,
    /// Digits of a second that `FF1` to `FF6` keep.
    pub second_digits: i32,
    pub is_twelve_hour_clock: bool,
    /// 1 for PM.
    pub pm: i32,
    /// 1 for BC.
    pub bc: i32,
    pub century: i32,
    pub year: i32,
    /// Digits of the year's template.
    pub year_digits: i32,
    pub month: i32,
    pub day: i32,
    pub day_of_year: i32,
    /// 1 is Sunday.
    pub day_of_week: i32,
    /// Of the year.
    pub week: i32,
    pub week_of_month: i32,
    pub julian_day: i32,
    /// 1 for east, -1 for west.
    pub zone_sign: i32,
    pub zone_hours: i32,
    pub zone_minutes: i32,
    pub convention: Option<Convention>,
}

impl ParsedFields {
    /// Reads a text by a format. What is left of either when the other ends does not matter.
    pub fn read(text: &str, format: &[Piece<Node>]) -> Result<Self, SqlError> {
        Self::read_as(text, format, false)
    }

    /// Reads a text by a format as the SQL standard has it: characters between fields are those of the format, and nothing is left but blanks.
    pub fn read_standard(text: &str, format: &[Piece<Node>]) -> Result<Self, SqlError> {
        Self::read_as(text, format, true)
    }

    fn read_as(text: &str, format: &[Piece<Node>], is_standard: bool) -> Result<Self, SqlError> {
        let scanner = Scanner { text, at: 0 };
        let mut reader = Reader { scanner, is_exact: is_standard, is_standard, skipped: 0, fields: Self::default() };
        for (index, piece) in format.iter().enumerate() {
            if reader.scanner.rest().is_empty() {
                if is_standard {
                    return Err(invalid("input string is too short for datetime format"));
                }
                break;
            }
            match piece {
                Piece::Template(node) => {
                    let takes_all = node.ordinal.is_some() || ends_digits(format.get(index + 1));
                    reader.read_template(node, takes_all || !node.is_filled)?;
                }
                text => {
                    if index == 0 && !reader.is_exact {
                        reader.skipped += reader.scanner.skip_spaces();
                    }
                    reader.read_text(text)?;
                }
            }
        }
        if is_standard && !reader.scanner.rest().trim_start_matches(is_space).is_empty() {
            return Err(invalid("trailing characters remain in input string after datetime format"));
        }
        Ok(reader.fields)
    }
}

/// Whether a part of a format cannot continue the digits before it; so does the format's end.
fn ends_digits(next: Option<&Piece<Node>>) -> bool {
    match next {
        None => true,
        Some(Piece::Template(node)) => !node.key.is_number(),
        Some(Piece::Text(character) | Piece::Quoted(character)) => !character.is_ascii_digit(),
    }
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    /// Behind `FX`.
    is_exact: bool,
    /// Whether characters between fields are those of the format.
    is_standard: bool,
    /// How many characters more than the format has were skipped.
    skipped: i64,
    fields: ParsedFields,
}

impl<'a> Reader<'a> {
    /// A character of the format that is no template.
    fn read_text(&mut self, text: &Piece<Node>) -> Result<(), SqlError> {
        if self.is_standard {
            return self.read_same(text);
        }
        let stands_for_separator =
            matches!(text, Piece::Text(character) if is_separator(*character) || is_space(*character));
        if self.is_exact {
            self.scanner.skip_character();
        } else if stands_for_separator {
            if self.scanner.rest().starts_with(|c| is_space(c) || is_separator(c)) {
                self.scanner.at += 1;
            } else {
                self.skipped -= 1;
            }
        } else if self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.scanner.skip_character();
        }
        Ok(())
    }

    /// A character that is that of the format.
    fn read_same(&mut self, text: &Piece<Node>) -> Result<(), SqlError> {
        let (wanted, kind) = match text {
            Piece::Text(character) => (*character, "separator"),
            Piece::Quoted(character) => (*character, "character"),
            Piece::Template(_) => return Ok(()),
        };
        if !self.scanner.rest().starts_with(wanted) {
            return Err(invalid(format!("unmatched format {kind} \"{wanted}\"")));
        }
        self.scanner.skip_character();
        Ok(())
    }

    fn read_template(&mut self, node: &Node, takes_all: bool) -> Result<(), SqlError> {
        if node.key == Key::Fx {
            self.is_exact = true;
            return Ok(());
        }
        if !self.is_exact {
            self.skipped += self.scanner.skip_spaces();
        }
        self.set_convention(node.key)?;
        self.read_field(node, takes_all)?;
        if !self.is_exact {
            self.skipped = self.scanner.skip_spaces();
        }
        Ok(())
    }

    fn set_convention(&mut self, key: Key) -> Result<(), SqlError> {
        let Some(convention) = key.convention() else { return Ok(()) };
        if *self.fields.convention.get_or_insert(convention) != convention {
            let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
            return Err(invalid("invalid combination of date conventions").with_hint(hint));
        }
        Ok(())
    }

    fn read_field(&mut self, node: &Node, takes_all: bool) -> Result<(), SqlError> {
        use Key::{
            Ad, Am, Cc, D, Day, Dd, Ddd, Dy, Ff, Fx, Hh12, Hh24, I, Id, Iddd, Iw, Iy, Iyy, Iyyy, J, Mi, Mm, Mon, Month,
            Of, Q, Rm, Ss, Ssss, Tz, Tzh, Tzm, W, Ww, Y, YCommaYyy, Yy, Yyy, Yyyy,
        };
        let name_width = node.name.len();
        let mut number = |width: usize, field: fn(&mut ParsedFields) -> &mut i32| {
            self.read_number(node, width, takes_all, field).map(|_| ())
        };
        match node.key {
            Hh12 => {
                number(2, |fields| &mut fields.hour)?;
                self.fields.is_twelve_hour_clock = true;
            }
            Hh24 => number(2, |fields| &mut fields.hour)?,
            Mi => number(2, |fields| &mut fields.minute)?,
            Ss => number(2, |fields| &mut fields.second)?,
            Ssss => number(name_width, |fields| &mut fields.day_second)?,
            Ff(digits) => self.read_fraction(node, digits, takes_all)?,
            Mm => number(2, |fields| &mut fields.month)?,
            Ddd | Iddd => number(3, |fields| &mut fields.day_of_year)?,
            Dd => number(2, |fields| &mut fields.day)?,
            D => number(1, |fields| &mut fields.day_of_week)?,
            Id => {
                number(1, |fields| &mut fields.day_of_week)?;
                // Monday is 1 here, Sunday in the field.
                let day = self.fields.day_of_week.wrapping_add(1);
                self.fields.day_of_week = if day > 7 { 1 } else { day };
            }
            Ww | Iw => number(2, |fields| &mut fields.week)?,
            W => number(1, |fields| &mut fields.week_of_month)?,
            J => number(1, |fields| &mut fields.julian_day)?,
            Cc => number(2, |fields| &mut fields.century)?,
            // A quarter says nothing of the day.
            Q => self.scanner.scan_number(node, 1, takes_all).map(|_| ())?,
            YCommaYyy => self.read_comma_year(node)?,
            Yyyy | Iyyy | Yyy | Iyy | Yy | Iy | Y | I => self.read_year(node, takes_all)?,
            Month => self.read_month(node, &MONTHS)?,
            Mon => self.read_month(node, &MONTHS.map(|month| &month[..3]))?,
            Rm => self.read_roman_month(node)?,
            Day => self.read_day(node, &DAYS)?,
            Dy => self.read_day(node, &DAYS.map(|day| &day[..3]))?,
            Am { dotted } => {
                let half = self.scanner.read_word(node, if dotted { &["a.m.", "p.m."] } else { &["am", "pm"] })?;
                set(&mut self.fields.pm, half, node)?;
                self.fields.is_twelve_hour_clock = true;
            }
            Ad { dotted } => {
                let era = self.scanner.read_word(node, if dotted { &["a.d.", "b.c."] } else { &["ad", "bc"] })?;
                set(&mut self.fields.bc, era, node)?;
            }
            Tzh => self.read_zone_hours(node, takes_all)?,
            Tzm => {
                if self.fields.zone_sign == 0 {
                    self.fields.zone_sign = 1;
                }
                self.read_number(node, 2, takes_all, |fields| &mut fields.zone_minutes)?;
                return Ok(());
            }
            Tz | Of => {
                let message = format!("formatting field \"{}\" is only supported in to_char", node.spelling());
                return Err(SqlError::unsupported(message));
            }
            Fx => {}
        }
        if node.key.is_number() && node.ordinal.is_some() {
            self.scanner.skip_character();
            self.scanner.skip_character();
        }
        Ok(())
    }

    /// A number into a field. Returns how many characters it took, with blanks before it.
    fn read_number(
        &mut self,
        node: &Node,
        width: usize,
        takes_all: bool,
        field: fn(&mut ParsedFields) -> &mut i32,
    ) -> Result<usize, SqlError> {
        let (value, taken) = self.scanner.scan_number(node, width, takes_all)?;
        set(field(&mut self.fields), value, node)?;
        Ok(taken)
    }

    /// Digits of a second: `25` is 0.25.
    fn read_fraction(&mut self, node: &Node, digits: u8, takes_all: bool) -> Result<(), SqlError> {
        let is_millisecond = node.name == "MS";
        let width = usize::from(digits);
        if is_millisecond {
            let taken = self.read_number(node, width, takes_all, |fields| &mut fields.millisecond)?;
            self.fields.millisecond = padded(self.fields.millisecond, taken, 3);
            return Ok(());
        }
        if node.name != "US" {
            self.fields.second_digits = digits.into();
        }
        let taken = self.read_number(node, width, takes_all, |fields| &mut fields.microsecond)?;
        self.fields.microsecond = padded(self.fields.microsecond, taken, 6);
        Ok(())
    }

    /// A year. One of less than four digits is the nearest to 2020.
    fn read_year(&mut self, node: &Node, takes_all: bool) -> Result<(), SqlError> {
        let width = node.name.len();
        let taken = self.read_number(node, width, takes_all, |fields| &mut fields.year)?;
        let year = &mut self.fields.year;
        if width < 4 && taken < 4 {
            *year = match *year {
                ..70 => year.wrapping_add(2000),
                70..100 => *year + 1900,
                100..520 => *year + 2000,
                520..1000 => *year + 1000,
                _ => *year,
            };
        }
        self.fields.year_digits = width as i32;
        Ok(())
    }

    /// `2,024`. Numbers that are too large wrap, as those of C's `sscanf` do.
    fn read_comma_year(&mut self, node: &Node) -> Result<(), SqlError> {
        let after = |text: &'a str, width: usize| {
            let text = text.trim_start_matches(is_space).as_bytes();
            let (value, end) = leading_number(&text[..width.min(text.len())]);
            (end > 0).then_some((value as i32, &text[end..]))
        };
        let parts = after(self.scanner.rest(), usize::MAX).and_then(|(thousands, rest)| {
            let rest = std::str::from_utf8(rest.strip_prefix(b",")?).ok()?;
            after(rest, 3).map(|(years, rest)| (thousands, years, rest.len()))
        });
        let Some((thousands, years, left)) = parts else {
            return Err(invalid("invalid input string for \"Y,YYY\""));
        };
        set(&mut self.fields.year, years.wrapping_add(thousands.wrapping_mul(1000)), node)?;
        self.fields.year_digits = 4;
        self.scanner.at = self.scanner.text.len() - left;
        Ok(())
    }

    fn read_month(&mut self, node: &Node, months: &[&str]) -> Result<(), SqlError> {
        let month = self.scanner.read_word(node, months)?;
        set(&mut self.fields.month, month + 1, node)
    }

    fn read_roman_month(&mut self, node: &Node) -> Result<(), SqlError> {
        // Longer numbers come first when they are read from the end.
        let mut months = ROMAN_MONTHS;
        months.reverse();
        let month = 12 - self.scanner.read_word(node, &months)?;
        set(&mut self.fields.month, month, node)
    }

    fn read_day(&mut self, node: &Node, days: &[&str]) -> Result<(), SqlError> {
        let day = self.scanner.read_word(node, days)?;
        set(&mut self.fields.day_of_week, day, node)?;
        self.fields.day_of_week += 1;
        Ok(())
    }

    /// The sign of a zone may have been skipped as a separator before.
    fn read_zone_hours(&mut self, node: &Node, takes_all: bool) -> Result<(), SqlError> {
        let is_minus_skipped = self.skipped > 0 && self.scanner.text[..self.scanner.at].ends_with('-');
        self.fields.zone_sign = match self.scanner.rest().bytes().next() {
            Some(sign @ (b'+' | b'-' | b' ')) => {
                self.scanner.at += 1;
                if sign == b'-' { -1 } else { 1 }
            }
            _ if is_minus_skipped => -1,
            _ => 1,
        };
        self.read_number(node, 2, takes_all, |fields| &mut fields.zone_hours).map(|_| ())
    }
}

/// Sets a field, which has another value only by contradiction.
fn set(field: &mut i32, value: i32, node: &Node) -> Result<(), SqlError> {
    if *field != 0 && *field != value {
        let message = format!("conflicting values for \"{}\" field in formatting string", node.spelling());
        return Err(invalid(message).with_detail("This value contradicts a previous setting for the same field type."));
    }
    *field = value;
    Ok(())
}

/// Digits behind a point as many as a field has: 2 of 1 character is 200 of three.
fn padded(value: i32, taken: usize, digits: u32) -> i32 {
    let missing = digits.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX));
    value.wrapping_mul(10_i32.pow(missing))
}
