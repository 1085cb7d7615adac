//! Dates, timestamps and intervals as text, in ISO style: DateStyle `ISO` and IntervalStyle `postgres`.

use std::fmt::Write;

use arrow::datatypes::IntervalMonthDayNano;

use crate::input::time_zones::{TimeZone, zone_offset_s};
use crate::values::calendar::civil_of_days;

const DAY_US: i64 = 86_400_000_000;

/// A date from days since 1970-01-01.
pub fn write_date(days: i32, out: &mut String) {
    let (year, month, day) = civil_from_days(i64::from(days));
    if year > 0 {
        write!(out, "{year:04}-{month:02}-{day:02}").expect("a String takes everything");
    } else {
        // There is no year 0: it is 1 BC.
        write!(out, "{:04}-{month:02}-{day:02} BC", 1 - year).expect("a String takes everything");
    }
}

/// A timestamp from microseconds since 1970-01-01.
pub fn write_timestamp(us: i64, out: &mut String) {
    write_date(us.div_euclid(DAY_US) as i32, out);
    // "BC" stands at the very end in PostgreSQL.
    let era = out.ends_with(" BC");
    if era {
        out.truncate(out.len() - " BC".len());
    }
    out.push(' ');
    write_time_us(us.rem_euclid(DAY_US), out);
    if era {
        out.push_str(" BC");
    }
}

/// A timestamp with time zone from microseconds since 1970-01-01 UTC, as local time in `zone` with its offset.
pub fn write_timestamptz(us: i64, zone: &TimeZone, out: &mut String) {
    let offset_seconds = i64::from(zone_offset_s(us, zone));
    write_timestamp(us + offset_seconds * 1_000_000, out);
    let era = out.ends_with(" BC");
    if era {
        out.truncate(out.len() - " BC".len());
    }
    out.push(if offset_seconds < 0 { '-' } else { '+' });
    let (hours, minutes, seconds) =
        (offset_seconds.abs() / 3600, offset_seconds.abs() / 60 % 60, offset_seconds.abs() % 60);
    write!(out, "{hours:02}").expect("a String takes everything");
    if minutes != 0 || seconds != 0 {
        write!(out, ":{minutes:02}").expect("a String takes everything");
    }
    if seconds != 0 {
        write!(out, ":{seconds:02}").expect("a String takes everything");
    }
    if era {
        out.push_str(" BC");
    }
}

/// `HH:MM:SS[.ffffff]`, without trailing zeros in the fraction.
pub fn write_time_us(us: i64, out: &mut String) {
    let seconds = us / 1_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        .expect("a String takes everything");
    write_fraction(us % 1_000_000, out);
}

fn write_fraction(us: i64, out: &mut String) {
    if us != 0 {
        write!(out, ".{us:06}").expect("a String takes everything");
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// An interval: `1 year 2 mons -3 days 04:05:06.5`; microseconds, as PostgreSQL has them.
pub fn write_interval(interval: IntervalMonthDayNano, out: &mut String) {
    let start = out.len();
    // PostgreSQL marks what is positive after a negative part.
    let mut after_negative = false;
    let mut part = |count: i32, unit: &str| {
        if count != 0 {
            let separator = if out.len() > start { " " } else { "" };
            let sign = if after_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(out, "{separator}{sign}{count} {unit}{plural}").expect("a String takes everything");
            after_negative = count < 0;
        }
    };
    part(interval.months / 12, "year");
    part(interval.months % 12, "mon");
    part(interval.days, "day");
    let us = interval.nanoseconds / 1000;
    if us == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(' ');
    }
    if us < 0 {
        out.push('-');
    } else if after_negative {
        out.push('+');
    }
    let us = us.abs();
    let seconds = us / 1_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        .expect("a String takes everything");
    write_fraction(us % 1_000_000, out);
}

/// The day of the Gregorian calendar that lies `days` after 1970-01-01 as
/// [`crate::input::datetime::days_from_civil`] takes it.
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let (year, month, day) = civil_of_days(days);
    (year, month as u32, day as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::datetime::{days_from_civil, fast_date, fast_timestamp};

    #[test]
    fn what_is_written_reads_back() {
        for days in (-719_162..2_932_896).step_by(97) {
            let mut text = String::new();
            write_date(days, &mut text);
            assert_eq!(fast_date(&text), Some(days), "{text}");
        }
        for us in [0, 1, -1, 86_399_999_999, 1_709_212_455_123_456, -62_135_596_800_000_000] {
            let mut text = String::new();
            write_timestamp(us, &mut text);
            assert_eq!(fast_timestamp(&text), Some(us), "{text}");
        }
    }

    #[test]
    fn years_before_christ_are_marked() {
        let mut text = String::new();
        write_date(days_from_civil(1, 1, 1).unwrap() - 1, &mut text);
        assert_eq!(text, "0001-12-31 BC");
    }

    #[test]
    fn timestamps_carry_their_offset() {
        let write = |us, zone: &str| {
            let mut text = String::new();
            write_timestamptz(us, &zone.parse().unwrap(), &mut text);
            text
        };
        assert_eq!(write(0, "UTC"), "1970-01-01 00:00:00+00");
        assert_eq!(write(500_000, "Europe/Berlin"), "1970-01-01 01:00:00.5+01");
        assert_eq!(write(0, "<-03:30>+03:30"), "1969-12-31 20:30:00-03:30");
        // 2150-06-30 12:00 UTC, behind the tables of the IANA database.
        assert_eq!(write(5_695_876_800_000_000, "Europe/Berlin"), "2150-06-30 14:00:00+02");
    }

    #[test]
    fn intervals_look_as_in_postgresql() {
        for (months, days, nanoseconds, text) in [
            (0, 0, 0, "00:00:00"),
            (14, 3, 14_706_500_000_000, "1 year 2 mons 3 days 04:05:06.5"),
            (0, 1, 0, "1 day"),
            (-1, 0, 0, "-1 mons"),
            (0, -1, 3_600_000_000_000, "-1 days +01:00:00"),
            (-1, 3, 3_600_000_000_000, "-1 mons +3 days 01:00:00"),
            (0, 0, -1_000_000_000, "-00:00:01"),
            (0, 0, 360_000_000_000_000, "100:00:00"),
        ] {
            let mut out = String::new();
            write_interval(IntervalMonthDayNano::new(months, days, nanoseconds), &mut out);
            assert_eq!(out, text);
        }
    }
}
