//! Dates and timestamps as PostgreSQL prints them (`DateStyle` ISO), from microseconds since 1970-01-01.
//!
//! The calendar is chrono's, through Arrow: the server computes with one of its own.

use arrow::array::timezone::Tz;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::temporal_conversions::{as_datetime, as_datetime_with_timezone};

/// Microseconds of a day.
pub const DAY_US: i64 = 86_400_000_000;

/// The date, or what is wrong.
pub fn date_text(micros: i64) -> Result<String, String> {
    let instant = instant(micros, None)?;
    Ok(format!("{}{}", instant.day(), instant.era()))
}

/// Date and time, in a zone with its offset if there is one, or what is wrong.
pub fn timestamp_text(micros: i64, zone: Option<Tz>) -> Result<String, String> {
    match micros {
        i64::MAX => return Ok("infinity".to_owned()),
        i64::MIN => return Ok("-infinity".to_owned()),
        _ => {}
    }
    let instant = instant(micros, zone)?;
    Ok(format!("{} {}{}{}", instant.day(), instant.time, instant.offset, instant.era()))
}

/// A date and time of the calendar, its parts as text.
struct Instant {
    year: i64,
    month_and_day: String,
    time: String,
    /// The offset from UTC, if there is a zone.
    offset: String,
}

fn instant(micros: i64, zone: Option<Tz>) -> Result<Instant, String> {
    const PARTS: &str = "%Y %m-%d %H:%M:%S%.6f";
    let parts = match zone {
        None => as_datetime::<TimestampMicrosecondType>(micros).map(|t| t.format(PARTS).to_string()),
        Some(zone) => as_datetime_with_timezone::<TimestampMicrosecondType>(micros, zone)
            .map(|t| t.format(&format!("{PARTS} %::z")).to_string()),
    };
    let parts = parts.ok_or_else(|| format!("{micros} microseconds are beyond the calendar"))?;
    let mut parts = parts.split(' ').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    Ok(Instant {
        year: part().parse().expect("a year is a number"),
        month_and_day: part(),
        time: part().trim_end_matches('0').trim_end_matches('.').to_owned(),
        offset: part().trim_end_matches(":00").to_owned(),
    })
}

impl Instant {
    /// Year 0 is 1 BC.
    fn era(&self) -> &'static str {
        if self.year > 0 { "" } else { " BC" }
    }

    fn day(&self) -> String {
        format!("{:04}-{}", if self.year > 0 { self.year } else { 1 - self.year }, self.month_and_day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_timestamps_print_as_in_postgresql() {
        assert_eq!(date_text(0).as_deref(), Ok("1970-01-01"));
        // `select date '0001-12-31 BC' - date '1970-01-01'` in PostgreSQL.
        assert_eq!(date_text(-719_163 * DAY_US).as_deref(), Ok("0001-12-31 BC"));
        assert_eq!(timestamp_text(1_500_000, None).as_deref(), Ok("1970-01-01 00:00:01.5"));
        assert_eq!(timestamp_text(i64::MAX, None).as_deref(), Ok("infinity"));
        assert!(timestamp_text(i64::MAX - 1, None).unwrap_err().contains("beyond the calendar"));
    }

    #[test]
    fn an_offset_has_minutes_where_there_are_some() {
        for (zone, text) in [
            ("America/New_York", "2023-12-31 19:00:00-05"),
            ("Asia/Kolkata", "2024-01-01 05:30:00+05:30"),
            ("UTC", "2024-01-01 00:00:00+00"),
        ] {
            assert_eq!(timestamp_text(19_723 * DAY_US, Some(zone.parse().unwrap())).as_deref(), Ok(text));
        }
    }
}
