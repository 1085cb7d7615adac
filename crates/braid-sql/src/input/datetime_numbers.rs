//! The numbers of dates and times: which field a number is, by its length, its place and what came before it.
//!
//! The rules are those of PostgreSQL's documentation, appendix B.1. A date begins with a year of three digits or more, or has its numbers in the
//! session's order.

use crate::formats::DateOrder;

use super::datetime_words::{Unreadable, Word, word};
use crate::values::calendar::{DAY_US, HOUR_US, MINUTE_US, SECOND_US, civil_of_days, days_of_civil, days_of_month};

/// The fields that a text has given so far, as bits.
pub type Mask = u32;
/// Year.
pub const YEAR: Mask = 1;
/// Month.
pub const MONTH: Mask = 1 << 1;
/// Day of the month.
pub const DAY: Mask = 1 << 2;
/// Year, month and day.
pub const DATE: Mask = YEAR | MONTH | DAY;
/// Hour, minute and second: they come together.
pub const TIME: Mask = 1 << 3;
/// Time zone.
pub const ZONE: Mask = 1 << 4;
/// Day of the year.
pub const DAY_OF_YEAR: Mask = 1 << 5;
/// `DST` after a zone.
pub const SUMMER_TIME: Mask = 1 << 6;
/// AM or PM.
pub const HALF_DAY: Mask = 1 << 7;
/// AD or BC.
pub const ERA: Mask = 1 << 8;
/// Day of the week.
pub const DAY_OF_WEEK: Mask = 1 << 9;
/// `epoch`, `infinity`: what else the text says does not count.
pub const SPECIAL: Mask = 1 << 10;

/// Date and time of day as they stand in a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Year; 0 is 1 BC after [`Self::validate`].
    pub year: i32,
    /// Month.
    pub month: i32,
    /// Day of the month.
    pub day: i32,
    /// Day of the year.
    pub day_of_year: i32,
    /// Hour.
    pub hour: i64,
    /// Minute.
    pub minute: i64,
    /// Second.
    pub second: i64,
    /// Microseconds.
    pub fraction_us: i64,
    /// The year has two digits or one.
    pub is_short_year: bool,
    /// The order of its numbers, where none of them tells what it is.
    pub order: DateOrder,
}

impl Clock {
    /// The day. Year and month must have been checked.
    pub fn days(&self) -> i64 {
        days_of_civil(i64::from(self.year), i64::from(self.month), i64::from(self.day))
    }

    /// Takes year, month and day of a day.
    pub fn set_days(&mut self, days: i64) {
        let (year, month, day) = civil_of_days(days);
        (self.year, self.month, self.day) = (year as i32, month as i32, day as i32);
    }

    /// Microseconds since midnight.
    pub fn time_us(&self) -> i64 {
        self.hour * HOUR_US + self.minute * MINUTE_US + self.second * SECOND_US + self.fraction_us
    }

    /// Takes hour, minute and second of microseconds since midnight.
    pub fn set_time_us(&mut self, us: i64) {
        (self.hour, self.minute) = (us / HOUR_US, us / MINUTE_US % 60);
        (self.second, self.fraction_us) = (us / SECOND_US % 60, us % SECOND_US);
    }

    /// Whether the time is after 24:00:00.
    pub fn time_overflows(&self) -> bool {
        let is_impossible = self.hour > 24 || self.minute > 59 || self.second > 60 || self.fraction_us > SECOND_US;
        is_impossible || self.time_us() > DAY_US
    }

    /// A field with hyphens, slashes or dots. Returns which fields it gave.
    pub fn read_date(&mut self, text: &str, mut seen: Mask) -> Result<Mask, Unreadable> {
        let parts = split_date(text)?;
        let mut given = 0;
        let mut has_month_name = false;
        for part in parts.iter().filter(|part| part.as_bytes()[0].is_ascii_alphabetic()) {
            match word(part) {
                Some(Word::Ignored) => continue,
                Some(Word::Month(month)) => self.month = month,
                _ => return Err(Unreadable::Format),
            }
            has_month_name = true;
            claim(&mut seen, &mut given, MONTH)?;
        }
        for part in parts.iter().filter(|part| part.as_bytes()[0].is_ascii_digit()) {
            let mask = self.read_number(part, has_month_name, seen)?;
            claim(&mut seen, &mut given, mask)?;
        }
        if seen & !(DAY_OF_YEAR | ZONE) == DATE { Ok(given) } else { Err(Unreadable::Format) }
    }

    /// A single number. Returns which fields it is.
    pub fn read_number(&mut self, text: &str, has_month_name: bool, seen: Mask) -> Result<Mask, Unreadable> {
        let (value, rest) = leading_int(text)?;
        if rest.starts_with('.') {
            if text.len() - rest.len() > 2 {
                return self.read_run_together(text, seen | DATE);
            }
            self.fraction_us = fraction_us(rest)?;
        } else if !rest.is_empty() {
            return Err(Unreadable::Format);
        }
        if text.len() == 3 && seen & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DAY_OF_YEAR | MONTH | DAY);
        }
        let is_long = text.len() >= 3;
        let is_year = is_long || self.order == DateOrder::Ymd;
        let mask = match seen & DATE {
            0 if is_year => YEAR,
            0 if self.order == DateOrder::Dmy => DAY,
            0 | YEAR | DAY => MONTH,
            MONTH if has_month_name && is_year => YEAR,
            MONTH => DAY,
            YEAR_MONTH if has_month_name && is_long && self.is_short_year => {
                // The first number was the day, not the year.
                self.day = self.year;
                self.year = value;
                self.is_short_year = false;
                return Ok(DAY);
            }
            YEAR_MONTH => DAY,
            MONTH_DAY => YEAR,
            DATE => return self.read_run_together(text, seen),
            _ => return Err(Unreadable::Format),
        };
        match mask {
            YEAR => (self.year, self.is_short_year) = (value, text.len() <= 2),
            MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(mask)
    }

    /// A date `yymmdd`, `yyyymmdd` or a time `hhmm`, `hhmmss` without separators. Returns which fields it is.
    pub fn read_run_together(&mut self, text: &str, seen: Mask) -> Result<Mask, Unreadable> {
        let digits = match text.split_once('.') {
            Some((digits, _)) => {
                self.fraction_us = fraction_us(&text[digits.len()..])?;
                digits
            }
            None if seen & DATE != DATE && text.len() >= 6 => {
                let (year, month_day) = text.split_at(text.len() - 4);
                (self.year, self.month, self.day) =
                    (wrapping_int(year), wrapping_int(&month_day[..2]), wrapping_int(&month_day[2..]));
                self.is_short_year |= year.len() == 2;
                return Ok(DATE);
            }
            None => text,
        };
        if seen & TIME == TIME || !digits.bytes().all(|c| c.is_ascii_digit()) || !matches!(digits.len(), 4 | 6) {
            return Err(Unreadable::Format);
        }
        (self.hour, self.minute) = (wrapping_int(&digits[..2]).into(), wrapping_int(&digits[2..4]).into());
        self.second = wrapping_int(&digits[4..]).into();
        Ok(TIME)
    }

    /// `hh:mm`, `hh:mm:ss`, `hh:mm:ss.ffffff`, `mm:ss.ffffff`.
    pub fn read_time(&mut self, text: &str) -> Result<Mask, Unreadable> {
        let time = read_time_parts(text)?;
        let hour = i32::try_from(time.0).map_err(|_| Unreadable::OutOfRange)?;
        (self.hour, self.minute, self.second, self.fraction_us) = (hour.into(), time.1, time.2, time.3);
        Ok(TIME)
    }

    /// Completes the year, and checks that there is such a day.
    pub fn validate(&mut self, seen: Mask, is_julian: bool, is_bc: bool) -> Result<(), Unreadable> {
        if seen & YEAR != 0 && !is_julian {
            if is_bc {
                if self.year <= 0 {
                    return Err(Unreadable::OutOfRange);
                }
                self.year = 1 - self.year;
            } else if self.is_short_year {
                self.year += if self.year < 70 { 2000 } else { 1900 };
            } else if self.year <= 0 {
                return Err(Unreadable::OutOfRange);
            }
        }
        if seen & DAY_OF_YEAR != 0 {
            self.set_days(days_of_civil(self.year.into(), 1, 1) + i64::from(self.day_of_year) - 1);
        }
        if (seen & MONTH != 0 && !(1..=12).contains(&self.month)) || (seen & DAY != 0 && !(1..=31).contains(&self.day))
        {
            return Err(Unreadable::DateOutOfRange);
        }
        let is_date = seen & DATE == DATE;
        if is_date && i64::from(self.day) > days_of_month(self.year.into(), self.month.into()) {
            return Err(Unreadable::OutOfRange);
        }
        Ok(())
    }
}

const YEAR_MONTH: Mask = YEAR | MONTH;
const MONTH_DAY: Mask = MONTH | DAY;

/// Adds fields that must not have been there.
fn claim(seen: &mut Mask, given: &mut Mask, mask: Mask) -> Result<(), Unreadable> {
    if *seen & mask != 0 {
        return Err(Unreadable::Format);
    }
    *seen |= mask;
    *given |= mask;
    Ok(())
}

/// Runs of digits and of letters. One character after each is a separator, whatever it is, as for PostgreSQL.
fn split_date(text: &str) -> Result<Vec<&str>, Unreadable> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        while at < bytes.len() && !bytes[at].is_ascii_alphanumeric() {
            at += 1;
        }
        let Some(first) = bytes.get(at) else {
            return Err(Unreadable::Format);
        };
        let belongs = |c: &&u8| if first.is_ascii_digit() { c.is_ascii_digit() } else { c.is_ascii_alphabetic() };
        let end = at + bytes[at..].iter().take_while(belongs).count();
        parts.push(&text[at..end]);
        at = end + 1;
    }
    Ok(parts)
}

/// An integer with an optional sign at the start, and the rest.
pub fn leading_int(text: &str) -> Result<(i32, &str), Unreadable> {
    let (value, rest) = leading_big_int(text)?;
    Ok((i32::try_from(value).map_err(|_| Unreadable::OutOfRange)?, rest))
}

/// The same of 64 bits.
pub fn leading_big_int(text: &str) -> Result<(i64, &str), Unreadable> {
    let signs = usize::from(text.starts_with(['-', '+']));
    let end = signs + text[signs..].bytes().take_while(u8::is_ascii_digit).count();
    if end == signs {
        // C's strtol reads nothing as zero and leaves all of it.
        return Ok((0, text));
    }
    Ok((text[..end].parse().map_err(|_| Unreadable::OutOfRange)?, &text[end..]))
}

/// Digits as C's `atoi` reads them: a number that is too large wraps.
fn wrapping_int(digits: &str) -> i32 {
    if digits.is_empty() { 0 } else { digits.parse::<i64>().unwrap_or(i64::MAX) as i32 }
}

/// A decimal point and digits, as microseconds.
pub fn fraction_us(text: &str) -> Result<i64, Unreadable> {
    Ok((fraction(text)? * 1e6).round_ties_even() as i64)
}

/// A decimal point and digits.
pub fn fraction(text: &str) -> Result<f64, Unreadable> {
    let digits = text.strip_prefix('.').ok_or(Unreadable::Format)?;
    if !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(Unreadable::Format);
    }
    if digits.is_empty() { Ok(0.0) } else { format!("0{text}").parse().map_err(|_| Unreadable::Format) }
}

/// Hours, minutes, seconds and microseconds of a time; the caller checks the hours.
pub fn read_time_parts(text: &str) -> Result<(i64, i64, i64, i64), Unreadable> {
    let (first, rest) = leading_big_int(text)?;
    let rest = rest.strip_prefix(':').ok_or(Unreadable::Format)?;
    let (second, rest) = leading_int(rest)?;
    let second = i64::from(second);
    let (hour, minute, second, fraction) = match rest.as_bytes().first() {
        None => (first, second, 0, 0),
        // Two numbers with a decimal point are minutes and seconds.
        Some(b'.') => (0, first, second, fraction_us(rest)?),
        Some(b':') => {
            let (third, rest) = leading_int(&rest[1..])?;
            (first, second, third.into(), if rest.is_empty() { 0 } else { fraction_us(rest)? })
        }
        Some(_) => return Err(Unreadable::Format),
    };
    if hour < 0 || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return Err(Unreadable::OutOfRange);
    }
    Ok((hour, minute, second, fraction))
}

/// An offset `±hh`, `±hhmm`, `±hh:mm`, `±hh:mm:ss` as seconds east of UTC.
pub fn read_offset(text: &str) -> Result<i32, Unreadable> {
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(Unreadable::Format),
    };
    let too_large = |_| Unreadable::ZoneOutOfRange;
    let (mut hours, mut rest) = leading_int(&text[1..]).map_err(too_large)?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (minutes, rest) = leading_int(after).map_err(too_large)?;
        if let Some(after) = rest.strip_prefix(':') {
            (seconds, rest) = leading_int(after).map_err(too_large)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (minutes, hours) = (hours % 100, hours / 100);
    }
    if !(0..=15).contains(&hours) || !(0..60).contains(&minutes) || !(0..60).contains(&seconds) {
        return Err(Unreadable::ZoneOutOfRange);
    }
    if rest.is_empty() { Ok(sign * (hours * 3600 + minutes * 60 + seconds)) } else { Err(Unreadable::Format) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_in_all_forms() {
        for (text, seconds) in [("+01", 3600), ("-0330", -12_600), ("+05:30", 19_800), ("-1", -3600), ("+00:00:01", 1)]
        {
            assert_eq!(read_offset(text), Ok(seconds), "{text}");
        }
        assert_eq!(read_offset("+16"), Err(Unreadable::ZoneOutOfRange));
        assert_eq!(read_offset("+1x"), Err(Unreadable::Format));
    }
}
