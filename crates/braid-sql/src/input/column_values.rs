//! Values of columns from text: the spellings that files have are read fast ([`datetime`](super::datetime)), all others as in expressions.
//!
//! A column has intervals of nanoseconds in 64 bits. What does not fit is refused.

use arrow::datatypes::IntervalMonthDayNano;

use super::datetime::{fast_date, fast_timestamp, fast_timestamptz};
use super::datetime_fields::Surroundings;
use super::datetime_values::{date_of_text, timestamp_of_text, timestamptz_of_text};
use super::interval_fields::interval_of_text;
use crate::SqlError;
use crate::formats::IntervalStyle;

const NS_OF_US: i64 = 1000;

/// A date as days since 1970-01-01. A time after it is read and dropped.
pub fn column_date(text: &str, surroundings: &Surroundings) -> Result<i32, SqlError> {
    match fast_date(text, surroundings.date_order) {
        Some(days) => Ok(days),
        None => date_of_text(text, surroundings),
    }
}

/// A timestamp without time zone as microseconds since 1970-01-01. A zone after it is read and dropped.
pub fn column_timestamp(text: &str, surroundings: &Surroundings) -> Result<i64, SqlError> {
    match fast_timestamp(text, surroundings.date_order) {
        Some(us) => Ok(us),
        None => timestamp_of_text(text, surroundings),
    }
}

/// A timestamp with time zone as microseconds since 1970-01-01 UTC; without a zone it is local time of the zone.
pub fn column_timestamptz(text: &str, surroundings: &Surroundings) -> Result<i64, SqlError> {
    match fast_timestamptz(text, surroundings) {
        Some(us) => Ok(us),
        None => timestamptz_of_text(text, surroundings),
    }
}

/// An interval.
pub fn column_interval(text: &str, style: IntervalStyle) -> Result<IntervalMonthDayNano, SqlError> {
    let interval = interval_of_text(text, -1, style)?;
    match interval.us.checked_mul(NS_OF_US) {
        Some(ns) => Ok(IntervalMonthDayNano::new(interval.months, interval.days, ns)),
        None => Err(SqlError::unsupported(format!("the interval \"{text}\" is too long for a column"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::DateOrder;
    use crate::values::calendar::DAY_US;

    fn utc() -> Surroundings {
        Surroundings { zone: crate::input::datetime::utc(), now_us: 0, date_order: DateOrder::Mdy }
    }

    const HOUR_US: i64 = DAY_US / 24;

    /// Every expected value is PostgreSQL 15's answer, in UTC.
    #[test]
    fn all_of_postgresqls_spellings_are_read() {
        for (text, days) in [
            ("1999-01-08", 10_599),
            ("Jan 08 99", 10_599),
            ("J2451187", 10_599),
            ("1999.008", 10_599),
            ("epoch 12:00", 0),
            ("0001-01-01", -719_162),
            ("2040-04-10 BC", -1_464_158),
            ("10000-01-01", 2_932_897),
            ("infinity", i32::MAX),
            ("-infinity", i32::MIN),
        ] {
            assert_eq!(column_date(text, &utc()).unwrap(), days, "{text}");
        }
        for (text, us) in [
            ("epoch 12:00", 0),
            ("infinity", i64::MAX),
            ("1970-01-01 00:00:00.0000005", 0),
            ("1970-01-01 00:00:00.0000015", 2),
            ("1970-01-01 00:00:00.1234565", 123_456),
            ("1970-01-01 12:00:60", 12 * HOUR_US + 60_000_000),
            ("Thu Jan 01 01:00:00 1970 PST", HOUR_US),
        ] {
            assert_eq!(column_timestamp(text, &utc()).unwrap(), us, "{text}");
        }
        for (text, us) in [
            ("1970-07-01 12:00 CET", 181 * DAY_US + 11 * HOUR_US),
            ("1970-07-01 12:00 America/New_York", 181 * DAY_US + 16 * HOUR_US),
            ("1970-01-01 12:00:00+5:30", 6 * HOUR_US + HOUR_US / 2),
            ("1970-01-01 12:00 PST", 20 * HOUR_US),
        ] {
            assert_eq!(column_timestamptz(text, &utc()).unwrap(), us, "{text}");
        }
        for (text, months, days, us) in [
            ("1 year 2 months 3 days 4 hours", 14, 3, 4 * HOUR_US),
            ("P0001-02-03T04:05:06", 14, 3, 14_706_000_000),
            ("1.1234567 seconds", 0, 0, 1_123_457),
            ("0.0000005 seconds", 0, 0, 0),
            ("1 decade ago 2 days", -120, -2, 0),
        ] {
            let interval = column_interval(text, IntervalStyle::Postgres).unwrap();
            assert_eq!((interval.months, interval.days, interval.nanoseconds), (months, days, us * NS_OF_US), "{text}");
        }
    }

    #[test]
    fn words_are_read_at_the_time_of_the_session() {
        let now = Surroundings { now_us: 100 * DAY_US + HOUR_US, ..utc() };
        for (text, days) in [("today", 100), ("now", 100), ("yesterday", 99), ("tomorrow 12:00", 101)] {
            assert_eq!(column_date(text, &now).unwrap(), days, "{text}");
        }
        assert_eq!(column_timestamp("now", &now).unwrap(), now.now_us);
        assert_eq!(column_timestamptz("tomorrow 12:00", &now).unwrap(), 101 * DAY_US + 12 * HOUR_US);
    }

    #[test]
    fn what_columns_do_not_store_is_refused() {
        assert_eq!(column_interval("9999999 hours", IntervalStyle::Postgres).unwrap_err().sqlstate(), "0A000");
    }

    #[test]
    fn errors_are_those_of_expressions() {
        for (text, sqlstate) in [
            ("2023-02-29", "22008"),
            ("2024-13-01", "22008"),
            ("99-01-08", "22008"),
            ("2024-01", "22007"),
            ("", "22007"),
            ("2024-01-05x", "22007"),
            ("2024-01-05 25:00", "22008"),
        ] {
            assert_eq!(column_date(text, &utc()).unwrap_err().sqlstate(), sqlstate, "{text}");
        }
        assert_eq!(column_timestamptz("1970-01-01 00:00:00 Mars/Base", &utc()).unwrap_err().sqlstate(), "22023");
        for (text, sqlstate) in
            [("1 day 2 days", "22007"), ("2147483647 years", "22008"), ("999999999999 years", "22015")]
        {
            assert_eq!(column_interval(text, IntervalStyle::Postgres).unwrap_err().sqlstate(), sqlstate, "{text}");
        }
    }
}
