//! Dates and timestamps from text.
//!
//! ISO 8601 and what PostgreSQL writes itself (`2024-02-29 13:14:15.123456+01`) are read here, fast: they are nearly
//! all there is in files; of PostgreSQL's other spellings those with names of months, without hyphens, and with the year at the end. Years 0001 to 9999.
//! What is not read here may still be a date: [`column_values`](super::column_values) reads on.

use super::datetime_fields::Surroundings;
use super::time_zones::{TimeZone, zone_offset_s};
use crate::formats::DateOrder;

const DAY_US: i64 = 86_400_000_000;

/// A date as days since 1970-01-01. A time after it is read and dropped, as PostgreSQL does.
pub(crate) fn fast_date(text: &str, order: DateOrder) -> Option<i32> {
    let ((year, month, day), rest) = read_date(text.trim_ascii().as_bytes(), order)?;
    if !rest.is_empty() {
        fast_timestamp(text, order)?;
    }
    days_from_civil(year, month, day)
}

/// A timestamp without time zone as microseconds since 1970-01-01. An offset after it is read and ignored, as
/// PostgreSQL does.
pub(crate) fn fast_timestamp(text: &str, order: DateOrder) -> Option<i64> {
    read_timestamp(text, order).map(|(local_us, _)| local_us)
}

/// A timestamp with time zone as microseconds since 1970-01-01 UTC; without an offset it is local time of the session.
pub(crate) fn fast_timestamptz(text: &str, around: &Surroundings) -> Option<i64> {
    let zone = &around.zone;
    match read_timestamp(text, around.date_order)? {
        (local_us, Some(offset_s)) => Some(local_us - i64::from(offset_s) * 1_000_000),
        (local_us, None) if is_utc(zone) => Some(local_us),
        (local_us, None) => instant_of_local(local_us, zone),
    }
}

/// When a clock in `zone` shows `local_us`. Where clocks are turned forward and never show it, the time before the change
/// goes on; where they are turned back and show it twice, it is the second time (`DetermineTimeZoneOffset` in PostgreSQL's
/// datetime.c). `None` out of range.
pub fn instant_of_local(local_us: i64, zone: &TimeZone) -> Option<i64> {
    // No zone is more than a day from UTC, and clocks are turned at most once in two days.
    let before_us = offset_us(local_us.checked_sub(DAY_US)?, zone)?;
    let after_us = offset_us(local_us.checked_add(DAY_US)?, zone)?;
    let (first, second) = (local_us - before_us, local_us - after_us);
    let is_shown = |instant: i64, offset: i64| offset_us(instant, zone) == Some(offset);
    Some(if is_shown(second, after_us) { second } else { first })
}

/// How far the clocks of `zone` are ahead of UTC at an instant.
pub fn offset_us(instant_us: i64, zone: &TimeZone) -> Option<i64> {
    Some(i64::from(zone_offset_s(instant_us, zone)) * 1_000_000)
}

/// The zone called UTC.
pub fn utc() -> TimeZone {
    TimeZone::UTC
}

fn is_utc(zone: &TimeZone) -> bool {
    *zone == TimeZone::UTC
}

/// Year, month, day.
type CivilDate = (i32, u32, u32);

/// A timestamp, and the seconds that its offset is ahead of UTC.
fn read_timestamp(text: &str, order: DateOrder) -> Option<(i64, Option<i32>)> {
    let ((year, month, day), rest) = read_date(text.trim_ascii().as_bytes(), order)?;
    let midnight_us = i64::from(days_from_civil(year, month, day)?) * DAY_US;
    let rest = match rest {
        [] => return Some((midnight_us, None)),
        [b' ' | b'T' | b't', rest @ ..] => rest.trim_ascii_start(),
        _ => return None,
    };
    let (time_us, rest) = read_time(rest)?;
    if !(0..=DAY_US).contains(&time_us) {
        return None;
    }
    let offset_s = match rest.trim_ascii_start() {
        [] => None,
        zone => Some(read_zone(zone)?),
    };
    Some((midnight_us + time_us, offset_s))
}

/// A date, and what follows: `2024-01-31` or `01-31-2024` with hyphens, slashes or dots, `20240131`, `Jan 31, 2024`, `31 Jan 2024`,
/// `2024-Jan-31`.
fn read_date(text: &[u8], order: DateOrder) -> Option<(CivilDate, &[u8])> {
    if let Some((year, rest)) = read_digits(text, 4, 5) {
        let (separator, rest) = rest.split_first()?;
        if !matches!(separator, b'-' | b'/' | b'.') {
            return None;
        }
        let (month, rest) = read_digits(rest, 1, 2).or_else(|| read_month(rest))?;
        let (day, rest) = read_digits(rest.strip_prefix(&[*separator])?, 1, 2)?;
        return Some(((year as i32, month, day), rest));
    }
    if let Some((number, rest)) = read_digits(text, 8, 8) {
        return Some((((number / 10_000) as i32, number / 100 % 100, number % 100), rest));
    }
    read_other_date(text, order)
}

/// Dates that begin with a month or a day of a month.
fn read_other_date(text: &[u8], order: DateOrder) -> Option<(CivilDate, &[u8])> {
    let skipped = |rest: &'_ [u8]| rest.iter().take_while(|c| matches!(c, b' ' | b',' | b'-')).count();
    if let Some((month, rest)) = read_month(text) {
        let (day, rest) = read_digits(&rest[skipped(rest)..], 1, 2)?;
        let (year, rest) = read_digits(&rest[skipped(rest)..], 4, 4)?;
        return Some(((year as i32, month, day), rest));
    }
    let (first, rest) = read_digits(text, 1, 2)?;
    if let [separator @ (b'/' | b'-' | b'.'), number @ ..] = rest
        && let Some((second, rest)) = read_digits(number, 1, 2)
    {
        let (year, rest) = read_digits(rest.strip_prefix(&[*separator])?, 4, 4)?;
        return match order {
            DateOrder::Mdy => Some(((year as i32, first, second), rest)),
            DateOrder::Dmy => Some(((year as i32, second, first), rest)),
            DateOrder::Ymd => None,
        };
    }
    let (month, rest) = read_month(&rest[skipped(rest)..])?;
    let (year, rest) = read_digits(&rest[skipped(rest)..], 4, 4)?;
    Some(((year as i32, month, first), rest))
}

/// The English name of a month, or its first three letters.
fn read_month(text: &[u8]) -> Option<(u32, &[u8])> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let length = text.iter().take_while(|c| c.is_ascii_alphabetic()).count();
    let word = std::str::from_utf8(&text[..length]).ok()?.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| word == *month || word == month[..3])?;
    Some((at as u32 + 1, &text[length..]))
}

/// A time of 24 hours, or of twelve with `AM` or `PM`.
fn read_time(text: &[u8]) -> Option<(i64, &[u8])> {
    const HALF_US: i64 = DAY_US / 2;
    const HOUR_US: i64 = DAY_US / 24;
    let (us, rest) = read_clock_time(text)?;
    let word = rest.trim_ascii_start();
    let is_zone = word.get(2).is_some_and(u8::is_ascii_alphabetic);
    let half = match word.get(..2).filter(|_| !is_zone).map(|half| half.to_ascii_lowercase()) {
        Some(half) if half == b"am" => 0,
        Some(half) if half == b"pm" => HALF_US,
        _ => return Some((us, rest)),
    };
    // Twelve o'clock is the zeroth hour of its half.
    let us = if us < HALF_US + HOUR_US { half + us % HALF_US } else { DAY_US + 1 };
    Some((us, &word[2..]))
}

/// `HH:MM[:SS[.ffffff]]` as microseconds, `DAY_US + 1` where a field is too large; and what follows.
fn read_clock_time(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hours, rest) = read_digits(text, 1, 2)?;
    let (minutes, mut rest) = read_digits(rest.strip_prefix(b":")?, 2, 2)?;
    let (mut seconds, mut fraction_us) = (0, 0);
    if let Some(after) = rest.strip_prefix(b":") {
        (seconds, rest) = read_digits(after, 2, 2)?;
        if let Some(after) = rest.strip_prefix(b".") {
            (fraction_us, rest) = read_fraction_us(after)?;
        }
    }
    if minutes > 59 || seconds > 60 || hours > 24 {
        return Some((DAY_US + 1, rest));
    }
    let whole_seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
    Some((whole_seconds * 1_000_000 + fraction_us, rest))
}

/// Digits after the point of a second: of more than six PostgreSQL rounds a float.
fn read_fraction_us(text: &[u8]) -> Option<(i64, &[u8])> {
    let count = text.iter().take_while(|c| c.is_ascii_digit()).count();
    if count > 6 {
        return None;
    }
    let digit = |at: usize| text[..count].get(at).map_or(0, |c| i64::from(c - b'0'));
    Some(((0..6).fold(0, |us, at| us * 10 + digit(at)), &text[count..]))
}

/// `Z`, `UTC`, `±HH`, `±HHMM`, `±HH:MM[:SS]` as seconds ahead of UTC.
fn read_zone(text: &[u8]) -> Option<i32> {
    let (sign, rest) = match text {
        b"Z" | b"z" | b"UTC" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
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
    fits.then_some(sign * (hours * 3600 + minutes * 60 + seconds) as i32)
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
pub fn days_from_civil(year: i32, month: u32, day: u32) -> Option<i32> {
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

/// Days of a month.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
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
            ("20240105", 19727),
            ("2024/01/05", 19727),
            ("01/05/2024", 19727),
            ("Jan 5, 2024", 19727),
            ("5 January 2024", 19727),
            ("5-Jan-2024", 19727),
            ("2024-Jan-05", 19727),
            ("01-05-2024", 19727),
            ("01.05.2024 12:00", 19727),
        ] {
            assert_eq!(fast_date(text, DateOrder::Mdy), Some(days), "{text}");
        }
        for text in ["2023-02-29", "2024-13-01", "10000-01-01", "2024-01-05x", "infinity", "epoch", "13/05/2024", ""] {
            assert_eq!(fast_date(text, DateOrder::Mdy), None, "{text}");
        }
    }

    #[test]
    fn dates_follow_the_order_of_their_numbers() {
        for (text, order, days) in [
            ("05.01.2024", DateOrder::Dmy, Some(19727)),
            ("5/1/2024 13:00", DateOrder::Dmy, Some(19727)),
            ("31-12-2024", DateOrder::Mdy, None),
            ("01/05/2024", DateOrder::Ymd, None),
            ("2024-01-05", DateOrder::Dmy, Some(19727)),
            ("5 Jan 2024", DateOrder::Ymd, Some(19727)),
            ("01-05.2024", DateOrder::Mdy, None),
        ] {
            assert_eq!(fast_date(text, order), days, "{text}");
        }
    }

    #[test]
    fn timestamps_keep_microseconds() {
        for (text, us) in [
            ("1970-01-01 00:00:00", 0),
            ("1970-01-01T00:00:01.5", 1_500_000),
            ("1970-01-01 00:00:00.000001", 1),
            ("1970-01-02", DAY_US),
            ("1970-01-01 24:00", DAY_US),
            ("1969-12-31 23:59:59.999999", -1),
            ("1970-01-01 01:00:00+05", 3_600_000_000),
            ("1970-01-01 12:30 AM", DAY_US / 48),
            ("1970-01-01 01:00 pm", DAY_US * 13 / 24),
            ("Jan 1, 1970 01:00", DAY_US / 24),
        ] {
            assert_eq!(fast_timestamp(text, DateOrder::Mdy), Some(us), "{text}");
        }
        for text in ["2024-01-01 25:00:00", "2024-01-01 10:60", "2024-01-01 xx", "2024-01-01 00:00:00.0000001"] {
            assert_eq!(fast_timestamp(text, DateOrder::Mdy), None, "{text}");
        }
    }

    #[test]
    fn zones_shift_timestamps() {
        let berlin: TimeZone = "Europe/Berlin".parse().unwrap();
        let hour = 3_600_000_000;
        let around = |zone: &TimeZone| Surroundings { zone: *zone, now_us: 0, date_order: DateOrder::Mdy };
        for (text, zone, us) in [
            ("1970-01-01 00:00:00Z", &utc(), 0),
            ("1970-01-01 00:00:00", &utc(), 0),
            ("1970-01-01 00:00:00", &berlin, -hour),
            ("1970-01-01 1:00", &berlin, 0),
            ("1970-01-01", &berlin, -hour),
            ("1970-01-01 00:00:00+01", &utc(), -hour),
            ("1970-01-01 00:00:00-01:30", &berlin, hour + hour / 2),
        ] {
            assert_eq!(fast_timestamptz(text, &around(zone)), Some(us), "{text}");
        }
        assert_eq!(fast_timestamptz("1970-01-01 00:00:00 Europe/Berlin", &around(&utc())), None);
    }
}
