//! A value of any type.
//!
//! A value does not know its SQL type: `text`, `varchar`, `char(n)`, `name`, `json` and `bit` are all texts, and the expression that gives
//! the value has the type. It stands for one constant, parameter or result; columns of values are arrays of Arrow.

use std::sync::Arc;

use super::array::ArrayValue;
use super::enum_value::EnumValue;
use super::interval::Interval;
use super::json::Jsonb;
use super::json_path::JsonPath;
use super::numeric::Numeric;
use super::record::RecordValue;

/// A value, or null.
///
/// `PartialEq` is equality of representations, for tests: `1.0` and `1.00` differ, NaN differs from itself. SQL's `=` is a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`
    Int2(i16),
    /// `integer`
    Int4(i32),
    /// `bigint`
    Int8(i64),
    /// `real`
    Float4(f32),
    /// `double precision`
    Float8(f64),
    /// `numeric`
    Numeric(Numeric),
    /// `text`, `varchar`, `name`, `json` and literals of unknown type; `char(n)` with its blanks; `bit` and `varbit` as digits.
    Text(Arc<str>),
    /// `"char"`: one byte.
    Char(u8),
    /// `bytea`
    Bytea(Arc<[u8]>),
    /// `date`: days since 1970-01-01; `i32::MAX` is `infinity`, `i32::MIN` is `-infinity`.
    Date(i32),
    /// `time`: microseconds since midnight; 24:00:00 is a time.
    Time(i64),
    /// `timetz`: microseconds since midnight, and seconds *west* of UTC, as PostgreSQL keeps it.
    TimeTz(i64, i32),
    /// `timestamp`: microseconds since 1970-01-01; `i64::MAX` is `infinity`, `i64::MIN` is `-infinity`.
    Timestamp(i64),
    /// `timestamptz`: microseconds since 1970-01-01 UTC; infinities as above.
    TimestampTz(i64),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid([u8; 16]),
    /// `oid`, `regclass` and its like.
    Oid(u32),
    /// An enumerated type.
    Enum(EnumValue),
    /// An array of any type.
    Array(Arc<ArrayValue>),
    /// `record`
    Record(Arc<RecordValue>),
    /// `jsonb`
    Jsonb(Arc<Jsonb>),
    /// `jsonpath`
    JsonPath(Arc<JsonPath>),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A jsonb.
    pub fn jsonb(value: Jsonb) -> Self {
        Self::Jsonb(value.into())
    }

    /// Whether there is no value.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// Methods that take the value of an argument out. The binder has checked types, so another variant is a bug of Braid.
macro_rules! accessors {
    ($($name:ident: $variant:ident($value:ident) => $result:ty, $take:expr, $doc:literal;)*) => {
        impl Value {
            $(
                #[doc = concat!($doc, ". Panics for a value of another type.")]
                pub fn $name(&self) -> $result {
                    match self {
                        Self::$variant($value) => $take,
                        other => panic!("{} of {other:?}", stringify!($name)),
                    }
                }
            )*
        }
    };
}

accessors! {
    as_bool: Bool(value) => bool, *value, "A boolean";
    as_int2: Int2(value) => i16, *value, "A smallint";
    as_int4: Int4(value) => i32, *value, "An integer";
    as_int8: Int8(value) => i64, *value, "A bigint";
    as_float4: Float4(value) => f32, *value, "A real";
    as_float8: Float8(value) => f64, *value, "A double precision";
    as_numeric: Numeric(value) => &Numeric, value, "A numeric";
    as_text: Text(value) => &str, value, "A text";
    as_char: Char(value) => u8, *value, "A \"char\"";
    as_bytea: Bytea(value) => &[u8], value, "A bytea";
    as_date: Date(value) => i32, *value, "A date";
    as_time: Time(value) => i64, *value, "A time";
    as_timestamp: Timestamp(value) => i64, *value, "A timestamp";
    as_timestamptz: TimestampTz(value) => i64, *value, "A timestamp with time zone";
    as_interval: Interval(value) => Interval, *value, "An interval";
    as_uuid: Uuid(value) => &[u8; 16], value, "A uuid";
    as_oid: Oid(value) => u32, *value, "An oid";
    as_enum: Enum(value) => EnumValue, *value, "A value of an enumerated type";
    as_array: Array(value) => &ArrayValue, value, "An array";
    as_record: Record(value) => &RecordValue, value, "A record";
    as_jsonb: Jsonb(value) => &Jsonb, value, "A jsonb";
    as_json_path: JsonPath(value) => &JsonPath, value, "A jsonpath";
}
