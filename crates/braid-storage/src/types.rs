//! The SQL types of columns, each with its Arrow form (what operators see) and its physical form (what codecs see).
//!
//! | SQL | Arrow | physical |
//! |---|---|---|
//! | boolean | Boolean | Bool |
//! | smallint, integer, bigint | Int16, Int32, Int64 | Int |
//! | real, double precision | Float32, Float64 | Float |
//! | numeric(p, s), p <= 18 | Decimal128(p, s) | Int (unscaled) |
//! | numeric(p, s), p <= 38 | Decimal128(p, s) | Int128 (unscaled) |
//! | text, varchar, varchar(n), char(n), name | Utf8View | Bytes |
//! | date | Date32 | Int (days since 1970-01-01) |
//! | time | Time64(us) | Int (microseconds since midnight) |
//! | timestamp | Timestamp(us) | Int (microseconds since 1970-01-01) |
//! | timestamptz | Timestamp(us, UTC) | Int |
//! | interval | Interval(MonthDayNano) | Interval |
//! | bytea | BinaryView | Bytes |
//! | uuid | FixedSizeBinary(16) | Bytes |
//! | an enumerated type | Int64 | Int (the keys of labels) |
//! | any other | BinaryView | Bytes, which say nothing of equality and order; numerics of one scale in a chunk: Int128 |

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use braid_base::EnumTypeRef;

/// Precision up to which a numeric is stored and computed as a 64-bit integer: 10^18 - 1 < 2^63.
pub const NUMERIC_64_PRECISION_MAX: u8 = 18;

/// Largest precision of a numeric: 10^38 - 1 < 2^127.
pub const NUMERIC_PRECISION_MAX: u8 = 38;

/// PostgreSQL's oid of `numeric`.
pub const NUMERIC_OID: u32 = 1700;

/// Field metadata that carries a column's SQL type where Arrow's type says less: `varchar(10)`, `char(3)`.
pub const SQL_TYPE_KEY: &str = "braid.type";

/// A column's SQL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// `boolean`
    Boolean,
    /// `smallint`: 16-bit
    SmallInt,
    /// `integer`: 32-bit
    Integer,
    /// `bigint`: 64-bit
    BigInt,
    /// `real`: 32-bit IEEE 754
    Real,
    /// `double precision`: 64-bit IEEE 754
    Double,
    /// `numeric(precision, scale)`: `1 <= precision <= 38`, `0 <= scale <= precision`
    Numeric {
        /// Decimal digits in all.
        precision: u8,
        /// Decimal digits after the point.
        scale: u8,
    },
    /// `text`
    Text,
    /// `varchar(n)`, n in characters
    Varchar(u32),
    /// `varchar` without a limit: text but for its name
    UnlimitedVarchar,
    /// `char(n)`, n in characters; stored without trailing blanks
    Char(u32),
    /// `name`: text of at most 63 bytes
    Name,
    /// `date`
    Date,
    /// `time` without time zone, microseconds since midnight, 24:00 included
    Time,
    /// `timestamp` without time zone, microseconds
    Timestamp,
    /// `timestamp with time zone`, microseconds UTC
    TimestampTz,
    /// `time(digits)`: digits of a second, at most 6
    RoundedTime(u8),
    /// `timestamp(digits)`: digits of a second, at most 6
    RoundedTimestamp(u8),
    /// `timestamptz(digits)`: digits of a second, at most 6
    RoundedTimestampTz(u8),
    /// `interval`: months, days and nanoseconds
    Interval,
    /// `bytea`
    Bytea,
    /// `uuid`
    Uuid,
    /// An enumerated type: keys of labels, which are ordered as the labels are
    Enum(EnumTypeRef),
    /// Values of any other type, as bytes that only the front end reads. Values may be equal and their bytes not.
    Encoded {
        /// PostgreSQL's oid of the type.
        type_oid: u32,
        /// Its modifier, such as a length; -1 for none.
        modifier: i32,
    },
}

/// How values lie in a segment, independently of their SQL type. Codecs, zone maps and predicates know only this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// one bit
    Bool,
    /// signed integer of at most 64 bits
    Int,
    /// signed integer of at most 128 bits
    Int128,
    /// 32-bit float
    Float32,
    /// 64-bit float
    Float64,
    /// a string of bytes
    Bytes,
    /// months i32, days i32, nanoseconds i64; equality only
    Interval,
}

impl ColumnType {
    /// The Arrow type that scans of such a column produce.
    pub fn arrow(self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::SmallInt => DataType::Int16,
            Self::Integer => DataType::Int32,
            Self::BigInt | Self::Enum(_) => DataType::Int64,
            Self::Real => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Numeric { precision, scale } => DataType::Decimal128(precision, scale as i8),
            Self::Text | Self::Varchar(_) | Self::UnlimitedVarchar | Self::Char(_) | Self::Name => DataType::Utf8View,
            Self::Date => DataType::Date32,
            Self::Time | Self::RoundedTime(_) => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp | Self::RoundedTimestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampTz | Self::RoundedTimestampTz(_) => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC")))
            }
            Self::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::Bytea | Self::Encoded { .. } => DataType::BinaryView,
            Self::Uuid => DataType::FixedSizeBinary(16),
        }
    }

    /// An Arrow field of this type, with the SQL type in its metadata where Arrow's type does not say it.
    pub fn field(self, name: &str, nullable: bool) -> Field {
        let field = Field::new(name, self.arrow(), nullable);
        match self {
            Self::Varchar(n) => field.with_metadata(sql_type(format!("varchar({n})"))),
            Self::Char(n) => field.with_metadata(sql_type(format!("char({n})"))),
            Self::UnlimitedVarchar => field.with_metadata(sql_type("varchar".to_owned())),
            Self::RoundedTime(digits) => field.with_metadata(sql_type(format!("time({digits})"))),
            Self::RoundedTimestamp(digits) => field.with_metadata(sql_type(format!("timestamp({digits})"))),
            Self::RoundedTimestampTz(digits) => field.with_metadata(sql_type(format!("timestamptz({digits})"))),
            Self::Name => field.with_metadata(sql_type("name".to_owned())),
            Self::Enum(enum_type) => field.with_metadata(sql_type(format!("enum({})", enum_type.oid()))),
            Self::Encoded { type_oid, modifier } => {
                field.with_metadata(sql_type(format!("encoded({type_oid},{modifier})")))
            }
            _ => field,
        }
    }

    /// How values of this type lie in segments.
    pub fn physical(self) -> PhysicalType {
        match self {
            Self::Boolean => PhysicalType::Bool,
            Self::SmallInt
            | Self::Integer
            | Self::BigInt
            | Self::Enum(_)
            | Self::Date
            | Self::Time
            | Self::Timestamp
            | Self::TimestampTz
            | Self::RoundedTime(_)
            | Self::RoundedTimestamp(_)
            | Self::RoundedTimestampTz(_) => PhysicalType::Int,
            Self::Numeric { precision, .. } if precision <= NUMERIC_64_PRECISION_MAX => PhysicalType::Int,
            Self::Numeric { .. } => PhysicalType::Int128,
            Self::Real => PhysicalType::Float32,
            Self::Double => PhysicalType::Float64,
            Self::Text
            | Self::Varchar(_)
            | Self::UnlimitedVarchar
            | Self::Char(_)
            | Self::Name
            | Self::Bytea
            | Self::Uuid
            | Self::Encoded { .. } => PhysicalType::Bytes,
            Self::Interval => PhysicalType::Interval,
        }
    }

    /// Whether it is a numeric without a precision, or one too large or with too many digits for integers of 128 bits.
    pub fn is_encoded_numeric(self) -> bool {
        matches!(self, Self::Encoded { type_oid: NUMERIC_OID, .. })
    }

    /// Whether values are equal where their stored forms are, and only there.
    pub fn is_compared_as_stored(self) -> bool {
        match self.physical() {
            // -0 equals 0, and a month 30 days.
            PhysicalType::Float32 | PhysicalType::Float64 | PhysicalType::Interval => false,
            PhysicalType::Bytes => !matches!(self, Self::Encoded { .. }),
            PhysicalType::Bool | PhysicalType::Int | PhysicalType::Int128 => true,
        }
    }
}

fn sql_type(name: String) -> HashMap<String, String> {
    HashMap::from([(SQL_TYPE_KEY.to_owned(), name)])
}

impl fmt::Display for ColumnType {
    /// PostgreSQL's name of the type; of others its oid.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::SmallInt => f.write_str("smallint"),
            Self::Integer => f.write_str("integer"),
            Self::BigInt => f.write_str("bigint"),
            Self::Real => f.write_str("real"),
            Self::Double => f.write_str("double precision"),
            Self::Numeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            Self::Text => f.write_str("text"),
            Self::Varchar(n) => write!(f, "character varying({n})"),
            Self::Char(n) => write!(f, "character({n})"),
            Self::UnlimitedVarchar => f.write_str("character varying"),
            Self::Name => f.write_str("name"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time without time zone"),
            Self::Timestamp => f.write_str("timestamp without time zone"),
            Self::TimestampTz => f.write_str("timestamp with time zone"),
            Self::RoundedTime(digits) => write!(f, "time({digits}) without time zone"),
            Self::RoundedTimestamp(digits) => write!(f, "timestamp({digits}) without time zone"),
            Self::RoundedTimestampTz(digits) => write!(f, "timestamp({digits}) with time zone"),
            Self::Interval => f.write_str("interval"),
            Self::Bytea => f.write_str("bytea"),
            Self::Uuid => f.write_str("uuid"),
            Self::Enum(EnumTypeRef::Open(id)) => f.write_str(&id.definition().name),
            Self::Enum(EnumTypeRef::Stored(oid)) => write!(f, "the enumerated type with oid {oid}"),
            Self::Encoded { type_oid, .. } => write!(f, "the type with oid {type_oid}"),
        }
    }
}
