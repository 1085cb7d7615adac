//! Functions of `numeric`. What they compute is in [`Numeric`].

use super::integers::out_of_range;
use crate::functions::{Call, Implementations};
use crate::sql_type::numeric_digits;
use crate::values::Numeric;
use crate::{SqlError, SqlState, SqlType, Value};

/// Modifiers below this are none.
const MODIFIER_MIN: i32 = SqlType::numeric(0, 0).modifier;

/// A function of one numeric that may fail.
macro_rules! of_one {
    ($method:ident) => {
        |a, _| a[0].as_numeric().$method().map(Value::Numeric)
    };
}

/// A function of two numerics that may fail.
macro_rules! of_two {
    ($method:ident) => {
        |a, _| a[0].as_numeric().$method(a[1].as_numeric()).map(Value::Numeric)
    };
}

/// The functions, save comparisons and casts.
pub const FUNCTIONS: Implementations = &[
    ("numeric_in", |a, _| match digits_of(a[2].as_int4()) {
        Some((precision, scale)) => Numeric::parse_with_modifier(a[0].as_text(), precision, scale).map(Value::Numeric),
        None => Numeric::parse(a[0].as_text()).map(Value::Numeric),
    }),
    ("numeric_out", |a, _| Ok(Value::text(a[0].as_numeric().to_string()))),
    ("numeric", |a, _| match digits_of(a[1].as_int4()) {
        Some((precision, scale)) => a[0].as_numeric().with_modifier(precision, scale).map(Value::Numeric),
        None => Ok(a[0].clone()),
    }),
    ("numeric_add", of_two!(checked_add)),
    ("numeric_sub", of_two!(checked_sub)),
    ("numeric_mul", of_two!(checked_mul)),
    ("numeric_div", of_two!(checked_div)),
    ("numeric_div_trunc", of_two!(div_trunc)),
    ("numeric_mod", of_two!(checked_rem)),
    ("numeric_power", of_two!(power)),
    ("numeric_gcd", of_two!(gcd)),
    ("numeric_lcm", of_two!(lcm)),
    ("numeric_log", |a, _| Numeric::log(a[0].as_numeric(), a[1].as_numeric()).map(Value::Numeric)),
    ("log(numeric)", |a, _| decimal_logarithm(a)),
    ("log10(numeric)", |a, _| decimal_logarithm(a)),
    ("numeric_inc", |a, _| a[0].as_numeric().checked_add(&Numeric::ONE).map(Value::Numeric)),
    ("numeric_sqrt", of_one!(sqrt)),
    ("numeric_exp", of_one!(exp)),
    ("numeric_ln", of_one!(ln)),
    ("numeric_ceil", of_one!(ceil)),
    ("numeric_floor", of_one!(floor)),
    ("numeric_abs", |a, _| Ok(Value::Numeric(a[0].as_numeric().abs()))),
    ("numeric_sign", |a, _| Ok(Value::Numeric(a[0].as_numeric().sign()))),
    ("numeric_uminus", |a, _| Ok(Value::Numeric(a[0].as_numeric().negated()))),
    ("numeric_uplus", |a, _| Ok(a[0].clone())),
    ("numeric_trim_scale", |a, _| Ok(Value::Numeric(a[0].as_numeric().normal_form()))),
    ("numeric_scale", |a, _| Ok(int4_or_null(a[0].as_numeric().scale()))),
    ("numeric_min_scale", |a, _| Ok(int4_or_null(a[0].as_numeric().scale_min()))),
    ("numeric_round", |a, _| a[0].as_numeric().round(a[1].as_int4()).map(Value::Numeric)),
    ("round(numeric)", |a, _| a[0].as_numeric().round(0).map(Value::Numeric)),
    ("numeric_trunc", |a, _| a[0].as_numeric().trunc(a[1].as_int4()).map(Value::Numeric)),
    ("trunc(numeric)", |a, _| a[0].as_numeric().trunc(0).map(Value::Numeric)),
    ("numeric_fac", |a, _| Numeric::factorial(a[0].as_int8()).map(Value::Numeric)),
    ("width_bucket_numeric", width_bucket),
];

/// Precision and scale of a modifier, if it has them.
fn digits_of(modifier: i32) -> Option<(i32, i32)> {
    (modifier >= MODIFIER_MIN).then(|| numeric_digits(modifier))
}

fn decimal_logarithm(arguments: &[Value]) -> Result<Value, SqlError> {
    Numeric::log(&Numeric::from(10), arguments[0].as_numeric()).map(Value::Numeric)
}

fn int4_or_null(scale: Option<u16>) -> Value {
    scale.map_or(Value::Null, |scale| Value::Int4(scale.into()))
}

/// An error of the arguments of `width_bucket`.
pub(super) fn invalid_buckets(message: &str) -> SqlError {
    SqlError::new(SqlState::InvalidWidthBucketArgument, message)
}

fn width_bucket(arguments: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let [operand, low, high] = [0, 1, 2].map(|at| arguments[at].as_numeric());
    let count = arguments[3].as_int4();
    if count <= 0 {
        return Err(invalid_buckets("count must be greater than zero"));
    }
    if [operand, low, high].iter().any(|number| number.is_nan()) {
        return Err(invalid_buckets("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(invalid_buckets("lower and upper bounds must be finite"));
    }
    let direction = low.compare(high);
    if direction.is_eq() {
        return Err(invalid_buckets("lower bound cannot equal upper bound"));
    }
    if operand.compare(low) == direction {
        return Ok(Value::Int4(0));
    }
    if operand.compare(high) != direction {
        return count.checked_add(1).map(Value::Int4).ok_or_else(|| out_of_range("integer"));
    }
    operand.bucket(low, high, count).map(Value::Int4).ok_or_else(|| out_of_range("integer"))
}
