//! Dates and times in paths: `.datetime()`, and what compares them.

use std::cmp::Ordering;

use super::execution::{Finds, Found, Run};
use super::failure::Failure;
use crate::functions::Call;
use crate::functions::datetime::casts::time_timetz;
use crate::functions::datetime::comparisons::compare;
use crate::functions::datetime::standard_parsing::{StandardFormat, iso_datetime};
use crate::output::json::datetime_text;
use crate::values::json::Jsonb;
use crate::values::json_datetime::JsonDatetime;
use crate::values::json_path::PathItem;
use crate::{SqlError, SqlState, Value};

/// The call that runs a path, and whether dates and times may be read in its session's zone.
#[derive(Clone, Copy, Debug)]
pub struct Zone<'a> {
    /// The call.
    pub call: &'a Call<'a>,
    /// Whether the function's name ends in `_tz`.
    pub is_used: bool,
}

impl Run<'_> {
    /// `.datetime()` of a value, by a template or in a format of ISO 8601.
    pub(super) fn run_datetime(
        &mut self,
        template: Option<&str>,
        rest: &[PathItem],
        value: &Jsonb,
        found: Found<'_>,
    ) -> Finds {
        let Jsonb::String(text) = value else {
            let message = "jsonpath item method .datetime() can only be applied to a string";
            return Err(Failure::of_value(SqlState::InvalidSqlJsonDatetime, message));
        };
        let datetime = match template {
            None => iso_datetime(text),
            Some(template) => StandardFormat::read(template).map_err(Failure::Fatal)?.datetime(text),
        };
        self.next(rest, &Jsonb::Datetime(datetime.map_err(Failure::OfValue)?), found)
    }
}

/// The order of two dates or times; `None` if their types cannot be compared.
pub(super) fn ordering(one: JsonDatetime, other: JsonDatetime, zone: Zone<'_>) -> Result<Option<Ordering>, Failure> {
    use JsonDatetime::{Date, Time, TimeTz, Timestamp, TimestampTz};
    Ok(match (one, other) {
        (Time(one), Time(other)) => Some(one.cmp(&other)),
        (Time(_) | TimeTz(..), Time(_) | TimeTz(..)) => {
            Some(JsonDatetime::compare_timetz(zoned_time(one, zone)?, zoned_time(other, zone)?))
        }
        (Time(_) | TimeTz(..), _) | (_, Time(_) | TimeTz(..)) => None,
        (Date(_) | Timestamp(_) | TimestampTz(..), Date(_) | Timestamp(_) | TimestampTz(..)) => {
            let has_instant = matches!(one, TimestampTz(..)) || matches!(other, TimestampTz(..));
            for datetime in [one, other] {
                match datetime {
                    Date(_) if has_instant => check_zone(zone, "date", "timestamptz")?,
                    Timestamp(_) if has_instant => check_zone(zone, "timestamp", "timestamptz")?,
                    _ => {}
                }
            }
            Some(compare(&[one, other].map(value_of), zone.call))
        }
    })
}

fn value_of(datetime: JsonDatetime) -> Value {
    match datetime {
        JsonDatetime::Date(days) => Value::Date(days),
        JsonDatetime::Time(us) => Value::Time(us),
        JsonDatetime::TimeTz(us, west_s) => Value::TimeTz(us, west_s),
        JsonDatetime::Timestamp(us) => Value::Timestamp(us),
        JsonDatetime::TimestampTz(us, _) => Value::TimestampTz(us),
    }
}

/// A time with its zone, which is the session's if it has none.
fn zoned_time(time: JsonDatetime, zone: Zone<'_>) -> Result<(i64, i32), Failure> {
    if let JsonDatetime::TimeTz(us, west_s) = time {
        return Ok((us, west_s));
    }
    check_zone(zone, "time", "timetz")?;
    match time_timetz(&[value_of(time)], zone.call).map_err(Failure::Fatal)? {
        Value::TimeTz(us, west_s) => Ok((us, west_s)),
        other => panic!("a time with zone is {other:?}"),
    }
}

/// Refuses the session's zone to functions that do not use it.
fn check_zone(zone: Zone<'_>, source: &str, target: &str) -> Result<(), Failure> {
    if zone.is_used {
        return Ok(());
    }
    let message = format!("cannot convert value from {source} to {target} without time zone usage");
    Err(Failure::Fatal(SqlError::unsupported(message).with_hint("Use *_tz() function for time zone support.")))
}

/// A value as it leaves a path: dates and times are strings.
pub(super) fn outside(value: Jsonb) -> Jsonb {
    match value {
        Jsonb::Datetime(datetime) => Jsonb::string(datetime_text(datetime)),
        other => other,
    }
}
