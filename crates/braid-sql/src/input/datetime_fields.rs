//! All that PostgreSQL reads as a date, a time or a timestamp.
//!
//! A [`Reader`] takes the fields of a text one after the other, and remembers which parts of a date it has. A text with a date and
//! one of a time only have rules of their own where a number could be either.

use crate::formats::DateOrder;
use crate::input::time_zones::TimeZone;

use super::datetime_numbers::{
    Clock, DATE, DAY, DAY_OF_WEEK, ERA, HALF_DAY, MONTH, Mask, SPECIAL, SUMMER_TIME, TIME, ZONE, fraction, leading_int,
    read_offset,
};
use super::datetime_words::{Field, FieldKind, Unreadable, Word, cut, word};
use super::time_zones::{Zone, local_offset_s, zone_abbreviated, zone_named, zone_offset_s};
use crate::values::calendar::{DAY_US, EPOCH_JULIAN_DAY, SECOND_US};

/// What a text without a full date means.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The session's time zone.
    pub zone: TimeZone,
    /// When the transaction began: `now`.
    pub now_us: i64,
    /// The order of the numbers of a date.
    pub date_order: DateOrder,
}

impl Surroundings {
    /// What clocks of the session show now.
    fn local_now_us(&self) -> i64 {
        self.now_us + i64::from(zone_offset_s(self.now_us, &self.zone)) * SECOND_US
    }
}

/// What a text says.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// A day since 1970-01-01 (in bounds of 32 bits), microseconds since its midnight, and seconds east of UTC.
    At {
        /// The day.
        days: i64,
        /// Microseconds.
        time_us: i64,
        /// Seconds east of UTC: what the text says, else the session's.
        offset_s: i32,
    },
    /// `epoch`
    Epoch,
    /// `infinity` (true) or `-infinity`.
    Infinity(bool),
}

/// Reads a date with or without a time and a zone.
pub fn read_moment(text: &str, around: &Surroundings) -> Result<Moment, Unreadable> {
    let fields = cut(text)?;
    let mut reader = Reader::new(around, false);
    for (at, field) in fields.iter().enumerate() {
        reader.read(field, at, &fields)?;
    }
    reader.finish_moment()
}

/// Reads a time, perhaps with a date and a zone: microseconds since midnight, seconds east of UTC.
pub fn read_time_of_day(text: &str, around: &Surroundings) -> Result<(i64, i32), Unreadable> {
    let fields = cut(text)?;
    let mut reader = Reader::new(around, true);
    for (at, field) in fields.iter().enumerate() {
        reader.read(field, at, &fields)?;
    }
    reader.finish_time()
}

/// A word that says what the next number is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Julian,
    Time,
    Other,
}

struct Reader<'a> {
    around: &'a Surroundings,
    /// Whether a time of day is read, not a date.
    is_time_only: bool,
    clock: Clock,
    seen: Mask,
    label: Option<Label>,
    has_month_name: bool,
    is_julian: bool,
    is_bc: bool,
    /// AM (false) or PM (true).
    half: Option<bool>,
    /// Seconds east of UTC.
    offset_s: i32,
    /// A zone whose offset depends on the date.
    zone: Option<Zone>,
    special: Option<Moment>,
}

impl<'a> Reader<'a> {
    fn new(around: &'a Surroundings, is_time_only: bool) -> Self {
        Self {
            around,
            is_time_only,
            clock: Clock { order: around.date_order, ..Clock::default() },
            seen: 0,
            label: None,
            has_month_name: false,
            is_julian: false,
            is_bc: false,
            half: None,
            offset_s: 0,
            zone: None,
            special: None,
        }
    }

    fn read(&mut self, field: &Field, at: usize, fields: &[Field]) -> Result<(), Unreadable> {
        let text = field.text.as_str();
        let mask = match field.kind {
            FieldKind::Date if self.is_time_only => self.date_in_time(text, at, fields)?,
            FieldKind::Date => self.date(text)?,
            FieldKind::Time => self.time(text)?,
            FieldKind::Signed => {
                self.offset_s = read_offset(text)?;
                ZONE
            }
            FieldKind::Number if self.label.is_some() => self.labelled_number(text)?,
            FieldKind::Number if self.is_time_only => self.number_in_time(text, at, fields)?,
            FieldKind::Number => self.number(text)?,
            FieldKind::Word | FieldKind::SignedWord => self.word(text, fields.get(at + 1))?,
        };
        if mask & self.seen != 0 {
            return Err(Unreadable::Format);
        }
        self.seen |= mask;
        Ok(())
    }

    fn date(&mut self, text: &str) -> Result<Mask, Unreadable> {
        if self.label == Some(Label::Julian) {
            let (day, rest) = leading_int(text)?;
            self.set_julian_day(day)?;
            self.offset_s = read_offset(rest)?;
            self.label = None;
            return Ok(DATE | TIME | ZONE);
        }
        let has_month_and_day = self.seen & (MONTH | DAY) == MONTH | DAY;
        if self.label.is_none() && !has_month_and_day {
            return self.clock.read_date(text, self.seen);
        }
        if !text.as_bytes()[0].is_ascii_digit() && self.label.is_none() {
            return self.named_zone(text);
        }
        if self.label.take().is_some_and(|label| label != Label::Time) || self.seen & TIME == TIME {
            return Err(Unreadable::Format);
        }
        self.time_with_offset(text, self.seen)
    }

    /// `hhmmss-zz`
    fn time_with_offset(&mut self, text: &str, seen: Mask) -> Result<Mask, Unreadable> {
        let hyphen = text.find('-').ok_or(Unreadable::Format)?;
        self.offset_s = read_offset(&text[hyphen..])?;
        Ok(self.clock.read_run_together(&text[..hyphen], seen)? | ZONE)
    }

    fn date_in_time(&mut self, text: &str, at: usize, fields: &[Field]) -> Result<Mask, Unreadable> {
        let may_be_date = at == 0
            && fields.len() >= 2
            && (fields[fields.len() - 1].kind == FieldKind::Date || fields[1].kind == FieldKind::Time);
        if may_be_date {
            return self.clock.read_date(text, self.seen);
        }
        if !text.as_bytes()[0].is_ascii_digit() {
            return self.named_zone(text);
        }
        if self.seen & TIME == TIME {
            return Err(Unreadable::Format);
        }
        self.time_with_offset(text, self.seen | DATE)
    }

    fn named_zone(&mut self, text: &str) -> Result<Mask, Unreadable> {
        let zone = zone_named(text).ok_or_else(|| Unreadable::UnknownZone(text.to_owned()))?;
        self.zone = Some(zone);
        Ok(ZONE)
    }

    fn time(&mut self, text: &str) -> Result<Mask, Unreadable> {
        if !self.is_time_only && self.label.take().is_some_and(|label| label != Label::Time) {
            return Err(Unreadable::Format);
        }
        let mask = self.clock.read_time(text)?;
        if !self.is_time_only && self.clock.time_overflows() {
            return Err(Unreadable::OutOfRange);
        }
        Ok(mask)
    }

    fn set_julian_day(&mut self, day: i32) -> Result<(), Unreadable> {
        if day < 0 {
            return Err(Unreadable::OutOfRange);
        }
        self.clock.set_days(i64::from(day) - EPOCH_JULIAN_DAY);
        self.is_julian = true;
        Ok(())
    }

    fn labelled_number(&mut self, text: &str) -> Result<Mask, Unreadable> {
        let label = self.label.take();
        let (value, rest) = leading_int(text)?;
        if !rest.is_empty() && !rest.starts_with('.') {
            return Err(Unreadable::Format);
        }
        match label {
            Some(Label::Julian) => {
                self.set_julian_day(value)?;
                if rest.is_empty() {
                    return Ok(DATE);
                }
                self.clock.set_time_us((fraction(rest)? * DAY_US as f64) as i64);
                Ok(DATE | TIME)
            }
            Some(Label::Time) => match self.clock.read_run_together(text, self.seen | DATE)? {
                TIME => Ok(TIME),
                _ => Err(Unreadable::Format),
            },
            _ => Err(Unreadable::Format),
        }
    }

    fn number(&mut self, text: &str) -> Result<Mask, Unreadable> {
        let point = text.find('.');
        let lacks_date = self.seen & DATE == 0;
        match point {
            Some(_) if lacks_date => self.clock.read_date(text, self.seen),
            Some(point) if point > 2 => self.clock.read_run_together(text, self.seen),
            _ if text.len() >= 6 && (lacks_date || self.seen & TIME == 0) => {
                self.clock.read_run_together(text, self.seen)
            }
            _ => self.clock.read_number(text, self.has_month_name, self.seen),
        }
    }

    fn number_in_time(&mut self, text: &str, at: usize, fields: &[Field]) -> Result<Mask, Unreadable> {
        let seen = self.seen | DATE;
        match text.find('.') {
            Some(_) if at == 0 && fields.len() >= 2 && fields[fields.len() - 1].kind == FieldKind::Date => {
                self.clock.read_date(text, self.seen)
            }
            Some(point) if point > 2 => self.clock.read_run_together(text, seen),
            Some(_) => Err(Unreadable::Format),
            None if text.len() > 4 => self.clock.read_run_together(text, seen),
            None => self.clock.read_number(text, false, seen),
        }
    }

    fn word(&mut self, text: &str, next: Option<&Field>) -> Result<Mask, Unreadable> {
        let abbreviated = zone_abbreviated(text).map(|(zone, is_summer)| Word::Zone(zone, is_summer));
        match abbreviated.or_else(|| word(text)) {
            Some(found @ (Word::Month(_) | Word::DayOfWeek | Word::Today(_) | Word::Epoch | Word::Infinity(_))) => {
                if self.is_time_only {
                    Err(Unreadable::Format)
                } else {
                    Ok(self.date_word(found))
                }
            }
            Some(Word::IsoTime) => self.iso_time(next),
            Some(found) => self.other_word(found),
            None => {
                self.zone = Some(zone_named(text).ok_or(Unreadable::Format)?);
                Ok(ZONE)
            }
        }
    }

    /// Words that only dates have.
    fn date_word(&mut self, found: Word) -> Mask {
        match found {
            Word::Month(month) => {
                // A number before it, taken for the month, was the day.
                let was_day = self.seen & MONTH != 0
                    && !self.has_month_name
                    && self.seen & DAY == 0
                    && (1..=31).contains(&self.clock.month);
                let mask = if was_day {
                    self.clock.day = self.clock.month;
                    DAY
                } else {
                    MONTH
                };
                self.has_month_name = true;
                self.clock.month = month;
                mask
            }
            Word::Today(days) => {
                self.special = None;
                self.clock.set_days(self.around.local_now_us().div_euclid(DAY_US) + days);
                DATE
            }
            Word::Epoch => {
                self.special = Some(Moment::Epoch);
                SPECIAL
            }
            Word::Infinity(is_late) => {
                self.special = Some(Moment::Infinity(is_late));
                SPECIAL
            }
            _ => DAY_OF_WEEK,
        }
    }

    /// `T`: a time must follow, and in a text with a date, a date comes before.
    fn iso_time(&mut self, next: Option<&Field>) -> Result<Mask, Unreadable> {
        let may_be_time = |field: &Field| matches!(field.kind, FieldKind::Number | FieldKind::Time | FieldKind::Date);
        if !next.is_some_and(may_be_time) || (!self.is_time_only && self.seen & DATE != DATE) {
            return Err(Unreadable::Format);
        }
        self.label = Some(Label::Time);
        Ok(0)
    }

    fn other_word(&mut self, found: Word) -> Result<Mask, Unreadable> {
        match found {
            Word::Now => {
                self.special = None;
                let local_us = self.around.local_now_us();
                self.clock.set_days(local_us.div_euclid(DAY_US));
                self.clock.set_time_us(local_us.rem_euclid(DAY_US));
                self.offset_s = zone_offset_s(self.around.now_us, &self.around.zone);
                Ok(if self.is_time_only { TIME } else { DATE | TIME | ZONE })
            }
            Word::Midnight => {
                self.special = None;
                self.clock.set_time_us(0);
                self.offset_s = 0;
                Ok(TIME | ZONE)
            }
            Word::SummerTime => {
                self.offset_s += 3600;
                Ok(SUMMER_TIME)
            }
            Word::Zone(Zone::Fixed(seconds), _) => {
                self.offset_s = seconds;
                Ok(ZONE)
            }
            Word::Zone(zone, _) => {
                self.zone = Some(zone);
                Ok(ZONE)
            }
            Word::Am | Word::Pm => {
                self.half = Some(matches!(found, Word::Pm));
                Ok(HALF_DAY)
            }
            Word::Era(is_bc) => {
                self.is_bc = is_bc;
                Ok(ERA)
            }
            Word::Julian | Word::Unit => {
                self.label = Some(if matches!(found, Word::Julian) { Label::Julian } else { Label::Other });
                Ok(0)
            }
            Word::Ignored => Ok(0),
            _ => Err(Unreadable::Format),
        }
    }

    /// Checks the date, and turns hours of twelve into hours of 24.
    fn check(&mut self) -> Result<(), Unreadable> {
        self.clock.validate(self.seen, self.is_julian, self.is_bc)?;
        if let Some(is_afternoon) = self.half {
            if self.clock.hour > 12 {
                return Err(Unreadable::OutOfRange);
            }
            self.clock.hour = self.clock.hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        Ok(())
    }

    fn finish_moment(mut self) -> Result<Moment, Unreadable> {
        if let Some(special) = self.special {
            return Ok(special);
        }
        self.check()?;
        if self.seen & DATE != DATE {
            return Err(Unreadable::Format);
        }
        let (days, time_us) = (self.clock.days(), self.clock.time_us());
        let offset_s = self.offset_at(days, time_us)?;
        Ok(Moment::At { days, time_us, offset_s })
    }

    fn offset_at(&self, days: i64, time_us: i64) -> Result<i32, Unreadable> {
        let local_us = days.saturating_mul(DAY_US).saturating_add(time_us);
        let has_summer_word = self.seen & SUMMER_TIME != 0;
        match self.zone {
            Some(_) if has_summer_word => Err(Unreadable::Format),
            Some(zone) => Ok(zone.offset_of_local(local_us)),
            None if self.seen & ZONE != 0 => Ok(self.offset_s),
            None if has_summer_word => Err(Unreadable::Format),
            None => Ok(local_offset_s(local_us, &self.around.zone)),
        }
    }

    fn finish_time(mut self) -> Result<(i64, i32), Unreadable> {
        self.check()?;
        if self.clock.time_overflows() {
            return Err(Unreadable::OutOfRange);
        }
        if self.seen & TIME != TIME {
            return Err(Unreadable::Format);
        }
        let time_us = self.clock.time_us();
        let has_date = self.seen & DATE == DATE;
        let today = self.around.local_now_us().div_euclid(DAY_US);
        let offset_s = match self.zone {
            Some(zone @ Zone::Named(_)) if self.seen & SUMMER_TIME == 0 && !has_date => {
                zone.constant_offset().ok_or(Unreadable::Format)?
            }
            _ if has_date => self.offset_at(self.clock.days(), time_us)?,
            _ if self.seen & DATE == 0 || (self.zone.is_none() && self.seen & ZONE != 0) => {
                self.offset_at(today, time_us)?
            }
            _ => return Err(Unreadable::Format),
        };
        Ok((time_us, offset_s))
    }
}
