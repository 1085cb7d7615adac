//! Intervals in PostgreSQL's `postgres` style, such as `1 year 2 mons -3 days +04:05:06.789`, and their parser.
//!
//! An interval is months, days and microseconds, each with a sign of its own. Arrow's nanoseconds are cut to
//! microseconds, which is all the wire can carry. Source of the style: `EncodeInterval` in PostgreSQL's `datetime.c`.

use super::calendar::{append_fraction, parse_fraction};
use super::decimal_digits::{append_i64, append_padded};

/// Months, days and microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Months; twelve make a year.
    pub months: i32,
    /// Days, of whatever length they turn out to have.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// Appends the text form.
pub(crate) fn append_text(out: &mut Vec<u8>, interval: Interval) {
    let start = out.len();
    let mut after_negative = false;
    let units = [
        (i64::from(interval.months / 12), "year"),
        (i64::from(interval.months % 12), "mon"),
        (i64::from(interval.days), "day"),
    ];
    for (value, unit) in units {
        if value != 0 {
            append_separator(out, start);
            if after_negative && value > 0 {
                out.push(b'+');
            }
            append_i64(out, value);
            out.push(b' ');
            out.extend_from_slice(unit.as_bytes());
            if value != 1 {
                out.push(b's');
            }
            after_negative = value < 0;
        }
    }
    if interval.micros != 0 || out.len() == start {
        append_separator(out, start);
        match (interval.micros < 0, after_negative) {
            (true, _) => out.push(b'-'),
            (false, true) => out.push(b'+'),
            (false, false) => {}
        }
        let micros = interval.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        append_padded(out, seconds / 3600, 2);
        out.push(b':');
        append_padded(out, seconds / 60 % 60, 2);
        out.push(b':');
        append_padded(out, seconds % 60, 2);
        append_fraction(out, micros % 1_000_000);
    }
}

fn append_separator(out: &mut Vec<u8>, start: usize) {
    if out.len() != start {
        out.push(b' ');
    }
}

/// Reads what PostgreSQL and its drivers write: `[@] 1 year 2 mons 3 days 04:05:06.7 [ago]`, numbers with units in any
/// order, a clock time, and ISO 8601 `P1Y2M3DT4H5M6.7S`. `None` when it is not of that form or out of range.
pub(crate) fn parse(text: &str) -> Option<Interval> {
    let text = text.trim();
    if let Some(designators) = text.strip_prefix(['P', 'p']) {
        return parse_iso(designators);
    }
    let mut words = text.trim_start_matches('@').split_ascii_whitespace().peekable();
    if words.peek().is_none_or(|first| first.eq_ignore_ascii_case("ago")) {
        return None;
    }
    let mut total = Total::default();
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("ago") && words.peek().is_none() {
            total = total.negated();
        } else if word.contains(':') {
            total.micros += parse_clock(word)?;
        } else {
            let digits_end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
            let (number, unit) = word.split_at(digits_end);
            total.add(number, if unit.is_empty() { words.next()? } else { unit })?;
        }
    }
    total.interval()
}

/// Sums while parsing: wide enough that only the end is checked.
#[derive(Default)]
struct Total {
    months: i128,
    days: i128,
    micros: i128,
}

impl Total {
    /// Adds `number` (a decimal) of `unit`; fractions go down to the next smaller part, as PostgreSQL has it.
    fn add(&mut self, number: &str, unit: &str) -> Option<()> {
        const SECOND: i128 = 1_000_000;
        const DAY: i128 = 86_400 * SECOND;
        /// PostgreSQL's month for fractions.
        const MONTH_DAYS: i128 = 30;
        let (negative, digits) = match number.as_bytes().first()? {
            b'-' => (true, &number[1..]),
            b'+' => (false, &number[1..]),
            _ => (false, number),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let whole: i128 =
            if whole.is_empty() && !fraction.is_empty() { 0 } else { i128::from(whole.parse::<u64>().ok()?) };
        let millionths = i128::from(parse_fraction(fraction).ok()?);
        let sign = if negative { -1 } else { 1 };
        let (whole, millionths) = (sign * whole, sign * millionths);
        let unit = unit.to_ascii_lowercase();
        let unit = if unit.len() > 2 { unit.trim_end_matches('s') } else { unit.as_str() };
        match unit {
            "millennium" | "mil" => self.months += (whole * SECOND + millionths) * 12_000 / SECOND,
            "century" | "centurie" | "c" => self.months += (whole * SECOND + millionths) * 1200 / SECOND,
            "decade" | "dec" => self.months += (whole * SECOND + millionths) * 120 / SECOND,
            "year" | "yr" | "y" => self.months += (whole * SECOND + millionths) * 12 / SECOND,
            "month" | "mon" => {
                self.months += whole;
                self.add_days(millionths * MONTH_DAYS);
            }
            "week" | "w" => self.add_days((whole * SECOND + millionths) * 7),
            "day" | "d" => self.add_days(whole * SECOND + millionths),
            "hour" | "hr" | "h" => self.micros += (whole * SECOND + millionths) * 3600,
            "minute" | "min" | "m" => self.micros += (whole * SECOND + millionths) * 60,
            "second" | "sec" | "s" => self.micros += whole * SECOND + millionths,
            "millisecond" | "msec" | "ms" => self.micros += whole * 1000 + millionths / 1000,
            "microsecond" | "usec" | "us" => self.micros += whole,
            _ => return None,
        }
        // Keeps any sum of words far below overflow.
        (self.micros.abs() < DAY << 64 && self.months.abs() < 1 << 64 && self.days.abs() < 1 << 64).then_some(())
    }

    fn add_days(&mut self, millionths: i128) {
        self.days += millionths / 1_000_000;
        self.micros += millionths % 1_000_000 * 86_400;
    }

    fn negated(self) -> Self {
        Self { months: -self.months, days: -self.days, micros: -self.micros }
    }

    fn interval(self) -> Option<Interval> {
        Some(Interval {
            months: self.months.try_into().ok()?,
            days: self.days.try_into().ok()?,
            micros: self.micros.try_into().ok()?,
        })
    }
}

/// `[+-]HH:MM[:SS[.ffffff]]` in microseconds; hours are not limited to a day.
fn parse_clock(word: &str) -> Option<i128> {
    let (sign, clock) = match word.as_bytes().first()? {
        b'-' => (-1, &word[1..]),
        b'+' => (1, &word[1..]),
        _ => (1, word),
    };
    let mut parts = clock.split(':');
    let hour = parts.next()?.parse::<u32>().ok()?;
    let minute = parts.next()?.parse::<u32>().ok().filter(|m| *m < 60)?;
    let (second, fraction) = parts.next().map_or(("0", ""), |s| s.split_once('.').unwrap_or((s, "")));
    let second = second.parse::<u32>().ok().filter(|s| *s < 61)?;
    if parts.next().is_some() {
        return None;
    }
    let seconds = i128::from(hour) * 3600 + i128::from(minute) * 60 + i128::from(second);
    Some(sign * (seconds * 1_000_000 + i128::from(parse_fraction(fraction).ok()?)))
}

/// What follows the `P` of ISO 8601.
fn parse_iso(designators: &str) -> Option<Interval> {
    let mut total = Total::default();
    let (mut in_time, mut start, mut any) = (false, 0, false);
    for (at, c) in designators.char_indices() {
        match c.to_ascii_uppercase() {
            'T' if start == at && !in_time => in_time = true,
            '0'..='9' | '.' | '-' | '+' => continue,
            unit => {
                let unit = match (unit, in_time) {
                    ('Y', false) => "year",
                    ('M', false) => "month",
                    ('W', false) => "week",
                    ('D', false) => "day",
                    ('H', true) => "hour",
                    ('M', true) => "minute",
                    ('S', true) => "second",
                    _ => return None,
                };
                total.add(&designators[start..at], unit)?;
                any = true;
            }
        }
        start = at + 1;
    }
    if any && start == designators.len() { total.interval() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn interval(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    #[test]
    fn intervals_print_as_postgresql_prints_them() {
        for (value, expected) in [
            (interval(0, 0, 0), "00:00:00"),
            (interval(14, 3, 4 * HOUR + 5_000_000), "1 year 2 mons 3 days 04:00:05"),
            (interval(1, 1, 0), "1 mon 1 day"),
            (interval(-14, 3, -HOUR), "-1 years -2 mons +3 days -01:00:00"),
            (interval(0, -1, HOUR), "-1 days +01:00:00"),
            (interval(0, 0, 100 * HOUR + 1), "100:00:00.000001"),
            (interval(0, 0, -1_500_000), "-00:00:01.5"),
        ] {
            let mut out = Vec::new();
            append_text(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            assert_eq!(parse(expected), Some(value), "{expected}");
        }
    }

    #[test]
    fn drivers_forms_parse() {
        for (text, expected) in [
            ("0 years 0 mons 1 days 0 hours 0 mins 1.5 secs", Some(interval(0, 1, 1_500_000))),
            ("@ 1 hour ago", Some(interval(0, 0, -HOUR))),
            ("1.5 years", Some(interval(18, 0, 0))),
            ("1.5 months", Some(interval(1, 15, 0))),
            ("1.5 days", Some(interval(0, 1, 12 * HOUR))),
            ("2w", Some(interval(0, 14, 0))),
            ("90 minutes", Some(interval(0, 0, HOUR * 3 / 2))),
            ("250 ms", Some(interval(0, 0, 250_000))),
            ("P1Y2M3DT4H", Some(interval(14, 3, 4 * HOUR))),
            ("PT0.5S", Some(interval(0, 0, 500_000))),
            ("P-1M", Some(interval(-1, 0, 0))),
            ("", None),
            ("1", None),
            ("ago", None),
            ("1 parsec", None),
            ("P", None),
            ("P1H", None),
            ("99999999999 years", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
