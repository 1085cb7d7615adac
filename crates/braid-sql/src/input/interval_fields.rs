//! All that PostgreSQL reads as an interval.
//!
//! | spelling | example |
//! |---|---|
//! | numbers with units, signs and fractions | `1 year 2 mons -3.5 days`, `@ 1 day ago` |
//! | a time; a bare number before it counts days | `04:05:06.789`, `-2:30`, `3 4:05` |
//! | years and months | `1-2` |
//! | ISO 8601 with designators | `P1Y2M3DT4H5M6S` |
//! | ISO 8601, alternative format | `P0001-02-03T04:05:06`, `P00010203T040506` |
//!
//! Fields are read from right to left, so that a unit comes before its number. A fraction goes down to smaller units: that of a
//! year to months, of a month or week to days, of a day to time.

use super::datetime_numbers::{fraction, leading_big_int, leading_int, read_time_parts};
use super::datetime_values::unreadable;
use super::datetime_words::{Field, FieldKind, Unreadable, cut};
use crate::formats::IntervalStyle;
use crate::types::interval_modifier::{DAY, HOUR, IntervalModifier, MINUTE, MONTH, SECOND, YEAR};
use crate::values::Interval;
use crate::values::calendar::{DAY_US, HOUR_US, MINUTE_US, SECOND_US};
use crate::{SqlError, SqlState};

/// An interval. The modifier says what a number without a unit counts; it is not applied. In the standard's style a sign before the first field
/// is that of all fields, unless another one has a sign.
pub fn interval_of_text(text: &str, modifier: i32, style: IntervalStyle) -> Result<Interval, SqlError> {
    let fields = IntervalModifier::of(modifier).fields;
    let read = cut(text).and_then(|cut| read_fields(&cut, fields, style));
    let parts = match read {
        Err(Unreadable::Format) => read_iso(text),
        other => other,
    };
    let parts = parts.map_err(|why| match why {
        Unreadable::OutOfRange => {
            let message = format!("interval field value out of range: \"{text}\"");
            SqlError::new(SqlState::IntervalOverflow, message)
        }
        why => unreadable(why, text, "interval"),
    })?;
    parts.finish().ok_or_else(|| SqlError::new(SqlState::DatetimeOverflow, "interval out of range"))
}

/// Sums of the fields so far.
#[derive(Default)]
struct Parts {
    years: i32,
    months: i32,
    days: i32,
    us: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
    /// A word that counts nothing in an interval.
    Other,
}

/// All units of a time.
const TIME_UNITS: u16 = 1 << Unit::Hour as u16 | 1 << Unit::Minute as u16 | SECOND_UNITS;
/// Seconds and their parts.
const SECOND_UNITS: u16 = 1 << Unit::Second as u16 | 1 << Unit::Millisecond as u16 | 1 << Unit::Microsecond as u16;

impl Unit {
    /// Only the first ten letters of a word count.
    fn of(word: &str) -> Option<Self> {
        Some(match word.get(..10).unwrap_or(word) {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Self::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Self::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "mons" | "month" | "months" => Self::Month,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            "dec" | "decs" | "decade" | "decades" => Self::Decade,
            "c" | "cent" | "century" | "centuries" => Self::Century,
            "mil" | "mils" | "millennium" | "millennia" => Self::Millennium,
            "qtr" | "quarter" | "timezone" | "timezone_h" | "timezone_m" => Self::Other,
            _ => return None,
        })
    }

    /// What a number without a unit counts, by the fields that the type has.
    fn of_modifier(fields: i32) -> Self {
        match fields {
            YEAR => Self::Year,
            MONTH => Self::Month,
            DAY => Self::Day,
            _ if fields == YEAR | MONTH => Self::Month,
            _ if fields == HOUR || fields == DAY | HOUR => Self::Hour,
            _ if [MINUTE, HOUR | MINUTE, DAY | HOUR | MINUTE].contains(&fields) => Self::Minute,
            _ => Self::Second,
        }
    }
}

/// `whole + fraction`, both of the number's sign.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    fraction: f64,
}

impl Number {
    /// The number of this size that is not positive.
    fn negative(self) -> Self {
        match self.whole > 0 || self.fraction > 0.0 {
            true => Self { whole: -self.whole, fraction: -self.fraction },
            false => self,
        }
    }
}

/// Reads fields from right to left.
fn read_fields(fields: &[Field], modifier_fields: i32, style: IntervalStyle) -> Result<Parts, Unreadable> {
    let mut parts = Parts::default();
    let mut unit = None;
    let mut seen = 0;
    let mut is_ago = false;
    let is_negative = style == IntervalStyle::SqlStandard && has_sign_of_all(fields);
    for field in fields.iter().rev() {
        let text = field.text.as_str();
        let mask = match field.kind {
            FieldKind::Time => {
                parts.read_time(text, modifier_fields)?;
                if is_negative {
                    parts.us = -parts.us;
                }
                unit = Some(Unit::Day);
                TIME_UNITS
            }
            FieldKind::Signed if text[1..].contains(':') && parts.read_time(&text[1..], modifier_fields).is_ok() => {
                if text.starts_with('-') {
                    parts.us = parts.us.checked_neg().ok_or(Unreadable::OutOfRange)?;
                }
                unit = Some(Unit::Day);
                TIME_UNITS
            }
            FieldKind::Signed | FieldKind::Date | FieldKind::Number => {
                let (mut number, implied) = read_number(text)?;
                if is_negative {
                    number = number.negative();
                }
                let counted = implied.or(unit).unwrap_or_else(|| Unit::of_modifier(modifier_fields));
                parts.add(number, counted)?;
                unit = Some(if counted == Unit::Hour { Unit::Day } else { counted });
                let is_fraction = counted == Unit::Second && number.fraction != 0.0;
                if is_fraction { SECOND_UNITS } else { 1 << counted as u16 }
            }
            FieldKind::Word | FieldKind::SignedWord if text == "ago" => {
                is_ago = true;
                unit = Some(Unit::Other);
                0
            }
            FieldKind::Word | FieldKind::SignedWord => {
                unit = Some(Unit::of(text).ok_or(Unreadable::Format)?);
                0
            }
        };
        if seen & mask != 0 {
            return Err(Unreadable::Format);
        }
        seen |= mask;
    }
    if seen == 0 {
        return Err(Unreadable::Format);
    }
    if is_ago { parts.negated().ok_or(Unreadable::OutOfRange) } else { Ok(parts) }
}

/// Whether the first field has a minus, and no other field a sign.
fn has_sign_of_all(fields: &[Field]) -> bool {
    let is_signed = |field: &Field| field.text.starts_with(['-', '+']);
    fields.first().is_some_and(|first| first.text.starts_with('-')) && !fields[1..].iter().any(is_signed)
}

/// A number; `years-months` counts months.
fn read_number(text: &str) -> Result<(Number, Option<Unit>), Unreadable> {
    let is_negative = text.starts_with('-');
    let (whole, rest) = leading_big_int(text)?;
    if let Some(months) = rest.strip_prefix('-') {
        let (months, rest) = leading_int(months)?;
        if !(0..12).contains(&months) {
            return Err(Unreadable::OutOfRange);
        }
        if !rest.is_empty() {
            return Err(Unreadable::Format);
        }
        let months = i64::from(if is_negative { -months } else { months });
        let whole = whole.checked_mul(12).and_then(|years| years.checked_add(months)).ok_or(Unreadable::OutOfRange)?;
        return Ok((Number { whole, fraction: 0.0 }, Some(Unit::Month)));
    }
    let fraction = if rest.is_empty() { 0.0 } else { fraction(rest)? };
    Ok((Number { whole, fraction: if is_negative { -fraction } else { fraction } }, None))
}

impl Parts {
    fn add(&mut self, number: Number, unit: Unit) -> Result<(), Unreadable> {
        let added = match unit {
            Unit::Microsecond => self.add_time(number, 1),
            Unit::Millisecond => self.add_time(number, 1000),
            Unit::Second => self.add_time(number, SECOND_US),
            Unit::Minute => self.add_time(number, MINUTE_US),
            Unit::Hour => self.add_time(number, HOUR_US),
            Unit::Day => self.add_days(number.whole, 1).and_then(|()| self.add_time_fraction(number.fraction, DAY_US)),
            Unit::Week => self.add_days(number.whole, 7).and_then(|()| self.add_day_fraction(number.fraction, 7)),
            Unit::Month => self.add_months(number.whole).and_then(|()| self.add_day_fraction(number.fraction, 30)),
            Unit::Year => self.add_years(number, 1),
            Unit::Decade => self.add_years(number, 10),
            Unit::Century => self.add_years(number, 100),
            Unit::Millennium => self.add_years(number, 1000),
            Unit::Other => return Err(Unreadable::Format),
        };
        added.ok_or(Unreadable::OutOfRange)
    }

    fn add_time(&mut self, number: Number, unit_us: i64) -> Option<()> {
        self.us = self.us.checked_add(number.whole.checked_mul(unit_us)?)?;
        self.add_time_fraction(number.fraction, unit_us)
    }

    fn add_time_fraction(&mut self, fraction: f64, unit_us: i64) -> Option<()> {
        let us = fraction * unit_us as f64;
        let rest = us - us.trunc();
        let carry = i64::from(rest > 0.5) - i64::from(rest < -0.5);
        self.us = self.us.checked_add(us as i64)?.checked_add(carry)?;
        Some(())
    }

    fn add_days(&mut self, count: i64, unit_days: i32) -> Option<()> {
        let days = i32::try_from(count).ok()?.checked_mul(unit_days)?;
        self.days = self.days.checked_add(days)?;
        Some(())
    }

    fn add_day_fraction(&mut self, fraction: f64, unit_days: i32) -> Option<()> {
        let days = fraction * f64::from(unit_days);
        self.days = self.days.checked_add(days as i32)?;
        self.add_time_fraction(days - days.trunc(), DAY_US)
    }

    fn add_months(&mut self, count: i64) -> Option<()> {
        self.months = self.months.checked_add(i32::try_from(count).ok()?)?;
        Some(())
    }

    fn add_years(&mut self, number: Number, unit_years: i32) -> Option<()> {
        let years = i32::try_from(number.whole).ok()?.checked_mul(unit_years)?;
        self.years = self.years.checked_add(years)?;
        let months = (number.fraction * f64::from(unit_years) * 12.0).round_ties_even();
        self.months = self.months.checked_add(months as i32)?;
        Some(())
    }

    /// A time of any number of hours. It replaces what fractions of days to its right gave, as it does for PostgreSQL.
    fn read_time(&mut self, text: &str, modifier_fields: i32) -> Result<(), Unreadable> {
        let (mut hours, mut minutes, mut seconds, fraction_us) = read_time_parts(text)?;
        let has_two_numbers = text.bytes().filter(|c| *c == b':').count() == 1 && !text.contains('.');
        if has_two_numbers && modifier_fields == MINUTE | SECOND {
            (hours, minutes, seconds) = (0, hours, minutes);
            if minutes > 59 {
                return Err(Unreadable::OutOfRange);
            }
        }
        let us = hours.checked_mul(HOUR_US);
        let rest = minutes * MINUTE_US + seconds * SECOND_US + fraction_us;
        self.us = us.and_then(|us| us.checked_add(rest)).ok_or(Unreadable::OutOfRange)?;
        Ok(())
    }

    fn negated(self) -> Option<Self> {
        let Self { years, months, days, us } = self;
        Some(Self {
            years: years.checked_neg()?,
            months: months.checked_neg()?,
            days: days.checked_neg()?,
            us: us.checked_neg()?,
        })
    }

    fn finish(self) -> Option<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        Some(Interval::new(i32::try_from(months).ok()?, self.days, self.us))
    }
}

/// An interval of ISO 8601.
fn read_iso(text: &str) -> Result<Parts, Unreadable> {
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Unreadable::Format)?;
    let mut parts = Parts::default();
    let mut in_time = false;
    let mut has_field = false;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (in_time, has_field, rest) = (true, false, time);
            continue;
        }
        let (number, width, after) = read_iso_number(rest)?;
        let designator = after.bytes().next();
        let unit = match (in_time, designator) {
            (false, Some(b'Y')) => Unit::Year,
            (false, Some(b'M')) => Unit::Month,
            (false, Some(b'W')) => Unit::Week,
            (false, Some(b'D')) => Unit::Day,
            (true, Some(b'H')) => Unit::Hour,
            (true, Some(b'M')) => Unit::Minute,
            (true, Some(b'S')) => Unit::Second,
            (false, None | Some(b'T')) if width == 8 && !has_field => {
                parts.add_basic_date(number).ok_or(Unreadable::OutOfRange)?;
                rest = after;
                continue;
            }
            (true, None) if width == 6 && !has_field => {
                parts.add_basic_time(number).ok_or(Unreadable::OutOfRange)?;
                return Ok(parts);
            }
            (false, None | Some(b'T' | b'-')) if !has_field => {
                rest = parts.read_extended(number, after, b'-', [Unit::Year, Unit::Month, Unit::Day])?;
                continue;
            }
            (true, None | Some(b':')) if !has_field => {
                rest = parts.read_extended(number, after, b':', [Unit::Hour, Unit::Minute, Unit::Second])?;
                if rest.is_empty() {
                    return Ok(parts);
                }
                return Err(Unreadable::Format);
            }
            _ => return Err(Unreadable::Format),
        };
        parts.add(number, unit)?;
        has_field = true;
        rest = &after[1..];
    }
    Ok(parts)
}

impl Parts {
    /// `yyyymmdd`
    fn add_basic_date(&mut self, number: Number) -> Option<()> {
        self.add_years(Number { whole: number.whole / 10_000, fraction: 0.0 }, 1)?;
        self.add_months(number.whole / 100 % 100)?;
        self.add_days(number.whole % 100, 1)?;
        self.add_time_fraction(number.fraction, DAY_US)
    }

    /// `hhmmss`
    fn add_basic_time(&mut self, number: Number) -> Option<()> {
        let whole = |whole| Number { whole, fraction: 0.0 };
        self.add_time(whole(number.whole / 10_000), HOUR_US)?;
        self.add_time(whole(number.whole / 100 % 100), MINUTE_US)?;
        self.add_time(whole(number.whole % 100), SECOND_US)?;
        self.add_time_fraction(number.fraction, 1)
    }

    /// Up to three numbers with a separator; returns what follows: nothing, or a T after a date.
    fn read_extended<'a>(
        &mut self,
        first: Number,
        mut rest: &'a str,
        separator: u8,
        units: [Unit; 3],
    ) -> Result<&'a str, Unreadable> {
        let mut number = first;
        for (at, unit) in units.into_iter().enumerate() {
            self.add(number, unit)?;
            if rest.is_empty() || (separator == b'-' && rest.starts_with('T')) {
                return Ok(rest);
            }
            if at == 2 || rest.as_bytes()[0] != separator {
                return Err(Unreadable::Format);
            }
            (number, _, rest) = read_iso_number(&rest[1..])?;
        }
        Err(Unreadable::Format)
    }
}

/// A number with an optional minus, fraction and exponent; the count of digits before its fraction; and what follows.
fn read_iso_number(text: &str) -> Result<(Number, usize, &str), Unreadable> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|c| c.is_ascii_digit()).count();
    let start = usize::from(text.starts_with('-'));
    let width = digits(start);
    let mut end = start + width;
    let mut has_digits = width > 0;
    if bytes.get(end) == Some(&b'.') {
        let count = digits(end + 1);
        has_digits |= count > 0;
        end += 1 + count;
    }
    if !has_digits {
        return Err(Unreadable::Format);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let count = digits(end + 1 + sign);
        end += if count > 0 { 1 + sign + count } else { 0 };
    }
    let value: f64 = text[..end].parse().map_err(|_| Unreadable::Format)?;
    if !(-1e15..=1e15).contains(&value) {
        return Err(Unreadable::OutOfRange);
    }
    let whole = value.trunc();
    Ok((Number { whole: whole as i64, fraction: value - whole }, width, &text[end..]))
}
