//! Which vectors hold the values of a type.

use arrow::datatypes::DataType;
use braid_sql::pg_catalog::TypeId;

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
    /// Bytes, ordered as such.
    Bytes,
    /// Values as [bytes](super::codec), which say nothing of equality and order.
    Encoded,
}

impl Form {
    /// The form of a type's values.
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
            TypeId::TEXT | TypeId::VARCHAR | TypeId::BPCHAR | TypeId::NAME | TypeId::UNKNOWN => Self::Text,
            TypeId::BYTEA | TypeId::UUID => Self::Bytes,
            _ => Self::Encoded,
        }
    }

    /// Whether the vectors' values are equal, and ordered, as those of the type are.
    pub fn is_compared_directly(id: TypeId) -> bool {
        // The blanks at the end of char(n) mean nothing.
        Self::of(id) != Self::Encoded && id != TypeId::BPCHAR
    }

    /// The arrays that vectors of this form are made of.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8View,
            Self::Bytes | Self::Encoded => DataType::BinaryView,
        }
    }
}
