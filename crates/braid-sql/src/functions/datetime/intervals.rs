//! `interval`: text, order, sums and differences.

use std::cmp::Ordering;

use super::limits::interval_overflow;
use super::times::input_modifier;
use crate::functions::{Call, Implementations};
use crate::input::interval_fields::interval_of_text;
use crate::output::interval_styles::styled_interval;
use crate::types::interval_modifier::IntervalModifier;
use crate::values::Interval;
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("interval_in", interval_in),
    ("interval_out", |arguments, call| {
        Ok(Value::text(styled_interval(arguments[0].as_interval(), call.session.formats().interval_style)))
    }),
    ("interval_scale", |arguments, _| {
        with_modifier(arguments[0].as_interval(), arguments[1].as_int4()).map(Value::Interval)
    }),
    ("interval_eq", |arguments, _| Ok(Value::Bool(compare(&arguments[0], &arguments[1]).is_eq()))),
    ("interval_ne", |arguments, _| Ok(Value::Bool(compare(&arguments[0], &arguments[1]).is_ne()))),
    ("interval_lt", |arguments, _| Ok(Value::Bool(compare(&arguments[0], &arguments[1]).is_lt()))),
    ("interval_le", |arguments, _| Ok(Value::Bool(compare(&arguments[0], &arguments[1]).is_le()))),
    ("interval_gt", |arguments, _| Ok(Value::Bool(compare(&arguments[0], &arguments[1]).is_gt()))),
    ("interval_ge", |arguments, _| Ok(Value::Bool(compare(&arguments[0], &arguments[1]).is_ge()))),
    ("interval_cmp", |arguments, _| Ok(Value::Int4(compare(&arguments[0], &arguments[1]) as i32))),
    ("interval_larger", |arguments, _| {
        Ok(arguments[usize::from(compare(&arguments[0], &arguments[1]).is_le())].clone())
    }),
    ("interval_smaller", |arguments, _| {
        Ok(arguments[usize::from(compare(&arguments[0], &arguments[1]).is_ge())].clone())
    }),
    ("interval_finite", |_, _| Ok(Value::Bool(true))),
    ("interval_um", |arguments, _| negated(arguments[0].as_interval()).map(Value::Interval)),
    ("interval_pl", |arguments, _| sum(arguments[0].as_interval(), arguments[1].as_interval()).map(Value::Interval)),
    ("interval_mi", |arguments, _| {
        difference(arguments[0].as_interval(), arguments[1].as_interval()).map(Value::Interval)
    }),
];

fn interval_in(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let modifier = input_modifier(arguments);
    let interval = interval_of_text(arguments[0].as_text(), modifier, call.session.formats().interval_style)?;
    with_modifier(interval, modifier).map(Value::Interval)
}

fn with_modifier(interval: Interval, modifier: i32) -> Result<Interval, SqlError> {
    IntervalModifier::of(modifier).apply(interval).ok_or_else(interval_overflow)
}

/// A month counts as 30 days, a day as 24 hours.
pub fn compare(left: &Value, right: &Value) -> Ordering {
    left.as_interval().comparable_us().cmp(&right.as_interval().comparable_us())
}

/// `- interval`
pub fn negated(interval: Interval) -> Result<Interval, SqlError> {
    let parts = || {
        let Interval { months, days, us } = interval;
        Some(Interval::new(months.checked_neg()?, days.checked_neg()?, us.checked_neg()?))
    };
    parts().ok_or_else(interval_overflow)
}

/// `interval + interval`
pub fn sum(left: Interval, right: Interval) -> Result<Interval, SqlError> {
    let parts = || {
        let months = left.months.checked_add(right.months)?;
        Some(Interval::new(months, left.days.checked_add(right.days)?, left.us.checked_add(right.us)?))
    };
    parts().ok_or_else(interval_overflow)
}

/// `interval - interval`
pub fn difference(left: Interval, right: Interval) -> Result<Interval, SqlError> {
    let parts = || {
        let months = left.months.checked_sub(right.months)?;
        Some(Interval::new(months, left.days.checked_sub(right.days)?, left.us.checked_sub(right.us)?))
    };
    parts().ok_or_else(interval_overflow)
}
