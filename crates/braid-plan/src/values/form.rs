//! Which vectors hold the values of a type.

use arrow::datatypes::DataType;
use braid_sql::pg_catalog::TypeId;
use braid_storage::ColumnType;

/// What the vectors of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Booleans.
    Bool,
    /// Integers; dates, times and instants as they are counted.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Texts, ordered by their bytes.
    Text,
    /// Texts of `char(n)` without the blanks at their ends, ordered by their bytes.
    Unpadded {
        /// Characters with them.
        length: u32,
    },
    /// Bytes, ordered as such.
    Bytes,
    /// Intervals as [16 bytes](braid_exec::values::intervals), which say nothing of equality and order.
    Interval,
    /// Values as [bytes](super::codec), which say nothing of equality and order.
    Encoded,
    /// Numerics that all show `scale` digits after the point, as integers: `1.50` is 150. None is NaN or infinite.
    Fixed {
        /// All integers have at most as many digits, or 128 bits where this is [`UNBOUNDED_DIGITS`].
        digits: u8,
        /// Digits after the point, at most [`DIGITS_MAX`].
        scale: u8,
    },
}

/// Digits that every integer of 128 bits has room for.
pub const DIGITS_MAX: u8 = 38;

/// Digits of integers that are only known to have 128 bits.
pub const UNBOUNDED_DIGITS: u8 = DIGITS_MAX + 1;

impl Form {
    /// The form that any value of a type has.
    pub fn of(id: TypeId) -> Self {
        match id {
            TypeId::BOOL => Self::Bool,
            TypeId::INT2
            | TypeId::INT4
            | TypeId::INT8
            | TypeId::DATE
            | TypeId::TIME
            | TypeId::TIMESTAMP
            | TypeId::TIMESTAMPTZ => Self::Integer,
            TypeId::FLOAT4 | TypeId::FLOAT8 => Self::Float,
            TypeId::TEXT | TypeId::VARCHAR | TypeId::BPCHAR | TypeId::NAME | TypeId::UNKNOWN | TypeId::PG_NODE_TREE => {
                Self::Text
            }
            TypeId::BYTEA | TypeId::UUID => Self::Bytes,
            TypeId::INTERVAL => Self::Interval,
            // Keys of labels, which are ordered as the labels are.
            TypeId::ANYENUM => Self::Integer,
            id if id.enum_type().is_some() => Self::Integer,
            _ => Self::Encoded,
        }
    }

    /// The form of a stored column.
    pub fn of_column(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Boolean => Self::Bool,
            ColumnType::SmallInt
            | ColumnType::Integer
            | ColumnType::BigInt
            | ColumnType::Enum(_)
            | ColumnType::Date
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::RoundedTime(_)
            | ColumnType::RoundedTimestamp(_)
            | ColumnType::RoundedTimestampTz(_) => Self::Integer,
            ColumnType::Real | ColumnType::Double => Self::Float,
            ColumnType::Numeric { precision, scale } => Self::Fixed { digits: precision, scale },
            ColumnType::Text | ColumnType::Varchar(_) | ColumnType::UnlimitedVarchar | ColumnType::Name => Self::Text,
            ColumnType::Char(length) => Self::Unpadded { length },
            ColumnType::Bytea | ColumnType::Uuid => Self::Bytes,
            ColumnType::Interval => Self::Interval,
            ColumnType::Encoded { .. } => Self::Encoded,
        }
    }

    /// Whether the vectors' values are equal, and ordered, as those of the type are.
    pub fn is_compared_directly(id: TypeId) -> bool {
        // The blanks at the end of char(n) mean nothing.
        !matches!(Self::of(id), Self::Encoded | Self::Interval) && id != TypeId::BPCHAR
    }

    /// The arrays that vectors of this form are made of.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text | Self::Unpadded { .. } => DataType::Utf8View,
            Self::Bytes | Self::Interval | Self::Encoded => DataType::BinaryView,
            Self::Fixed { scale, .. } => DataType::Decimal128(DIGITS_MAX, scale as i8),
        }
    }
}
