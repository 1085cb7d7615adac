//! What time it is: `now()` and the clocks that SQL writes without parentheses, such as `current_date`.

use super::limits::local_us;
use crate::functions::{Call, Implementations};
use crate::input::time_zones::abbreviation_at;
use crate::types::interval_modifier::{round_to_digits, second_digits};
use crate::values::calendar::{DAY_US, SECOND_US, Y2K_US, civil_of_days, day_of_week};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("pg_sleep", |_, _| {
        Err(SqlError::unsupported("pg_sleep is supported in the select list of a query without FROM, alone"))
    }),
    ("now", now),
    ("statement_timestamp", statement_timestamp),
    ("clock_timestamp", clock_timestamp),
    ("timeofday", timeofday),
];

fn now(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::TimestampTz(call.session.transaction_us()))
}

fn statement_timestamp(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::TimestampTz(call.session.statement_us()))
}

fn clock_timestamp(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::TimestampTz(call.session.clock_us()))
}

/// The clock as a text: `Mon Nov 23 20:05:42.123456 2026 UTC`.
fn timeofday(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let instant = call.session.clock_us();
    let local = local_us(instant, call) as i64;
    let days = local.div_euclid(DAY_US);
    let (year, month, day) = civil_of_days(days);
    let us = local.rem_euclid(DAY_US);
    let seconds = us / SECOND_US;
    let text = format!(
        "{} {} {day:02} {:02}:{:02}:{:02}.{:06} {year:04} {}",
        DAYS[day_of_week(days) as usize],
        MONTHS[month as usize - 1],
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        us % SECOND_US,
        abbreviation_at(instant, &call.session.zone())
    );
    Ok(Value::text(text))
}

/// A finite timestamp rounded to digits of a second; PostgreSQL rounds from 2000-01-01.
pub fn rounded_timestamp(us: i64, modifier: i32) -> i64 {
    match second_digits(modifier) {
        Some(digits) => {
            let rounded = us.checked_sub(Y2K_US).and_then(|since| round_to_digits(since, digits));
            rounded.and_then(|since| since.checked_add(Y2K_US)).unwrap_or(us)
        }
        None => us,
    }
}

/// A time of day rounded to digits of a second.
pub fn rounded_time(us: i64, modifier: i32) -> i64 {
    second_digits(modifier).and_then(|digits| round_to_digits(us, digits)).unwrap_or(us)
}
