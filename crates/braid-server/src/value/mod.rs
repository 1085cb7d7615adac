//! Values on the wire: Arrow arrays into DataRow bytes, parameters into values of one row, in PostgreSQL's text and binary forms.
//!
//! | module | contents |
//! |---|---|
//! | [`pg_type`] | the PostgreSQL type of an Arrow type |
//! | [`row_encoder`] | batches into DataRow messages |
//! | [`column`] | one column of a batch: the value of a row as text or binary |
//! | [`nested`] | lists as arrays, structs as records |
//! | [`parameter`], [`parameter_text`], [`parameter_binary`] | parameters in text and binary form into values |
//! | [`decimal_digits`], [`float_text`], [`numeric`], [`calendar`], [`interval`] | one family of types each |
//!
//! This room is synchronous, and knows neither sockets nor sessions.

pub(crate) mod calendar;
pub(crate) mod column;
pub(crate) mod decimal_digits;
pub(crate) mod float_text;
pub(crate) mod interval;
pub(crate) mod nested;
pub(crate) mod numeric;
pub(crate) mod parameter;
pub(crate) mod parameter_binary;
pub(crate) mod parameter_text;
pub(crate) mod pg_type;
pub(crate) mod row_encoder;

use arrow::error::ArrowError;

/// The form of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As `SELECT` prints it.
    Text,
    /// The type's own binary form.
    Binary,
}

impl Format {
    /// The format of value `at` in a list of codes. An empty list means text; a single code applies to all values.
    pub fn at(codes: &[i16], at: usize) -> Self {
        match codes.get(if codes.len() == 1 { 0 } else { at }) {
            Some(1) => Self::Binary,
            _ => Self::Text,
        }
    }

    /// The protocol's code.
    pub fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// The error of a value that cannot be sent or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    /// A text that is not a value of the type.
    #[error("invalid input syntax for type {pg_type}: \"{text}\"")]
    Syntax {
        /// PostgreSQL's name of the type.
        pg_type: &'static str,
        /// The received text.
        text: String,
    },
    /// A date or time that does not exist.
    #[error("date/time field value out of range: \"{text}\"")]
    DatetimeOutOfRange {
        /// The received text.
        text: String,
    },
    /// A number too large for its type.
    #[error("value \"{text}\" is out of range for type {pg_type}")]
    OutOfRange {
        /// PostgreSQL's name of the type.
        pg_type: &'static str,
        /// The received text.
        text: String,
    },
    /// Bytes that are not the binary form of the type.
    #[error("incorrect binary data format for type {pg_type}: {length} bytes")]
    Binary {
        /// PostgreSQL's name of the type.
        pg_type: &'static str,
        /// The number of bytes.
        length: usize,
    },
    /// Text that is not UTF-8.
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    NotUtf8,
    /// NaN or infinity as a numeric.
    #[error("numeric \"{text}\" is not supported: numeric parameters must be finite")]
    NotFinite {
        /// The received text.
        text: String,
    },
    /// A type that is not supported for parameters.
    #[error("parameters of type {name} are not supported")]
    UnsupportedParameter {
        /// The type, as far as it is known.
        name: String,
    },
    /// A value that is out of the range of its type on the wire.
    #[error("a value is out of range for the type it is sent as: {0}")]
    Unsendable(#[from] ArrowError),
    /// Inner lists of different lengths. PostgreSQL's arrays are rectangular.
    #[error("a multidimensional array needs lists of equal length in binary format")]
    RaggedArray,
    /// A result in binary format whose type has none here.
    #[error("results of the type with oid {oid} are not supported in binary format")]
    NoBinaryForm {
        /// `pg_type.oid`
        oid: u32,
    },
    /// A result whose type is not the one that was described.
    #[error("cached plan must not change result type")]
    ChangedType,
    /// A row that exceeds the length of a message.
    #[error("a row has {bytes} bytes; a message has at most 2147483647 bytes")]
    RowTooLong {
        /// Its length.
        bytes: usize,
    },
}

impl ValueError {
    /// The SQLSTATE.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Syntax {
                pg_type: "date" | "time" | "timestamp" | "timestamp with time zone" | "interval", ..
            } => "22007",
            Self::Syntax { .. } => "22P02",
            Self::DatetimeOutOfRange { .. } => "22008",
            Self::OutOfRange { .. } | Self::Unsendable(_) => "22003",
            Self::Binary { .. } => "22P03",
            Self::NotUtf8 => "22021",
            Self::NotFinite { .. }
            | Self::UnsupportedParameter { .. }
            | Self::NoBinaryForm { .. }
            | Self::ChangedType => "0A000",
            Self::RaggedArray => "2202E",
            Self::RowTooLong { .. } => "54000",
        }
    }
}
