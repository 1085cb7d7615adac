//! Ranges of date and time, and the errors of results outside them.
//!
//! `timestamp` ends in the year 294247: Braid counts microseconds from 1970 in 64 bits, PostgreSQL from 2000, and has 29 years more.

use crate::input::time_zones::TimeZone;

use crate::functions::Call;
use crate::input::datetime_fields::Surroundings;
use crate::input::time_zones::{local_offset_s, zone_offset_s};
use crate::values::calendar::{DAY_US, DAYS_MAX, DAYS_MIN, SECOND_US, TIMESTAMP_MAX_US, TIMESTAMP_MIN_US};
use crate::{SqlError, SqlState};

/// `timestamp out of range` and the like.
pub fn overflow(message: &str) -> SqlError {
    SqlError::new(SqlState::DatetimeOverflow, message)
}

/// `interval out of range`
pub fn interval_overflow() -> SqlError {
    overflow("interval out of range")
}

/// A timestamp, if it is one. The limits are exclusive of the infinities.
pub fn checked_timestamp(us: i128) -> Result<i64, SqlError> {
    let fits = (i128::from(TIMESTAMP_MIN_US)..=i128::from(TIMESTAMP_MAX_US)).contains(&us);
    if fits { Ok(us as i64) } else { Err(overflow("timestamp out of range")) }
}

/// A finite date, if it is one.
pub fn checked_date(days: i64) -> Result<i32, SqlError> {
    if (DAYS_MIN..=DAYS_MAX).contains(&days) { Ok(days as i32) } else { Err(overflow("date out of range")) }
}

/// Whether a timestamp is not infinite.
pub fn is_finite(us: i64) -> bool {
    us != i64::MAX && us != i64::MIN
}

/// Whether a date is not infinite.
pub fn is_finite_date(days: i32) -> bool {
    days != i32::MAX && days != i32::MIN
}

/// The infinite timestamp of an infinite date; `None` for a finite date.
pub fn infinite_timestamp(days: i32) -> Option<i64> {
    match days {
        i32::MAX => Some(i64::MAX),
        i32::MIN => Some(i64::MIN),
        _ => None,
    }
}

/// The infinite date of an infinite timestamp; `None` for a finite one.
pub fn infinite_date(us: i64) -> Option<i32> {
    match us {
        i64::MAX => Some(i32::MAX),
        i64::MIN => Some(i32::MIN),
        _ => None,
    }
}

/// Midnight of a date.
pub fn midnight_us(days: i32) -> Result<i64, SqlError> {
    match infinite_timestamp(days) {
        Some(infinity) => Ok(infinity),
        None => checked_timestamp(i128::from(days) * i128::from(DAY_US))
            .map_err(|_| overflow("date out of range for timestamp")),
    }
}

/// What text needs to know of the session.
pub fn surroundings(call: &Call<'_>) -> Surroundings {
    Surroundings {
        zone: call.session.zone(),
        now_us: call.session.transaction_us(),
        date_order: call.session.formats().date_order,
    }
}

/// What clocks of the session show at an instant. It may be a little out of the range of timestamps.
pub fn local_us(instant_us: i64, call: &Call<'_>) -> i128 {
    zone_local_us(instant_us, &call.session.zone())
}

/// What clocks of a zone show at an instant.
pub fn zone_local_us(instant_us: i64, zone: &TimeZone) -> i128 {
    i128::from(instant_us) + i128::from(zone_offset_s(instant_us, zone)) * i128::from(SECOND_US)
}

/// When clocks of the session show `local_us`.
pub fn instant_us(local_us: i128, call: &Call<'_>) -> Result<i64, SqlError> {
    zone_instant_us(local_us, &call.session.zone())
}

/// When clocks of a zone show `local_us`.
pub fn zone_instant_us(local_us: i128, zone: &TimeZone) -> Result<i64, SqlError> {
    let clamped = local_us.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    let offset_s = local_offset_s(clamped, zone);
    checked_timestamp(local_us - i128::from(offset_s) * i128::from(SECOND_US))
}
