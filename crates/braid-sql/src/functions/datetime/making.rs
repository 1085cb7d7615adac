//! Dates and times from their fields (`make_date` and its like, `to_timestamp` of a number), and their fields' differences (`age`).

use super::limits::{checked_timestamp, instant_us, interval_overflow, is_finite, local_us, overflow};
use crate::functions::{Call, Implementations};
use crate::input::datetime_numbers::{Clock, DATE, read_offset};
use crate::input::datetime_words::Unreadable;
use crate::input::time_zones::{Zone, unknown_zone, zone_meant_by};
use crate::output::float_text::general;
use crate::values::Interval;
use crate::values::calendar::{
    DAY_US, DAYS_MAX, DAYS_MIN, HOUR_US, MINUTE_US, SECOND_US, Y2K_US, civil_of_days, days_of_month,
};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("make_date", |arguments, _| day_of_fields(arguments, true).map(|days| Value::Date(days as i32))),
    ("make_time", |arguments, _| time_of_fields(arguments).map(Value::Time)),
    ("make_timestamp", |arguments, _| {
        checked_timestamp(local_of_fields(arguments)?).map(Value::Timestamp).map_err(|_| timestamp_error(arguments))
    }),
    ("make_timestamptz", |arguments, call| {
        let local_us = local_of_fields(arguments)?;
        checked_timestamp(local_us).map_err(|_| timestamp_error(arguments))?;
        instant_us(local_us, call).map(Value::TimestampTz)
    }),
    ("make_timestamptz_at_timezone", make_timestamptz_at_timezone),
    ("make_interval", make_interval),
    ("float8_timestamptz", float8_timestamptz),
    ("timestamp_age", |arguments, _| {
        age(arguments[0].as_timestamp(), arguments[1].as_timestamp(), i128::from).map(Value::Interval)
    }),
    ("timestamptz_age", |arguments, call| {
        let local = |us| local_us(us, call);
        age(arguments[0].as_timestamptz(), arguments[1].as_timestamptz(), local).map(Value::Interval)
    }),
    ("age(timestamp)", |arguments, call| {
        age(today_us(call), arguments[0].as_timestamp(), i128::from).map(Value::Interval)
    }),
    ("age(timestamptz)", |arguments, call| {
        let today = instant_us(today_us(call).into(), call)?;
        age(today, arguments[0].as_timestamptz(), |us| local_us(us, call)).map(Value::Interval)
    }),
];

/// Midnight of the session's day.
fn today_us(call: &Call<'_>) -> i64 {
    let local = local_us(call.session.transaction_us(), call) as i64;
    local - local.rem_euclid(DAY_US)
}

/// The day of year, month and day; negative years are BC. Errors of `make_date` show the year with 0 as 1 BC.
fn day_of_fields(arguments: &[Value], shows_adjusted_year: bool) -> Result<i64, SqlError> {
    let [year, month, day] = [0, 1, 2].map(|at| arguments[at].as_int4());
    let is_bc = year < 0;
    let mut clock = Clock { year: if is_bc { year.wrapping_neg() } else { year }, month, day, ..Clock::default() };
    let is_valid = clock.validate(DATE, false, is_bc).is_ok();
    let shown = format!("{}-{month:02}-{day:02}", if shows_adjusted_year { clock.year } else { year });
    if !is_valid {
        return Err(overflow(&format!("date field value out of range: {shown}")));
    }
    let days = clock.days();
    if (DAYS_MIN..=DAYS_MAX).contains(&days) { Ok(days) } else { Err(overflow(&format!("date out of range: {shown}"))) }
}

/// The time of hour, minute and second.
fn time_of_fields(arguments: &[Value]) -> Result<i64, SqlError> {
    let (hour, minute, seconds) = (arguments[0].as_int4(), arguments[1].as_int4(), arguments[2].as_float8());
    let us = (seconds * 1e6).round_ties_even();
    let is_field = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&us);
    let time_us = i64::from(hour) * HOUR_US + i64::from(minute) * MINUTE_US + us as i64 * i64::from(is_field);
    if !is_field || time_us > DAY_US {
        let seconds = general(seconds, 2);
        return Err(overflow(&format!("time field value out of range: {hour}:{minute:02}:{seconds}")));
    }
    Ok(time_us)
}

fn local_of_fields(arguments: &[Value]) -> Result<i128, SqlError> {
    let days = day_of_fields(arguments, false)?;
    let time_us = time_of_fields(&arguments[3..6])?;
    Ok(i128::from(days) * i128::from(DAY_US) + i128::from(time_us))
}

fn timestamp_error(arguments: &[Value]) -> SqlError {
    let [year, month, day, hour, minute] = [0, 1, 2, 3, 4].map(|at| arguments[at].as_int4());
    let seconds = general(arguments[5].as_float8(), 2);
    overflow(&format!("timestamp out of range: {year}-{month:02}-{day:02} {hour}:{minute:02}:{seconds}"))
}

fn make_timestamptz_at_timezone(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let local_us = local_of_fields(arguments)?;
    checked_timestamp(local_us).map_err(|_| timestamp_error(arguments))?;
    let clamped = local_us.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    let offset_s = zone_argument(arguments[6].as_text())?.offset_of_local(clamped);
    checked_timestamp(local_us - i128::from(offset_s) * i128::from(SECOND_US)).map(Value::TimestampTz)
}

/// A zone as an offset with a sign, an abbreviation or a name.
fn zone_argument(text: &str) -> Result<Zone, SqlError> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
        return Err(SqlError::new(SqlState::InvalidParameterValue, message)
            .with_hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    match read_offset(text) {
        Ok(offset_s) => Ok(Zone::Fixed(offset_s)),
        Err(Unreadable::ZoneOutOfRange) => {
            let message = format!("numeric time zone \"{text}\" out of range");
            Err(SqlError::new(SqlState::InvalidParameterValue, message))
        }
        // PostgreSQL reads some as POSIX zones without a name.
        Err(Unreadable::Format) if text.starts_with(['+', '-']) => {
            zone_meant_by(text).map_err(|_| SqlError::unsupported(format!("the time zone \"{text}\" is not supported")))
        }
        Err(Unreadable::Format) => zone_meant_by(text),
        Err(_) => Err(unknown_zone(text)),
    }
}

/// `make_interval`. PostgreSQL 15 lets sums of large fields wrap; here they are out of range.
fn make_interval(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let [years, months, weeks, days, hours, minutes] = [0, 1, 2, 3, 4, 5].map(|at| i64::from(arguments[at].as_int4()));
    let seconds_us = (arguments[6].as_float8() * 1e6).round_ties_even();
    // 2^63 as a float is the first number that does not fit.
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&seconds_us) {
        return Err(interval_overflow());
    }
    let us = (hours * HOUR_US + minutes * MINUTE_US).checked_add(seconds_us as i64);
    let parts = || {
        let months = i32::try_from(years * 12 + months).ok()?;
        Some(Interval::new(months, i32::try_from(weeks * 7 + days).ok()?, us?))
    };
    parts().map(Value::Interval).ok_or_else(interval_overflow)
}

/// Seconds since 1970-01-01 as a timestamp.
fn float8_timestamptz(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let seconds = arguments[0].as_float8();
    if seconds.is_nan() {
        return Err(overflow("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(Value::TimestampTz(if seconds > 0.0 { i64::MAX } else { i64::MIN }));
    }
    let out_of_range = |_| overflow(&format!("timestamp out of range: \"{}\"", general(seconds, 0)));
    // PostgreSQL rounds seconds since 2000.
    let since_y2k = ((seconds - (Y2K_US / SECOND_US) as f64) * 1e6).round_ties_even();
    checked_timestamp(since_y2k as i128 + i128::from(Y2K_US)).map(Value::TimestampTz).map_err(out_of_range)
}

/// Fields of a local time: year, month, day and microseconds since midnight.
fn fields_of(local_us: i128) -> (i64, i64, i64, i64) {
    let day_us = i128::from(DAY_US);
    let (year, month, day) = civil_of_days(local_us.div_euclid(day_us) as i64);
    (year, month, day, local_us.rem_euclid(day_us) as i64)
}

/// The difference of two times in years, months, days and time. A month that is borrowed is that of the earlier time.
fn age(left: i64, right: i64, local: impl Fn(i64) -> i128) -> Result<Interval, SqlError> {
    if !is_finite(left) || !is_finite(right) {
        return Err(overflow("timestamp out of range"));
    }
    let is_negative = left < right;
    let (later, earlier) = if is_negative { (right, left) } else { (left, right) };
    let (later, earlier) = (fields_of(local(later)), fields_of(local(earlier)));
    let mut months = (later.0 - earlier.0) * 12 + (later.1 - earlier.1);
    let (mut days, mut us) = (later.2 - earlier.2, later.3 - earlier.3);
    if us < 0 {
        (us, days) = (us + DAY_US, days - 1);
    }
    while days < 0 {
        days += days_of_month(earlier.0, earlier.1);
        months -= 1;
    }
    let sign = if is_negative { -1 } else { 1 };
    let months = i32::try_from(sign * months).map_err(|_| interval_overflow())?;
    Ok(Interval::new(months, (sign * days) as i32, sign * us))
}
