//! Dates, times and timestamps: the proleptic Gregorian calendar, PostgreSQL's ISO text form and its parser.
//!
//! Day numbers count from 1970-01-01 (as Arrow's do), microseconds likewise; the wire's binary forms count from
//! 2000-01-01. Years before 1 print as `0044-03-15 BC`. The parser takes ISO 8601 order only (`DateStyle` is ISO):
//! words such as `today` and `infinity` have no fixed meaning that Arrow could hold.
//! Calendar arithmetic after Howard Hinnant, "chrono-compatible low-level date algorithms".

use super::decimal_digits::{append_padded, append_two, append_u64};
use arrow::array::timezone::Tz;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::temporal_conversions::as_datetime_with_timezone;

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's binary dates start.
pub(crate) const POSTGRES_EPOCH_DAYS: i32 = 10_957;

/// Microseconds from 1970-01-01 to 2000-01-01.
pub(crate) const POSTGRES_EPOCH_US: i64 = POSTGRES_EPOCH_DAYS as i64 * DAY_US;

/// Microseconds in a day.
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// Year (astronomical: 0 is 1 BC), month and day of a day number.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    // The year starts in March, so that the leap day comes last; an era has 400 years or 146 097 days.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month as u32, day as u32)
}

fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The text of an infinite date or timestamp; `None` for a finite one.
pub(crate) fn infinity(value: i64, minus_infinity: i64, infinity: i64) -> Option<&'static [u8]> {
    if value == infinity {
        Some(b"infinity")
    } else if value == minus_infinity {
        Some(b"-infinity")
    } else {
        None
    }
}

/// Appends a date.
pub(crate) fn append_date(out: &mut Vec<u8>, days: i32) {
    if let Some(text) = infinity(days.into(), i32::MIN.into(), i32::MAX.into()) {
        return out.extend_from_slice(text);
    }
    append_date_part(out, i64::from(days), |_| {});
}

/// Appends a timestamp.
pub(crate) fn append_timestamp(out: &mut Vec<u8>, micros: i64) {
    if let Some(text) = infinity(micros, i64::MIN, i64::MAX) {
        return out.extend_from_slice(text);
    }
    append_date_and_time(out, micros, |_| {});
}

/// Appends an instant as a clock in `zone` shows it, with the zone's offset then; without a zone, as UTC.
pub(crate) fn append_timestamptz(out: &mut Vec<u8>, micros: i64, zone: Option<&Tz>) {
    if let Some(text) = infinity(micros, i64::MIN, i64::MAX) {
        return out.extend_from_slice(text);
    }
    let offset_of = |zone: &Tz| {
        let datetime = as_datetime_with_timezone::<TimestampMicrosecondType>(micros, *zone)?;
        Some((datetime.naive_local() - datetime.naive_utc()).num_seconds())
    };
    let offset = zone.and_then(offset_of).unwrap_or(0);
    append_date_and_time(out, micros + offset * 1_000_000, |out| append_offset(out, offset));
}

fn append_date_and_time(out: &mut Vec<u8>, micros: i64, append_rest: impl FnOnce(&mut Vec<u8>)) {
    append_date_part(out, micros.div_euclid(DAY_US), |out| {
        out.push(b' ');
        append_time(out, micros.rem_euclid(DAY_US));
        append_rest(out);
    });
}

/// `+HH`, `-HH:MM` or `+HH:MM:SS`, as short as it may be.
fn append_offset(out: &mut Vec<u8>, offset_seconds: i64) {
    let east = offset_seconds.unsigned_abs() as u32;
    out.push(if offset_seconds < 0 { b'-' } else { b'+' });
    append_two(out, east / 3600);
    let (minutes, seconds) = (east / 60 % 60, east % 60);
    if minutes != 0 || seconds != 0 {
        out.push(b':');
        append_two(out, minutes);
    }
    if seconds != 0 {
        out.push(b':');
        append_two(out, seconds);
    }
}

/// Appends the date, what follows it, and `BC` where the year is below 1.
fn append_date_part(out: &mut Vec<u8>, days: i64, append_rest: impl FnOnce(&mut Vec<u8>)) {
    let (year, month, day) = civil_from_days(days);
    let printed = if year > 0 { year } else { 1 - year } as u64;
    if printed < 10_000 {
        append_two(out, (printed / 100) as u32);
        append_two(out, (printed % 100) as u32);
    } else {
        append_u64(out, printed);
    }
    out.push(b'-');
    append_two(out, month);
    out.push(b'-');
    append_two(out, day);
    append_rest(out);
    if year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a time of day given in microseconds; 86 400 000 000 prints as 24:00:00.
pub(crate) fn append_time(out: &mut Vec<u8>, micros: i64) {
    let seconds = micros / 1_000_000;
    append_two(out, (seconds / 3600) as u32);
    out.push(b':');
    append_two(out, (seconds / 60 % 60) as u32);
    out.push(b':');
    append_two(out, (seconds % 60) as u32);
    append_fraction(out, (micros % 1_000_000) as u64);
}

/// Appends `.ffffff` without trailing zeros; nothing for zero.
pub(crate) fn append_fraction(out: &mut Vec<u8>, micros: u64) {
    if micros != 0 {
        out.push(b'.');
        append_padded(out, micros, 6);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// A date and time as written, before anyone decides what its offset means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Days since 1970-01-01.
    pub days: i32,
    /// Microseconds since midnight.
    pub micros: i64,
    /// Offset from UTC in seconds, east positive, where one was written.
    pub offset_seconds: Option<i32>,
}

impl Written {
    /// Microseconds since 1970-01-01 as written, ignoring an offset: what `timestamp` means.
    pub fn local_us(self) -> Option<i64> {
        i64::from(self.days).checked_mul(DAY_US)?.checked_add(self.micros)
    }

    /// Microseconds since 1970-01-01 UTC; without an offset as if it were UTC: what `timestamptz` means.
    pub fn utc_us(self) -> Option<i64> {
        self.local_us()?.checked_sub(i64::from(self.offset_seconds.unwrap_or(0)) * 1_000_000)
    }
}

/// Why a text is no date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalendarFault {
    /// Not of the form.
    Malformed,
    /// Of the form, but no such day or time exists.
    OutOfRange,
}

/// Reads `YYYY-MM-DD[( |T)HH:MM[:SS[.ffffff]]][Z|±HH[[:]MM[:SS]]][ BC]`.
pub(crate) fn parse_timestamp(text: &str) -> Result<Written, CalendarFault> {
    let text = text.trim();
    let (text, before_christ) = match text.strip_suffix("BC").or_else(|| text.strip_suffix("bc")) {
        Some(rest) => (rest.trim_end(), true),
        None => (text, false),
    };
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let mut parts = date.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(CalendarFault::Malformed);
    };
    let year = i64::from(number(year, 3..=6)?);
    let (month, day) = (number(month, 1..=2)?, number(day, 1..=2)?);
    let year = if before_christ { 1 - year } else { year };
    let days = days_from_civil(year, month.clamp(1, 12), day);
    if civil_from_days(days) != (year, month, day) || (year == 0 && !before_christ) {
        return Err(CalendarFault::OutOfRange);
    }
    let days = i32::try_from(days).map_err(|_| CalendarFault::OutOfRange)?;
    let time = time.trim();
    let (micros, offset_seconds) = match time.as_bytes().first() {
        Some(digit) if digit.is_ascii_digit() => parse_time_and_offset(time)?,
        // A date with an offset, which is how the JDBC driver sends one.
        _ => (0, parse_offset(time)?),
    };
    Ok(Written { days, micros, offset_seconds })
}

/// Reads `HH:MM[:SS[.ffffff]]`, an offset behind it is ignored; microseconds since midnight.
pub(crate) fn parse_time(text: &str) -> Result<i64, CalendarFault> {
    parse_time_and_offset(text.trim()).map(|(micros, _)| micros)
}

fn parse_time_and_offset(text: &str) -> Result<(i64, Option<i32>), CalendarFault> {
    let clock_end = text.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(text.len());
    let (clock, zone) = text.split_at(clock_end);
    let mut parts = clock.split(':');
    let (Some(hour), Some(minute)) = (parts.next(), parts.next()) else {
        return Err(CalendarFault::Malformed);
    };
    let (hour, minute) = (number(hour, 1..=2)?, number(minute, 2..=2)?);
    let (second, fraction) = match parts.next() {
        Some(second) => second.split_once('.').unwrap_or((second, "")),
        None => ("00", ""),
    };
    let second = number(second, 2..=2)?;
    if parts.next().is_some() {
        return Err(CalendarFault::Malformed);
    }
    let micros = i64::from(hour * 3600 + minute * 60 + second) * 1_000_000 + parse_fraction(fraction)?;
    if minute > 59 || second > 60 || micros > DAY_US {
        return Err(CalendarFault::OutOfRange);
    }
    Ok((micros, parse_offset(zone.trim())?))
}

/// Digits after the point as microseconds, rounded.
pub(crate) fn parse_fraction(digits: &str) -> Result<i64, CalendarFault> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(CalendarFault::Malformed);
    }
    let digit = |at: usize| digits.as_bytes().get(at).map_or(0, |b| i64::from(b - b'0'));
    Ok((0..6).fold(0, |sum, at| sum * 10 + digit(at)) + i64::from(digit(6) >= 5))
}

fn parse_offset(zone: &str) -> Result<Option<i32>, CalendarFault> {
    if zone.is_empty() {
        return Ok(None);
    }
    if ["z", "utc", "gmt"].iter().any(|name| zone.eq_ignore_ascii_case(name)) {
        return Ok(Some(0));
    }
    let (sign, rest) = match zone.as_bytes()[0] {
        b'+' => (1, &zone[1..]),
        b'-' => (-1, &zone[1..]),
        _ => return Err(CalendarFault::Malformed),
    };
    let compact = rest.len() == 4 && rest.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = if compact { vec![&rest[..2], &rest[2..]] } else { rest.split(':').collect() };
    let mut seconds = 0;
    for (part, unit) in parts.iter().zip([3600, 60, 1]) {
        seconds += number(part, 1..=2)? * unit;
    }
    // PostgreSQL's limit: offsets stay below 16 hours.
    if parts.len() > 3 || seconds >= 16 * 3600 {
        return Err(CalendarFault::OutOfRange);
    }
    Ok(Some(sign * seconds as i32))
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Result<u32, CalendarFault> {
    if !digits.contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(CalendarFault::Malformed);
    }
    text.parse().map_err(|_| CalendarFault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(micros: i64, utc: bool) -> String {
        let mut out = Vec::new();
        if utc {
            append_timestamptz(&mut out, micros, None);
        } else {
            append_timestamp(&mut out, micros);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_day_of_five_millennia_is_the_day_after_the_one_before() {
        let (mut year, mut month, mut day) = (-500, 1, 1);
        for number in days_from_civil(-500, 1, 1)..days_from_civil(4500, 1, 1) {
            assert_eq!(civil_from_days(number), (year, month, day));
            assert_eq!(days_from_civil(year, month, day), number);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn timestamps_print_as_postgresql_prints_them() {
        for (micros, utc, expected) in [
            (0, false, "1970-01-01 00:00:00"),
            (0, true, "1970-01-01 00:00:00+00"),
            (-1, false, "1969-12-31 23:59:59.999999"),
            (1_500_000, false, "1970-01-01 00:00:01.5"),
            (POSTGRES_EPOCH_US, false, "2000-01-01 00:00:00"),
            (253_402_300_800_000_000, false, "10000-01-01 00:00:00"),
            (-62_135_596_800_000_001, false, "0001-12-31 23:59:59.999999 BC"),
        ] {
            assert_eq!(timestamp(micros, utc), expected);
        }
    }

    #[test]
    fn timestamps_parse_back() {
        for text in
            ["1970-01-01 00:00:00", "2024-02-29 23:59:59.999999", "0044-03-15 12:00:00 BC", "12024-01-01 00:00:01"]
        {
            assert_eq!(timestamp(parse_timestamp(text).unwrap().local_us().unwrap(), false), text);
        }
        let written = parse_timestamp("2020-06-01T12:00:00.5+05:30").unwrap();
        assert_eq!(timestamp(written.local_us().unwrap(), false), "2020-06-01 12:00:00.5");
        assert_eq!(timestamp(written.utc_us().unwrap(), true), "2020-06-01 06:30:00.5+00");
        assert_eq!(parse_timestamp("2020-06-01 12:00 -0800").unwrap().offset_seconds, Some(-8 * 3600));
        assert_eq!(parse_timestamp("2020-06-01").unwrap().micros, 0);
        assert_eq!(parse_timestamp("2020-06-01 +01").unwrap().offset_seconds, Some(3600));
        assert_eq!(parse_time("24:00:00"), Ok(DAY_US));
    }

    #[test]
    fn impossible_dates_are_refused() {
        for (text, fault) in [
            ("", CalendarFault::Malformed),
            ("2020-06", CalendarFault::Malformed),
            ("20200601", CalendarFault::Malformed),
            ("2020-06-01 12", CalendarFault::Malformed),
            ("2020-06-01 12:00:00 Mars", CalendarFault::Malformed),
            ("2021-02-29", CalendarFault::OutOfRange),
            ("2020-13-01", CalendarFault::OutOfRange),
            ("2020-00-01", CalendarFault::OutOfRange),
            ("0000-01-01", CalendarFault::OutOfRange),
            ("2020-06-01 24:00:01", CalendarFault::OutOfRange),
            ("2020-06-01 12:60:00", CalendarFault::OutOfRange),
            ("2020-06-01 12:00:00+16", CalendarFault::OutOfRange),
        ] {
            assert_eq!(parse_timestamp(text), Err(fault), "{text}");
        }
    }
}
