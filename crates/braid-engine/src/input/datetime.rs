//! Dates and timestamps from text.
//!
//! ISO 8601 and what PostgreSQL writes itself (`2024-02-29 13:14:15.123456+01`) are read here, fast: they are nearly
//! all there is in files. Time zone names and other spellings go to Arrow's reader. Years 0001 to 9999; PostgreSQL's
//! `infinity`, `BC` and `epoch` are errors, since Arrow has no such values.

use arrow::array::timezone::Tz;
use arrow::compute::kernels::cast_utils::string_to_datetime;

use crate::output::datetime::write_timestamp;
use crate::{EngineError, SqlState};

const DAY_US: i64 = 86_400_000_000;

/// A date as days since 1970-01-01. A time after it is read and dropped, as PostgreSQL does.
pub(crate) fn parse_date(text: &str) -> Result<i32, EngineError> {
    let trimmed = text.trim_ascii();
    let (year_month_day, rest) = read_date(trimmed.as_bytes()).ok_or_else(|| invalid_datetime("date", text))?;
    if !rest.is_empty() {
        parse_timestamp(text).map_err(|_| invalid_datetime("date", text))?;
    }
    let (year, month, day) = year_month_day;
    days_from_civil(year, month, day).ok_or_else(|| out_of_range(text))
}

/// A timestamp without time zone as microseconds since 1970-01-01. An offset after it is read and ignored, as
/// PostgreSQL does.
pub(crate) fn parse_timestamp(text: &str) -> Result<i64, EngineError> {
    match read_timestamp(text, "timestamp")? {
        (local_us, Zone::None | Zone::OffsetSeconds(_)) => Ok(local_us),
        (_, Zone::Other) => {
            let read: Result<_, _> = string_to_datetime(&utc(), text.trim_ascii());
            read.map(|datetime| datetime.naive_utc().and_utc().timestamp_micros())
                .map_err(|_| invalid_datetime("timestamp", text))
        }
    }
}

/// A timestamp with time zone as microseconds since 1970-01-01 UTC; without an offset it is local time in `zone`.
pub(crate) fn parse_timestamptz(text: &str, zone: &Tz) -> Result<i64, EngineError> {
    match read_timestamp(text, "timestamp with time zone")? {
        (local_us, Zone::OffsetSeconds(offset)) => Ok(local_us - i64::from(offset) * 1_000_000),
        (local_us, Zone::None) if is_utc(zone) => Ok(local_us),
        (local_us, Zone::None) => {
            let mut plain = String::new();
            write_timestamp(local_us, &mut plain);
            string_to_datetime(zone, &plain)
                .map(|datetime| datetime.timestamp_micros())
                .map_err(|_| invalid_datetime("timestamp with time zone", text))
        }
        (_, Zone::Other) => string_to_datetime(zone, text.trim_ascii())
            .map(|datetime| datetime.timestamp_micros())
            .map_err(|_| invalid_datetime("timestamp with time zone", text)),
    }
}

/// The zone called UTC.
pub(crate) fn utc() -> Tz {
    "UTC".parse().expect("UTC is a zone that Arrow knows")
}

fn is_utc(zone: &Tz) -> bool {
    matches!(format!("{zone:?}").as_str(), "Tz(Timezone(UTC))" | "Tz(Offset(+00:00))")
}

/// Year, month, day.
type CivilDate = (i32, u32, u32);

/// What follows a timestamp.
enum Zone {
    None,
    OffsetSeconds(i32),
    /// A name, or something we do not read here.
    Other,
}

fn read_timestamp(text: &str, type_name: &str) -> Result<(i64, Zone), EngineError> {
    let bytes = text.trim_ascii().as_bytes();
    let ((year, month, day), rest) = read_date(bytes).ok_or_else(|| invalid_datetime(type_name, text))?;
    let days = days_from_civil(year, month, day).ok_or_else(|| out_of_range(text))?;
    let midnight_us = i64::from(days) * DAY_US;
    let rest = match rest {
        [] => return Ok((midnight_us, Zone::None)),
        [b' ' | b'T' | b't', rest @ ..] => rest.trim_ascii_start(),
        _ => return Err(invalid_datetime(type_name, text)),
    };
    let (time_us, rest) = read_time(rest).ok_or_else(|| invalid_datetime(type_name, text))?;
    if !(0..=DAY_US).contains(&time_us) {
        return Err(out_of_range(text));
    }
    Ok((midnight_us + time_us, read_zone(rest.trim_ascii_start())))
}

/// `YYYY-MM-DD`, and what follows.
fn read_date(text: &[u8]) -> Option<(CivilDate, &[u8])> {
    let (year, rest) = read_digits(text, 4, 5)?;
    let (month, rest) = read_digits(rest.strip_prefix(b"-")?, 1, 2)?;
    let (day, rest) = read_digits(rest.strip_prefix(b"-")?, 1, 2)?;
    Some(((year as i32, month, day), rest))
}

/// `HH:MM[:SS[.ffffff]]` as microseconds, `DAY_US + 1` where a field is too large; and what follows.
fn read_time(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hours, rest) = read_digits(text, 1, 2)?;
    let (minutes, mut rest) = read_digits(rest.strip_prefix(b":")?, 2, 2)?;
    let (mut seconds, mut fraction_us) = (0, 0);
    if let Some(after) = rest.strip_prefix(b":") {
        (seconds, rest) = read_digits(after, 2, 2)?;
        if let Some(after) = rest.strip_prefix(b".") {
            (fraction_us, rest) = read_fraction_us(after);
        }
    }
    if minutes > 59 || seconds > 60 || hours > 24 {
        return Some((DAY_US + 1, rest));
    }
    let whole_seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
    Some((whole_seconds * 1_000_000 + fraction_us, rest))
}

/// Digits after the point of a second, rounded to microseconds.
fn read_fraction_us(text: &[u8]) -> (i64, &[u8]) {
    let count = text.iter().take_while(|c| c.is_ascii_digit()).count();
    let digit = |at: usize| text[..count].get(at).map_or(0, |c| i64::from(c - b'0'));
    let us = (0..6).fold(0, |us, at| us * 10 + digit(at));
    (us + i64::from(digit(6) >= 5), &text[count..])
}

/// `Z`, `UTC`, `±HH`, `±HHMM`, `±HH:MM[:SS]`.
fn read_zone(text: &[u8]) -> Zone {
    let (sign, rest) = match text {
        [] => return Zone::None,
        b"Z" | b"z" | b"UTC" => return Zone::OffsetSeconds(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return Zone::Other,
    };
    let read = || {
        let (hours, rest) = read_digits(rest, 2, 2)?;
        let (minutes, rest) = match rest {
            [] => (0, rest),
            [b':', rest @ ..] => read_digits(rest, 2, 2)?,
            rest => read_digits(rest, 2, 2)?,
        };
        let (seconds, rest) = match rest {
            [] => (0, rest),
            rest => read_digits(rest.strip_prefix(b":")?, 2, 2)?,
        };
        let fits = rest.is_empty() && hours < 16 && minutes < 60 && seconds < 60;
        fits.then_some((hours * 3600 + minutes * 60 + seconds) as i32)
    };
    read().map_or(Zone::Other, |offset| Zone::OffsetSeconds(sign * offset))
}

/// A number of `least` to `most` digits, and what follows.
fn read_digits(text: &[u8], least: usize, most: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(most + 1).take_while(|c| c.is_ascii_digit()).count();
    if !(least..=most).contains(&count) {
        return None;
    }
    let value = text[..count].iter().fold(0, |value, c| value * 10 + u32::from(c - b'0'));
    Some((value, &text[count..]))
}

/// Days since 1970-01-01 of a day of the Gregorian calendar, `None` if there is no such day.
///
/// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, eras have 400 years.
pub(crate) fn days_from_civil(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let march_year = year - i32::from(month <= 2);
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let month_from_march = (month as i32 + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day as i32 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // 719 468 days lie between 0000-03-01 and 1970-01-01.
    Some(era * 146_097 + day_of_era - 719_468)
}

fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(super) fn invalid_datetime(type_name: &str, text: &str) -> EngineError {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    EngineError::new(SqlState::InvalidDatetime, message)
}

fn out_of_range(text: &str) -> EngineError {
    let message = format!("date/time field value out of range: \"{text}\"");
    EngineError::new(SqlState::DatetimeOverflow, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11016),
            (" 1998-12-01 ", 10561),
            ("2024-1-5", 19727),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
            ("2024-01-05 23:59:59", 19727),
        ] {
            assert_eq!(parse_date(text).unwrap(), days, "{text}");
        }
        for (text, sqlstate) in [
            ("2023-02-29", "22008"),
            ("2024-13-01", "22008"),
            ("2024-00-01", "22008"),
            ("10000-01-01", "22008"),
            ("abc", "22007"),
            ("2024-01", "22007"),
            ("", "22007"),
            ("2024-01-05x", "22007"),
            ("infinity", "22007"),
        ] {
            assert_eq!(parse_date(text).unwrap_err().sqlstate(), sqlstate, "{text}");
        }
    }

    #[test]
    fn timestamps_keep_microseconds() {
        for (text, us) in [
            ("1970-01-01 00:00:00", 0),
            ("1970-01-01T00:00:01.5", 1_500_000),
            ("1970-01-01 00:00:00.0000005", 1),
            ("1970-01-02", DAY_US),
            ("1970-01-01 24:00", DAY_US),
            ("1969-12-31 23:59:59.999999", -1),
            ("1970-01-01 01:00:00+05", 3_600_000_000),
        ] {
            assert_eq!(parse_timestamp(text).unwrap(), us, "{text}");
        }
        for (text, sqlstate) in
            [("2024-01-01 25:00:00", "22008"), ("2024-01-01 10:60", "22008"), ("2024-01-01 xx", "22007")]
        {
            assert_eq!(parse_timestamp(text).unwrap_err().sqlstate(), sqlstate, "{text}");
        }
    }

    #[test]
    fn zones_shift_timestamps() {
        let berlin: Tz = "Europe/Berlin".parse().unwrap();
        let hour = 3_600_000_000;
        for (text, zone, us) in [
            ("1970-01-01 00:00:00Z", &utc(), 0),
            ("1970-01-01 00:00:00", &utc(), 0),
            ("1970-01-01 00:00:00", &berlin, -hour),
            ("1970-01-01 1:00", &berlin, 0),
            ("1970-01-01", &berlin, -hour),
            ("1970-01-01 00:00:00+01", &utc(), -hour),
            ("1970-01-01 00:00:00-01:30", &berlin, hour + hour / 2),
            ("1970-01-01 00:00:00 Europe/Berlin", &utc(), -hour),
        ] {
            assert_eq!(parse_timestamptz(text, zone).unwrap(), us, "{text}");
        }
        assert_eq!(parse_timestamptz("1970-01-01 00:00:00 Mars/Base", &utc()).unwrap_err().sqlstate(), "22007");
    }
}
