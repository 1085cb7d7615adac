//! Integers: arithmetic, bits, divisors, from text and as text.

use std::fmt::Display;

use crate::functions::Implementations;
use crate::input::numbers::parse_integer;
use crate::values::numeric::division_by_zero;
use crate::{SqlError, SqlState, Value};

/// `integer out of range`
pub(super) fn out_of_range(type_name: &str) -> SqlError {
    SqlError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range"))
}

/// The result in its type, or the error of one that does not fit.
pub(super) fn fit<T>(result: Option<T>, type_name: &str) -> Result<T, SqlError> {
    result.ok_or_else(|| out_of_range(type_name))
}

fn text_of(value: impl Display) -> Value {
    Value::text(value.to_string())
}

/// Sum, difference, product and quotient of a pair of types, by their prefix.
macro_rules! arithmetic {
    ($($prefix:literal $left:ident $right:ident => $variant:ident $type:ty, $name:literal;)*) => {
        /// Arithmetic of two arguments.
        pub const ARITHMETIC: Implementations = &[$(
            (concat!($prefix, "pl"), |a, _| {
                fit(<$type>::from(a[0].$left()).checked_add(<$type>::from(a[1].$right())), $name).map(Value::$variant)
            }),
            (concat!($prefix, "mi"), |a, _| {
                fit(<$type>::from(a[0].$left()).checked_sub(<$type>::from(a[1].$right())), $name).map(Value::$variant)
            }),
            (concat!($prefix, "mul"), |a, _| {
                fit(<$type>::from(a[0].$left()).checked_mul(<$type>::from(a[1].$right())), $name).map(Value::$variant)
            }),
            (concat!($prefix, "div"), |a, _| match a[1].$right() {
                0 => Err(division_by_zero()),
                divisor => fit(<$type>::from(a[0].$left()).checked_div(<$type>::from(divisor)), $name).map(Value::$variant),
            }),
        )*];
    };
}

arithmetic! {
    "int2" as_int2 as_int2 => Int2 i16, "smallint";
    "int4" as_int4 as_int4 => Int4 i32, "integer";
    "int8" as_int8 as_int8 => Int8 i64, "bigint";
    "int24" as_int2 as_int4 => Int4 i32, "integer";
    "int42" as_int4 as_int2 => Int4 i32, "integer";
    "int28" as_int2 as_int8 => Int8 i64, "bigint";
    "int82" as_int8 as_int2 => Int8 i64, "bigint";
    "int48" as_int4 as_int8 => Int8 i64, "bigint";
    "int84" as_int8 as_int4 => Int8 i64, "bigint";
}

/// What each type of integers has. `$shift` is the type in which it shifts: the number of places counts modulo its bits.
macro_rules! of_one_type {
    ($($prefix:literal $get:ident $variant:ident $type:ty, $shift:ty, $name:literal;)*) => {
        /// Signs, remainders, bits and texts.
        pub const FUNCTIONS: Implementations = &[$(
            (concat!($prefix, "in"), |a, _| parse_integer(a[0].as_text(), $name).map(Value::$variant)),
            (concat!($prefix, "out"), |a, _| Ok(text_of(a[0].$get()))),
            (concat!($prefix, "up"), |a, _| Ok(a[0].clone())),
            (concat!($prefix, "um"), |a, _| fit(a[0].$get().checked_neg(), $name).map(Value::$variant)),
            (concat!($prefix, "abs"), |a, _| fit(a[0].$get().checked_abs(), $name).map(Value::$variant)),
            (concat!($prefix, "mod"), |a, _| match a[1].$get() {
                0 => Err(division_by_zero()),
                divisor => Ok(Value::$variant(a[0].$get().wrapping_rem(divisor))),
            }),
            (concat!($prefix, "and"), |a, _| Ok(Value::$variant(a[0].$get() & a[1].$get()))),
            (concat!($prefix, "or"), |a, _| Ok(Value::$variant(a[0].$get() | a[1].$get()))),
            (concat!($prefix, "xor"), |a, _| Ok(Value::$variant(a[0].$get() ^ a[1].$get()))),
            (concat!($prefix, "not"), |a, _| Ok(Value::$variant(!a[0].$get()))),
            (concat!($prefix, "shl"), |a, _| {
                let places = a[1].as_int4().cast_unsigned();
                Ok(Value::$variant(<$shift>::from(a[0].$get()).wrapping_shl(places) as $type))
            }),
            (concat!($prefix, "shr"), |a, _| {
                let places = a[1].as_int4().cast_unsigned();
                Ok(Value::$variant(<$shift>::from(a[0].$get()).wrapping_shr(places) as $type))
            }),
        )*];
    };
}

of_one_type! {
    "int2" as_int2 Int2 i16, i32, "smallint";
    "int4" as_int4 Int4 i32, i32, "integer";
    "int8" as_int8 Int8 i64, i64, "bigint";
}

/// Divisors, multiples and what else only the wider types have.
pub const DIVISORS: Implementations = &[
    ("int4gcd", |a, _| int4(divisor_of(a[0].as_int4().into(), a[1].as_int4().into()))),
    ("int8gcd", |a, _| int8(divisor_of(a[0].as_int8().into(), a[1].as_int8().into()))),
    ("int4lcm", |a, _| int4(multiple_of(a[0].as_int4().into(), a[1].as_int4().into()))),
    ("int8lcm", |a, _| int8(multiple_of(a[0].as_int8().into(), a[1].as_int8().into()))),
    ("int4inc", |a, _| fit(a[0].as_int4().checked_add(1), "integer").map(Value::Int4)),
    ("int8inc", |a, _| fit(a[0].as_int8().checked_add(1), "bigint").map(Value::Int8)),
    ("int8dec", |a, _| fit(a[0].as_int8().checked_sub(1), "bigint").map(Value::Int8)),
    ("to_hex32", |a, _| Ok(Value::text(format!("{:x}", a[0].as_int4())))),
    ("to_hex64", |a, _| Ok(Value::text(format!("{:x}", a[0].as_int8())))),
];

fn int4(value: i128) -> Result<Value, SqlError> {
    fit(i32::try_from(value).ok(), "integer").map(Value::Int4)
}

fn int8(value: i128) -> Result<Value, SqlError> {
    fit(i64::try_from(value).ok(), "bigint").map(Value::Int8)
}

/// The greatest common divisor of integers of 64 bits; 0 of two zeros.
fn divisor_of(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The least common multiple of integers of 64 bits; 0 if one is 0.
fn multiple_of(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 { 0 } else { (a / divisor_of(a, b) * b).abs() }
}
