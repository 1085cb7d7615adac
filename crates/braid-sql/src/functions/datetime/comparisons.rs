//! Dates and timestamps compared with each other.
//!
//! A date is its midnight; without a zone it is the session's. Dates beyond the last timestamp still compare, so that the time is
//! counted in 128 bits.

use std::cmp::Ordering;

use super::limits::infinite_timestamp;
use crate::Value;
use crate::functions::{Call, Implementations};
use crate::input::time_zones::local_offset_s;
use crate::values::calendar::{DAY_US, SECOND_US};

/// Six comparisons and the one of sorting, for a pair of types.
macro_rules! comparisons {
    ($($left:literal $right:literal)*) => {
        /// The table of this family.
        pub const FUNCTIONS: Implementations = &[$(
            (concat!($left, "_eq_", $right), |arguments, call| Ok(Value::Bool(compare(arguments, call).is_eq()))),
            (concat!($left, "_ne_", $right), |arguments, call| Ok(Value::Bool(compare(arguments, call).is_ne()))),
            (concat!($left, "_lt_", $right), |arguments, call| Ok(Value::Bool(compare(arguments, call).is_lt()))),
            (concat!($left, "_le_", $right), |arguments, call| Ok(Value::Bool(compare(arguments, call).is_le()))),
            (concat!($left, "_gt_", $right), |arguments, call| Ok(Value::Bool(compare(arguments, call).is_gt()))),
            (concat!($left, "_ge_", $right), |arguments, call| Ok(Value::Bool(compare(arguments, call).is_ge()))),
            (concat!($left, "_cmp_", $right), |arguments, call| Ok(Value::Int4(compare(arguments, call) as i32))),
        )*];
    };
}

comparisons! {
    "date" "timestamp"
    "date" "timestamptz"
    "timestamp" "date"
    "timestamp" "timestamptz"
    "timestamptz" "date"
    "timestamptz" "timestamp"
}

/// The order of two dates or timestamps, also of one type.
pub(in crate::functions) fn compare(arguments: &[Value], call: &Call<'_>) -> Ordering {
    let has_instant = arguments.iter().any(|value| matches!(value, Value::TimestampTz(_)));
    let key = |value| if has_instant { instant_of(value, call) } else { local_of(value) };
    key(&arguments[0]).cmp(&key(&arguments[1]))
}

/// Microseconds, infinities beyond all of them.
fn wide(us: i64) -> i128 {
    match us {
        i64::MAX => i128::MAX,
        i64::MIN => i128::MIN,
        us => us.into(),
    }
}

fn local_of(value: &Value) -> i128 {
    match value {
        Value::Date(days) => match infinite_timestamp(*days) {
            Some(infinity) => wide(infinity),
            None => i128::from(*days) * i128::from(DAY_US),
        },
        Value::Timestamp(us) => wide(*us),
        other => panic!("local_of {other:?}"),
    }
}

fn instant_of(value: &Value, call: &Call<'_>) -> i128 {
    if let Value::TimestampTz(us) = value {
        return wide(*us);
    }
    let local = local_of(value);
    if local == i128::MAX || local == i128::MIN {
        return local;
    }
    let clamped = local.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    local - i128::from(local_offset_s(clamped, &call.session.zone())) * i128::from(SECOND_US)
}
