//! Dates, times and intervals as text over their whole range: DateStyle `ISO`, IntervalStyle `postgres`.
//!
//! [`datetime`](super::datetime) writes columns; this module writes the infinities, years of five digits and more, and times with
//! zones as well. [`datetime_styles`](super::datetime_styles) and [`interval_styles`](super::interval_styles) have the other styles.

use std::fmt::Write;

use crate::values::Interval;
use crate::values::calendar::{DAY_US, HOUR_US, MINUTE_US, SECOND_US, civil_of_days};

/// A date.
pub fn date_text(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        days => {
            let (date, era) = date_and_era(days.into());
            date + era
        }
    }
}

fn date_and_era(days: i64) -> (String, &'static str) {
    let (year, month, day) = civil_of_days(days);
    // There is no year 0: it is 1 BC.
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    (format!("{year:04}-{month:02}-{day:02}"), era)
}

/// A timestamp without time zone.
pub fn timestamp_text(us: i64) -> String {
    infinity_text(us).unwrap_or_else(|| local_text(us.into(), ""))
}

/// A timestamp with time zone: what the clocks of a zone that is `offset_s` seconds ahead of UTC show, and the offset.
pub fn timestamptz_text(us: i64, offset_s: i32) -> String {
    let local_us = i128::from(us) + i128::from(offset_s) * i128::from(SECOND_US);
    infinity_text(us).unwrap_or_else(|| local_text(local_us, &offset_text(offset_s)))
}

/// A timestamp in ISO 8601's form, with `T` between date and time.
pub fn iso_timestamp_text(us: i64) -> String {
    infinity_text(us).unwrap_or_else(|| written_local(us.into(), 'T', ""))
}

/// A timestamp with time zone in ISO 8601's form, as [`timestamptz_text`] with minutes in each offset.
pub fn iso_timestamptz_text(us: i64, offset_s: i32) -> String {
    let local_us = i128::from(us) + i128::from(offset_s) * i128::from(SECOND_US);
    let offset = offset_text(offset_s);
    let offset = if offset.contains(':') { offset } else { offset + ":00" };
    infinity_text(us).unwrap_or_else(|| written_local(local_us, 'T', &offset))
}

pub(super) fn infinity_text(us: i64) -> Option<String> {
    match us {
        i64::MAX => Some("infinity".to_owned()),
        i64::MIN => Some("-infinity".to_owned()),
        _ => None,
    }
}

fn local_text(local_us: i128, offset: &str) -> String {
    written_local(local_us, ' ', offset)
}

fn written_local(local_us: i128, separator: char, offset: &str) -> String {
    let day_us = i128::from(DAY_US);
    let (date, era) = date_and_era(local_us.div_euclid(day_us) as i64);
    format!("{date}{separator}{}{offset}{era}", time_text(local_us.rem_euclid(day_us) as i64))
}

/// A time: `HH:MM:SS[.ffffff]`, without trailing zeros in the fraction.
pub fn time_text(us: i64) -> String {
    let (hours, minutes) = (us / HOUR_US, us / MINUTE_US % 60);
    format!("{hours:02}:{minutes:02}:{}", seconds_text(us.unsigned_abs() % MINUTE_US as u64))
}

/// A time with time zone; the zone is in seconds *west* of UTC.
pub fn timetz_text(us: i64, west_s: i32) -> String {
    time_text(us) + &offset_text(-west_s)
}

/// Two digits of seconds, and a fraction without trailing zeros.
fn seconds_text(us: u64) -> String {
    let second_us = SECOND_US as u64;
    let mut text = format!("{:02}", us / second_us);
    if !us.is_multiple_of(second_us) {
        write!(text, ".{:06}", us % second_us).expect("a String takes everything");
        text.truncate(text.trim_end_matches('0').len());
    }
    text
}

/// `+02`, `-03:30`, `+00:53:28`
pub fn offset_text(offset_s: i32) -> String {
    let sign = if offset_s < 0 { '-' } else { '+' };
    let east = offset_s.unsigned_abs();
    let (hours, minutes, seconds) = (east / 3600, east / 60 % 60, east % 60);
    match (minutes, seconds) {
        (0, 0) => format!("{sign}{hours:02}"),
        (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// An interval: `1 year 2 mons -3 days +04:05:06.5`.
pub fn interval_text(interval: Interval) -> String {
    let mut text = String::new();
    // PostgreSQL marks what is positive after a negative part.
    let mut after_negative = false;
    for (count, unit) in [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")] {
        if count == 0 {
            continue;
        }
        let space = if text.is_empty() { "" } else { " " };
        let sign = if after_negative && count > 0 { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        write!(text, "{space}{sign}{count} {unit}{plural}").expect("a String takes everything");
        after_negative = count < 0;
    }
    if interval.us == 0 && !text.is_empty() {
        return text;
    }
    let us = interval.us.unsigned_abs();
    let space = if text.is_empty() { "" } else { " " };
    let sign = match interval.us {
        us if us < 0 => "-",
        _ if after_negative => "+",
        _ => "",
    };
    let (hours, minutes) = (us / HOUR_US as u64, us / MINUTE_US as u64 % 60);
    let seconds = seconds_text(us % MINUTE_US as u64);
    write!(text, "{space}{sign}{hours:02}:{minutes:02}:{seconds}").expect("a String takes everything");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::DateOrder;
    use crate::input::datetime::{fast_date, fast_timestamp};

    #[test]
    fn what_is_written_reads_back() {
        for days in (-719_162..2_932_896).step_by(97) {
            let text = date_text(days);
            assert_eq!(fast_date(&text, DateOrder::Dmy), Some(days), "{text}");
        }
        for us in [0, 1, -1, 86_399_999_999, 1_709_212_455_123_456, -62_135_596_800_000_000] {
            let text = timestamp_text(us);
            assert_eq!(fast_timestamp(&text, DateOrder::Ymd), Some(us), "{text}");
        }
    }

    #[test]
    fn values_look_as_in_postgresql() {
        assert_eq!(date_text(i32::MIN), "-infinity");
        assert_eq!(date_text(2_145_042_905), "5874897-12-31");
        assert_eq!(date_text(-2_440_588), "4714-11-24 BC");
        assert_eq!(timestamp_text(-62_135_596_800_000_001), "0001-12-31 23:59:59.999999 BC");
        assert_eq!(timestamptz_text(500_000, -12_600), "1969-12-31 20:30:00.5-03:30");
        assert_eq!(iso_timestamptz_text(-5_364_662_400_000_000, 3208), "1800-01-01T00:53:28+00:53:28");
        assert_eq!(iso_timestamptz_text(1_593_561_600_250_000, -14_400), "2020-06-30T20:00:00.25-04:00");
        assert_eq!(iso_timestamptz_text(i64::MAX, 3600), "infinity");
        assert_eq!(timetz_text(DAY_US, 18_000), "24:00:00-05");
        assert_eq!(
            interval_text(Interval::new(i32::MIN, i32::MIN, i64::MIN)),
            "-178956970 years -8 mons -2147483648 days -2562047788:00:54.775808"
        );
        assert_eq!(interval_text(Interval::new(-1, 3, HOUR_US)), "-1 mons +3 days 01:00:00");
        assert_eq!(interval_text(Interval::default()), "00:00:00");
    }
}
