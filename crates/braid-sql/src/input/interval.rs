//! Intervals from text, in all the spellings that PostgreSQL reads (`DecodeInterval` in datetime.c).
//!
//! | spelling | example |
//! |---|---|
//! | numbers with units, signs and fractions | `1 year 2 mons -3.5 days`, `1d2h` |
//! | a time | `04:05:06.789`, `-2:30`, `3 4:05` (a bare number before it counts days) |
//! | years and months | `1-2` |
//! | ISO 8601 | `P1Y2M3DT4H5M6S`, `P2W` |
//!
//! `ago` at the end turns all signs round. A bare number counts seconds. Fractions go down: half a year is 6 months, half
//! a month 15 days, half a day 12 hours. Time is kept in nanoseconds, so that it ends at 2 562 047 hours.

use arrow::datatypes::IntervalMonthDayNano;

use super::datetime::invalid_datetime;
use crate::{SqlError, SqlState};

const SECOND_NS: i128 = 1_000_000_000;
const DAY_NS: i128 = 86_400 * SECOND_NS;
/// Digits of a fraction that are kept; more would not change a nanosecond of a millennium.
const FRACTION_DIGITS_MAX: usize = 18;

/// An interval.
pub fn parse_interval(text: &str) -> Result<IntervalMonthDayNano, SqlError> {
    let lower = text.trim_ascii().to_ascii_lowercase();
    let invalid = || invalid_datetime("interval", text);
    let parts = match lower.strip_prefix('p') {
        Some(rest) => read_iso(rest),
        None => read_fields(lower.strip_prefix('@').unwrap_or(&lower)),
    };
    parts.ok_or_else(invalid)?.finish().ok_or_else(|| {
        SqlError::new(SqlState::IntervalOverflow, format!("interval field value out of range: \"{text}\""))
    })
}

/// Sums of the fields so far.
#[derive(Default)]
struct Parts {
    months: i128,
    days: i128,
    ns: i128,
    /// Units that were there, a bit for each: none may come twice.
    seen: u16,
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
}

impl Unit {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" | "microsecon" => {
                Self::Microsecond
            }
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" | "millisecon" => {
                Self::Millisecond
            }
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
            _ => return None,
        })
    }
}

/// A number: `whole + fraction / 10^18`, both of the number's sign.
#[derive(Clone, Copy)]
struct Number {
    whole: i128,
    fraction: i128,
}

const FRACTION_ONE: i128 = 1_000_000_000_000_000_000;

impl Number {
    /// An optional sign, digits, an optional fraction.
    fn read(text: &str) -> Option<Self> {
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !is_number(whole) || !is_number(fraction) || whole.len() > 18 {
            return None;
        }
        let kept = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
        let scaled = format!("{kept:0<FRACTION_DIGITS_MAX$}").parse::<i128>().ok()?;
        Some(Self { whole: sign * whole.parse::<i128>().unwrap_or(0), fraction: sign * scaled })
    }

    /// The number times `unit`, rounded to the nearest.
    fn times(self, unit: i128) -> i128 {
        let product = self.fraction * unit;
        let half = FRACTION_ONE / 2 * product.signum();
        self.whole * unit + (product + half) / FRACTION_ONE
    }
}

impl Parts {
    fn add(&mut self, number: Number, unit: Unit) -> Option<()> {
        let bit = 1 << unit as u16;
        if self.seen & bit != 0 {
            return None;
        }
        self.seen |= bit;
        match unit {
            Unit::Microsecond => self.ns += number.times(1000),
            Unit::Millisecond => self.ns += number.times(1_000_000),
            Unit::Second => self.ns += number.times(SECOND_NS),
            Unit::Minute => self.ns += number.times(60 * SECOND_NS),
            Unit::Hour => self.ns += number.times(3600 * SECOND_NS),
            Unit::Day => self.add_days(number, 1),
            Unit::Week => self.add_days(number, 7),
            Unit::Month => {
                self.months += number.whole;
                self.add_days(Number { whole: 0, fraction: number.fraction }, 30);
            }
            Unit::Year => self.months += number.times(12),
            Unit::Decade => self.months += number.times(120),
            Unit::Century => self.months += number.times(1200),
            Unit::Millennium => self.months += number.times(12_000),
        }
        Some(())
    }

    /// A number of `unit_days`; what is less than a day is time.
    fn add_days(&mut self, number: Number, unit_days: i128) {
        let scaled = number.fraction * unit_days;
        self.days += number.whole * unit_days + scaled / FRACTION_ONE;
        self.ns += Number { whole: 0, fraction: scaled % FRACTION_ONE }.times(DAY_NS);
    }

    /// Microseconds are all that PostgreSQL keeps.
    fn finish(self) -> Option<IntervalMonthDayNano> {
        let half = 500 * self.ns.signum();
        let ns = i64::try_from((self.ns + half) / 1000 * 1000).ok()?;
        Some(IntervalMonthDayNano::new(i32::try_from(self.months).ok()?, i32::try_from(self.days).ok()?, ns))
    }

    fn negated(self) -> Self {
        Self { months: -self.months, days: -self.days, ns: -self.ns, seen: self.seen }
    }
}

/// Numbers, units and times, from the right: what stands on the right of a bare number says what it counts.
fn read_fields(text: &str) -> Option<Parts> {
    let mut tokens = split(text)?;
    let is_ago = tokens.last() == Some(&"ago");
    if is_ago {
        tokens.pop();
    }
    let mut parts = Parts::default();
    let mut unit = Some(Unit::Second);
    if tokens.is_empty() || Unit::of(tokens[0]).is_some() {
        return None;
    }
    for token in tokens.into_iter().rev() {
        if let Some(named) = Unit::of(token) {
            unit = Some(named);
        } else if token.contains(':') {
            read_time(token, &mut parts)?;
            unit = Some(Unit::Day);
        } else if token[1..].contains('-') {
            read_years_and_months(token, &mut parts)?;
            unit = None;
        } else {
            parts.add(Number::read(token)?, unit.take()?)?;
        }
    }
    Some(if is_ago { parts.negated() } else { parts })
}

/// Words, and numbers with their signs, dots, colons and hyphens: `1day` is two tokens. Signs may stand apart.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some(first) = rest.bytes().next() {
        let belongs = |c: u8| match first {
            b'a'..=b'z' => c.is_ascii_lowercase(),
            _ => c.is_ascii_digit() || matches!(c, b'.' | b':' | b'-'),
        };
        let is_start = first.is_ascii_alphanumeric() || matches!(first, b'+' | b'-' | b'.');
        let end = 1 + rest.bytes().skip(1).take_while(|c| belongs(*c)).count();
        if !is_start {
            return None;
        }
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_ascii_start();
    }
    Some(tokens)
}

/// `[-]hours:minutes[:seconds]`, or `minutes:seconds.fraction`.
fn read_time(token: &str, parts: &mut Parts) -> Option<()> {
    let (is_negative, digits) = match token.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, token.strip_prefix('+').unwrap_or(token)),
    };
    let fields: Vec<&str> = digits.split(':').collect();
    let (hours, minutes, seconds) = match fields[..] {
        [minutes, seconds] if seconds.contains('.') => ("0", minutes, seconds),
        [hours, minutes] => (hours, minutes, "0"),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let whole = |text: &str| text.parse::<u32>().ok().map(i128::from);
    let (hours, minutes, seconds) = (whole(hours)?, whole(minutes)?, Number::read(seconds)?);
    // A leap second is a second more.
    if minutes > 59 || !(0..=60).contains(&seconds.whole) || parts.seen & TIME_UNITS != 0 {
        return None;
    }
    parts.seen |= TIME_UNITS;
    let ns = (hours * 3600 + minutes * 60) * SECOND_NS + seconds.times(SECOND_NS);
    parts.ns += if is_negative { -ns } else { ns };
    Some(())
}

const TIME_UNITS: u16 = 1 << Unit::Hour as u16 | 1 << Unit::Minute as u16 | 1 << Unit::Second as u16;

/// `[-]years-months`
fn read_years_and_months(token: &str, parts: &mut Parts) -> Option<()> {
    let sign = if token.starts_with('-') { -1 } else { 1 };
    let (years, months) = token.trim_start_matches(['-', '+']).split_once('-')?;
    let (years, months) = (Number::read(years)?, Number::read(months)?);
    if months.whole > 11 || years.fraction != 0 || months.fraction != 0 {
        return None;
    }
    parts.add(Number { whole: sign * years.whole, fraction: 0 }, Unit::Year)?;
    parts.add(Number { whole: sign * months.whole, fraction: 0 }, Unit::Month)
}

/// What follows the P of ISO 8601: numbers with one-letter units, those of time after a T.
fn read_iso(mut text: &str) -> Option<Parts> {
    let mut parts = Parts::default();
    let mut in_time = false;
    if text.is_empty() {
        return None;
    }
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix('t') {
            if in_time || rest.is_empty() {
                return None;
            }
            (in_time, text) = (true, rest);
            continue;
        }
        let end = text.bytes().position(|c| c.is_ascii_lowercase())?;
        let unit = match (text.as_bytes()[end], in_time) {
            (b'y', false) => Unit::Year,
            (b'm', false) => Unit::Month,
            (b'w', false) => Unit::Week,
            (b'd', false) => Unit::Day,
            (b'h', true) => Unit::Hour,
            (b'm', true) => Unit::Minute,
            (b's', true) => Unit::Second,
            _ => return None,
        };
        parts.add(Number::read(&text[..end])?, unit)?;
        text = &text[end + 1..];
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: i64 = 3_600_000_000_000;

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn all_of_postgresqls_spellings_read() {
        for (text, months, days, ns) in [
            ("1 year 2 months 3 days 4 hours", 14, 3, 4 * HOUR_NS),
            ("2 mons", 2, 0, 0),
            ("04:05:06", 0, 0, 14_706_000_000_000),
            ("-2:30", 0, 0, -5 * HOUR_NS / 2),
            ("1:02.5", 0, 0, 62_500_000_000),
            ("100:00", 0, 0, 100 * HOUR_NS),
            ("1 day -2 hours", 0, 1, -2 * HOUR_NS),
            ("3 4:05", 0, 3, 14_700_000_000_000),
            ("1-2", 14, 0, 0),
            ("-1-2", -14, 0, 0),
            ("1-2 3 4:05", 14, 3, 14_700_000_000_000),
            ("P1Y2M3DT4H", 14, 3, 4 * HOUR_NS),
            ("P2W", 0, 14, 0),
            ("PT1.5S", 0, 0, 1_500_000_000),
            ("3 days ago", 0, -3, 0),
            ("@ 1 day 2 hours ago", 0, -1, -2 * HOUR_NS),
            ("1d2h", 0, 1, 2 * HOUR_NS),
            ("1.5 years", 18, 0, 0),
            ("1.5 mons", 1, 15, 0),
            ("1.5 weeks", 0, 10, 12 * HOUR_NS),
            ("-0.5 days", 0, 0, -12 * HOUR_NS),
            ("1.33 mons", 1, 9, 77_760_000_000_000),
            ("90", 0, 0, 90_000_000_000),
            ("1 century 1 decade", 1320, 0, 0),
            ("3 MS", 0, 0, 3_000_000),
        ] {
            let interval = parse_interval(text).unwrap();
            assert_eq!((interval.months, interval.days, interval.nanoseconds), (months, days, ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for text in ["", "3 parsecs", "day", "1 day 2 days", "1 2", "P", "P1H", "1::2", "ago", "1:60", "infinity"] {
            assert_eq!(parse_interval(text).unwrap_err().sqlstate(), "22007", "{text}");
        }
        for text in ["999999999999 years", "99999999999 hours"] {
            assert_eq!(parse_interval(text).unwrap_err().sqlstate(), "22015", "{text}");
        }
    }
}
