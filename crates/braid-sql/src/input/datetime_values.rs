//! Values of `date`, `time`, `timetz`, `timestamp`, `timestamptz` from text, with PostgreSQL's errors.
//!
//! [`datetime`](super::datetime) reads the spellings that files have, and fast; this module reads all that there are.

use super::datetime_fields::{Moment, Surroundings, read_moment, read_time_of_day};
use super::datetime_words::Unreadable;
use super::time_zones::unknown_zone;
use crate::values::calendar::{DAY_US, DAYS_MAX, DAYS_MIN, SECOND_US, TIMESTAMP_MAX_US, TIMESTAMP_MIN_US};
use crate::{SqlError, SqlState};

/// A date in days since 1970-01-01. A time after it is read and dropped.
pub fn date_of_text(text: &str, around: &Surroundings) -> Result<i32, SqlError> {
    match read_moment(text, around).map_err(|why| unreadable(why, text, "date"))? {
        Moment::At { days, .. } if (DAYS_MIN..=DAYS_MAX).contains(&days) => Ok(days as i32),
        Moment::At { .. } => Err(out_of_range("date", text)),
        Moment::Epoch => Ok(0),
        Moment::Infinity(is_late) => Ok(if is_late { i32::MAX } else { i32::MIN }),
    }
}

/// A timestamp in microseconds since 1970-01-01. A zone after it is read and dropped.
pub fn timestamp_of_text(text: &str, around: &Surroundings) -> Result<i64, SqlError> {
    moment_us(text, around, false, "timestamp")
}

/// A timestamp with time zone in microseconds since 1970-01-01 UTC.
pub fn timestamptz_of_text(text: &str, around: &Surroundings) -> Result<i64, SqlError> {
    moment_us(text, around, true, "timestamp with time zone")
}

fn moment_us(text: &str, around: &Surroundings, has_zone: bool, type_name: &str) -> Result<i64, SqlError> {
    match read_moment(text, around).map_err(|why| unreadable(why, text, type_name))? {
        Moment::At { days, time_us, offset_s } => {
            let offset_us = if has_zone { i64::from(offset_s) * SECOND_US } else { 0 };
            let us = i128::from(days) * i128::from(DAY_US) + i128::from(time_us - offset_us);
            let fits = (i128::from(TIMESTAMP_MIN_US)..=i128::from(TIMESTAMP_MAX_US)).contains(&us);
            if fits { Ok(us as i64) } else { Err(out_of_range("timestamp", text)) }
        }
        Moment::Epoch => Ok(0),
        Moment::Infinity(is_late) => Ok(if is_late { i64::MAX } else { i64::MIN }),
    }
}

/// A time in microseconds since midnight. A date before it and a zone after it are read and dropped.
pub fn time_of_text(text: &str, around: &Surroundings) -> Result<i64, SqlError> {
    let (time_us, _) = read_time_of_day(text, around).map_err(|why| unreadable(why, text, "time"))?;
    Ok(time_us)
}

/// A time with its zone: microseconds since midnight, seconds *west* of UTC.
pub fn timetz_of_text(text: &str, around: &Surroundings) -> Result<(i64, i32), SqlError> {
    let (time_us, east_s) =
        read_time_of_day(text, around).map_err(|why| unreadable(why, text, "time with time zone"))?;
    Ok((time_us, -east_s))
}

/// PostgreSQL's error for a text that does not read.
pub fn unreadable(why: Unreadable, text: &str, type_name: &str) -> SqlError {
    let field = format!("date/time field value out of range: \"{text}\"");
    match why {
        Unreadable::Format => {
            let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
            SqlError::new(SqlState::InvalidDatetime, message)
        }
        Unreadable::OutOfRange => SqlError::new(SqlState::DatetimeOverflow, field),
        Unreadable::DateOutOfRange => SqlError::new(SqlState::DatetimeOverflow, field)
            .with_hint("Perhaps you need a different \"datestyle\" setting."),
        Unreadable::ZoneOutOfRange => {
            let message = format!("time zone displacement out of range: \"{text}\"");
            SqlError::new(SqlState::TimeZoneDisplacement, message)
        }
        Unreadable::UnknownZone(name) => unknown_zone(&name),
    }
}

fn out_of_range(type_name: &str, text: &str) -> SqlError {
    SqlError::new(SqlState::DatetimeOverflow, format!("{type_name} out of range: \"{text}\""))
}
