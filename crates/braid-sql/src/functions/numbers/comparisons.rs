//! Comparisons of booleans, integers, floats, numerics and oids, of equal and of different types.
//!
//! NaN equals itself and is greater than every other number; 0 and -0 are equal.

use std::cmp::Ordering;

use crate::Value;
use crate::functions::Implementations;

/// SQL's order of doubles. A real is one without a rounding.
pub fn order_of_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The six operators of a pair of types, by their prefix, and the function that gives -1, 0 or 1.
macro_rules! comparisons {
    ($($prefix:literal $three_way:literal $order:expr;)*) => {
        /// The operators.
        pub const FUNCTIONS: Implementations = &[$(
            (concat!($prefix, "eq"), |a, _| Ok(Value::Bool($order(a).is_eq()))),
            (concat!($prefix, "ne"), |a, _| Ok(Value::Bool($order(a).is_ne()))),
            (concat!($prefix, "lt"), |a, _| Ok(Value::Bool($order(a).is_lt()))),
            (concat!($prefix, "le"), |a, _| Ok(Value::Bool($order(a).is_le()))),
            (concat!($prefix, "gt"), |a, _| Ok(Value::Bool($order(a).is_gt()))),
            (concat!($prefix, "ge"), |a, _| Ok(Value::Bool($order(a).is_ge()))),
        )*];

        /// The functions of B-trees.
        pub const THREE_WAY: Implementations = &[
            $(($three_way, |a, _| Ok(Value::Int4($order(a) as i32))),)*
            // These two give the difference.
            ("btint2cmp", |a, _| Ok(Value::Int4(i32::from(a[0].as_int2()) - i32::from(a[1].as_int2())))),
            ("btboolcmp", |a, _| Ok(Value::Int4(i32::from(a[0].as_bool()) - i32::from(a[1].as_bool())))),
        ];
    };
}

/// The two arguments in a type that holds both.
macro_rules! integers {
    ($left:ident $right:ident) => {
        |a: &[Value]| i64::from(a[0].$left()).cmp(&i64::from(a[1].$right()))
    };
}

macro_rules! floats {
    ($left:ident $right:ident) => {
        |a: &[Value]| order_of_floats(f64::from(a[0].$left()), f64::from(a[1].$right()))
    };
}

comparisons! {
    "int4" "btint4cmp" integers!(as_int4 as_int4);
    "int8" "btint8cmp" integers!(as_int8 as_int8);
    "int24" "btint24cmp" integers!(as_int2 as_int4);
    "int28" "btint28cmp" integers!(as_int2 as_int8);
    "int42" "btint42cmp" integers!(as_int4 as_int2);
    "int48" "btint48cmp" integers!(as_int4 as_int8);
    "int82" "btint82cmp" integers!(as_int8 as_int2);
    "int84" "btint84cmp" integers!(as_int8 as_int4);
    "oid" "btoidcmp" integers!(as_oid as_oid);
    "float4" "btfloat4cmp" floats!(as_float4 as_float4);
    "float8" "btfloat8cmp" floats!(as_float8 as_float8);
    "float48" "btfloat48cmp" floats!(as_float4 as_float8);
    "float84" "btfloat84cmp" floats!(as_float8 as_float4);
    "numeric_" "numeric_cmp" |a: &[Value]| a[0].as_numeric().compare(a[1].as_numeric());
}

/// The operators of the two types whose three-way functions are others.
macro_rules! operators {
    ($($prefix:literal $order:expr;)*) => {
        /// Operators of `smallint` and `boolean`.
        pub const DIFFERENCES: Implementations = &[$(
            (concat!($prefix, "eq"), |a, _| Ok(Value::Bool($order(a).is_eq()))),
            (concat!($prefix, "ne"), |a, _| Ok(Value::Bool($order(a).is_ne()))),
            (concat!($prefix, "lt"), |a, _| Ok(Value::Bool($order(a).is_lt()))),
            (concat!($prefix, "le"), |a, _| Ok(Value::Bool($order(a).is_le()))),
            (concat!($prefix, "gt"), |a, _| Ok(Value::Bool($order(a).is_gt()))),
            (concat!($prefix, "ge"), |a, _| Ok(Value::Bool($order(a).is_ge()))),
        )*];
    };
}

operators! {
    "int2" integers!(as_int2 as_int2);
    "bool" |a: &[Value]| a[0].as_bool().cmp(&a[1].as_bool());
}

/// Equality of transaction numbers, which have no order.
pub const OF_TRANSACTIONS: Implementations = &[
    ("xideq", |a, _| Ok(Value::Bool(transaction_number(&a[0]) == transaction_number(&a[1])))),
    ("xidneq", |a, _| Ok(Value::Bool(transaction_number(&a[0]) != transaction_number(&a[1])))),
];

/// A transaction's number, which an `integer` may give with its sign.
fn transaction_number(value: &Value) -> u32 {
    match value {
        Value::Int4(number) => number.cast_unsigned(),
        number => number.as_oid(),
    }
}

/// The larger and the smaller of two values of a type. Of equal ones it is the second.
macro_rules! extremes {
    ($($type:literal $order:expr;)*) => {
        /// `larger` and `smaller`.
        pub const EXTREMES: Implementations = &[$(
            (concat!($type, "larger"), |a, _| Ok(a[if $order(a).is_gt() { 0 } else { 1 }].clone())),
            (concat!($type, "smaller"), |a, _| Ok(a[if $order(a).is_lt() { 0 } else { 1 }].clone())),
        )*];
    };
}

extremes! {
    "int2" integers!(as_int2 as_int2);
    "int4" integers!(as_int4 as_int4);
    "int8" integers!(as_int8 as_int8);
    "oid" integers!(as_oid as_oid);
    "float4" floats!(as_float4 as_float4);
    "float8" floats!(as_float8 as_float8);
    "numeric_" |a: &[Value]| a[0].as_numeric().compare(a[1].as_numeric());
}
