//! `date`: text, order and arithmetic.

use super::limits::{checked_date, is_finite_date, midnight_us, overflow, surroundings};
use super::timestamps::{minus_interval, plus_interval};
use crate::functions::{Call, Implementations};
use crate::input::datetime_values::date_of_text;
use crate::output::datetime_styles::styled_date;
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("date_in", |arguments, call| date_of_text(arguments[0].as_text(), &surroundings(call)).map(Value::Date)),
    ("date_out", |arguments, call| Ok(Value::text(styled_date(arguments[0].as_date(), &call.session.formats())))),
    ("date_eq", |arguments, _| Ok(Value::Bool(arguments[0].as_date() == arguments[1].as_date()))),
    ("date_ne", |arguments, _| Ok(Value::Bool(arguments[0].as_date() != arguments[1].as_date()))),
    ("date_lt", |arguments, _| Ok(Value::Bool(arguments[0].as_date() < arguments[1].as_date()))),
    ("date_le", |arguments, _| Ok(Value::Bool(arguments[0].as_date() <= arguments[1].as_date()))),
    ("date_gt", |arguments, _| Ok(Value::Bool(arguments[0].as_date() > arguments[1].as_date()))),
    ("date_ge", |arguments, _| Ok(Value::Bool(arguments[0].as_date() >= arguments[1].as_date()))),
    ("date_cmp", |arguments, _| Ok(Value::Int4(arguments[0].as_date().cmp(&arguments[1].as_date()) as i32))),
    ("date_larger", |arguments, _| Ok(Value::Date(arguments[0].as_date().max(arguments[1].as_date())))),
    ("date_smaller", |arguments, _| Ok(Value::Date(arguments[0].as_date().min(arguments[1].as_date())))),
    ("date_finite", |arguments, _| Ok(Value::Bool(is_finite_date(arguments[0].as_date())))),
    ("date_mi", date_mi),
    ("date_pli", |arguments, _| plus_days(arguments[0].as_date(), arguments[1].as_int4().into())),
    ("date_mii", |arguments, _| plus_days(arguments[0].as_date(), -i64::from(arguments[1].as_int4()))),
    ("integer_pl_date(int4 date)", |arguments, _| plus_days(arguments[1].as_date(), arguments[0].as_int4().into())),
    ("date_pl_interval", |arguments, _| {
        plus_interval(midnight_us(arguments[0].as_date())?, arguments[1].as_interval()).map(Value::Timestamp)
    }),
    ("interval_pl_date(interval date)", |arguments, _| {
        plus_interval(midnight_us(arguments[1].as_date())?, arguments[0].as_interval()).map(Value::Timestamp)
    }),
    ("date_mi_interval", |arguments, _| {
        minus_interval(midnight_us(arguments[0].as_date())?, arguments[1].as_interval()).map(Value::Timestamp)
    }),
];

fn date_mi(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (left, right) = (arguments[0].as_date(), arguments[1].as_date());
    if !is_finite_date(left) || !is_finite_date(right) {
        return Err(overflow("cannot subtract infinite dates"));
    }
    // Dates lie within 31 bits.
    Ok(Value::Int4(left.wrapping_sub(right)))
}

/// Infinite dates stay what they are.
fn plus_days(date: i32, days: i64) -> Result<Value, SqlError> {
    if is_finite_date(date) { checked_date(i64::from(date) + days).map(Value::Date) } else { Ok(Value::Date(date)) }
}
