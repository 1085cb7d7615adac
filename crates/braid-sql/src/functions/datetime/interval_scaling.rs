//! Intervals times and divided by numbers, and units carried over: `justify_days` and its like.
//!
//! Fractions go down: what is left of months becomes days of a month with 30, what is left of days becomes time.

use super::limits::interval_overflow;
use crate::functions::Implementations;
use crate::values::Interval;
use crate::values::calendar::{DAY_US, SECOND_US};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("interval_mul", |arguments, _| times(arguments[0].as_interval(), arguments[1].as_float8()).map(Value::Interval)),
    ("mul_d_interval", |arguments, _| times(arguments[1].as_interval(), arguments[0].as_float8()).map(Value::Interval)),
    ("interval_div", |arguments, _| over(arguments[0].as_interval(), arguments[1].as_float8()).map(Value::Interval)),
    ("interval_justify_hours", |arguments, _| justified_hours(arguments[0].as_interval()).map(Value::Interval)),
    ("interval_justify_days", |arguments, _| justified_days(arguments[0].as_interval()).map(Value::Interval)),
    ("interval_justify_interval", |arguments, _| justified(arguments[0].as_interval()).map(Value::Interval)),
];

const DAY_SECONDS: f64 = 86_400.0;
const MONTH_DAYS: i32 = 30;

/// `interval * float8`
pub fn times(interval: Interval, factor: f64) -> Result<Interval, SqlError> {
    scaled(interval, |part| part * factor)
}

/// `interval / float8`
pub fn over(interval: Interval, divisor: f64) -> Result<Interval, SqlError> {
    if divisor == 0.0 {
        return Err(SqlError::new(SqlState::DivisionByZero, "division by zero"));
    }
    scaled(interval, |part| part / divisor)
}

/// The interval with each part scaled, and fractions carried down.
fn scaled(interval: Interval, scale: impl Fn(f64) -> f64) -> Result<Interval, SqlError> {
    let (months, days) = (scale(interval.months.into()), scale(interval.days.into()));
    let (whole_months, whole_days) = (truncated(months)?, truncated(days)?);
    let month_days = rounded_to_us((months - f64::from(whole_months)) * f64::from(MONTH_DAYS));
    let carried_days = month_days as i32;
    let fraction = days - f64::from(whole_days) + month_days - f64::from(carried_days);
    let mut seconds = rounded_to_us(fraction * DAY_SECONDS);
    let mut result_days = whole_days;
    if seconds.abs() >= DAY_SECONDS {
        let extra = (seconds / DAY_SECONDS) as i32;
        result_days = result_days.checked_add(extra).ok_or_else(interval_overflow)?;
        seconds -= f64::from(extra) * DAY_SECONDS;
    }
    result_days = result_days.checked_add(carried_days).ok_or_else(interval_overflow)?;
    let us = (scale(interval.us as f64) + seconds * SECOND_US as f64).round_ties_even();
    // 2^63 as a float is the first number that does not fit.
    if us.is_nan() || !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&us) {
        return Err(interval_overflow());
    }
    Ok(Interval::new(whole_months, result_days, us as i64))
}

fn truncated(value: f64) -> Result<i32, SqlError> {
    if value.is_nan() || value > f64::from(i32::MAX) || value < f64::from(i32::MIN) {
        return Err(interval_overflow());
    }
    Ok(value as i32)
}

/// Rounded to six digits, which hides what floats cannot hold.
fn rounded_to_us(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

/// `justify_hours`: 24 hours are a day.
pub fn justified_hours(interval: Interval) -> Result<Interval, SqlError> {
    let carried = i32::try_from(interval.us / DAY_US).map_err(|_| interval_overflow())?;
    let days = interval.days.checked_add(carried).ok_or_else(interval_overflow)?;
    Ok(same_sign_of_days(Interval::new(interval.months, days, interval.us % DAY_US)))
}

/// `justify_days`: 30 days are a month.
fn justified_days(interval: Interval) -> Result<Interval, SqlError> {
    let months = interval.months.checked_add(interval.days / MONTH_DAYS).ok_or_else(interval_overflow)?;
    let days = interval.days % MONTH_DAYS;
    let (months, days) = match (months, days) {
        (months, days) if months > 0 && days < 0 => (months - 1, days + MONTH_DAYS),
        (months, days) if months < 0 && days > 0 => (months + 1, days - MONTH_DAYS),
        same => same,
    };
    Ok(Interval::new(months, days, interval.us))
}

/// `justify_interval`: both, and all parts have one sign.
fn justified(interval: Interval) -> Result<Interval, SqlError> {
    let Interval { mut months, mut days, mut us } = interval;
    // Carrying days first keeps them from overflowing.
    if (days > 0 && us > 0) || (days < 0 && us < 0) {
        months = months.checked_add(days / MONTH_DAYS).ok_or_else(interval_overflow)?;
        days %= MONTH_DAYS;
    }
    let carried = i32::try_from(us / DAY_US).map_err(|_| interval_overflow())?;
    us %= DAY_US;
    days = days.checked_add(carried).ok_or_else(interval_overflow)?;
    months = months.checked_add(days / MONTH_DAYS).ok_or_else(interval_overflow)?;
    days %= MONTH_DAYS;
    if months > 0 && (days < 0 || (days == 0 && us < 0)) {
        (months, days) = (months - 1, days + MONTH_DAYS);
    } else if months < 0 && (days > 0 || (days == 0 && us > 0)) {
        (months, days) = (months + 1, days - MONTH_DAYS);
    }
    Ok(same_sign_of_days(Interval::new(months, days, us)))
}

/// Days and time of one sign; the time is less than a day.
fn same_sign_of_days(mut interval: Interval) -> Interval {
    if interval.days > 0 && interval.us < 0 {
        interval.us += DAY_US;
        interval.days -= 1;
    } else if interval.days < 0 && interval.us > 0 {
        interval.us -= DAY_US;
        interval.days += 1;
    }
    interval
}
