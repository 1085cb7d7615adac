//! The names and the abbreviations of time zones, with what they mean when the transaction began.

use super::{Rows, SetImplementations};
use crate::Value;
use crate::functions::Call;
use crate::input::time_zone_abbreviations::{Abbreviation, abbreviations};
use crate::input::time_zones::{zone_names, zone_use};
use crate::values::Interval;
use crate::values::calendar::SECOND_US;

/// Rows of time zones.
pub const FUNCTIONS: SetImplementations =
    &[("pg_timezone_names", |_, call| Ok(names(call))), ("pg_timezone_abbrevs", |_, call| Ok(abbreviated(call)))];

fn seconds(offset_s: i32) -> Value {
    Value::Interval(Interval::new(0, 0, i64::from(offset_s) * SECOND_US))
}

/// Name, abbreviation, offset, whether it is summer time.
fn names(call: &Call<'_>) -> Rows {
    let now_us = call.session.transaction_us();
    Box::new(zone_names().filter_map(move |name| {
        let used = zone_use(name, now_us)?;
        let values = [Value::text(name), Value::text(used.abbreviation), seconds(used.offset_s)];
        Some(Ok(values.into_iter().chain([Value::Bool(used.is_summer)]).collect()))
    }))
}

/// Abbreviation, offset, whether it is summer time.
fn abbreviated(call: &Call<'_>) -> Rows {
    let now_us = call.session.transaction_us();
    Box::new(abbreviations().filter_map(move |(word, meaning)| {
        let (offset_s, is_summer) = match meaning {
            Abbreviation::Fixed(offset_s, is_summer) => (offset_s, is_summer),
            Abbreviation::Zone(name) => zone_use(name, now_us).map(|used| (used.offset_s, used.is_summer))?,
        };
        Some(Ok(vec![Value::text(word.to_uppercase()), seconds(offset_s), Value::Bool(is_summer)]))
    }))
}
