//! Values on the wire: Arrow arrays into DataRow bytes, in PostgreSQL's text and binary forms.
//!
//! | module | contents |
//! |---|---|
//! | [`pg_type`] | the PostgreSQL type of an Arrow type |
//! | [`row_encoder`] | batches into DataRow messages |
//! | [`column`] | one column of a batch: the value of a row as text or binary |
//! | [`nested`] | lists as arrays, structs as records |
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

/// The error of a value that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    /// A number too large for its type.
    #[error("value \"{text}\" is out of range for type {pg_type}")]
    OutOfRange {
        /// PostgreSQL's name of the type.
        pg_type: &'static str,
        /// The received text.
        text: String,
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
    /// Texts of a portal that was opened in other formats.
    #[error(
        "rows are not supported in other formats (DateStyle, IntervalStyle, bytea_output, extra_float_digits) than those \
         in which their cursor was opened"
    )]
    ChangedFormats,
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
            Self::OutOfRange { .. } | Self::Unsendable(_) => "22003",
            Self::NoBinaryForm { .. } | Self::ChangedType | Self::ChangedFormats => "0A000",
            Self::RaggedArray => "2202E",
            Self::RowTooLong { .. } => "54000",
        }
    }
}
