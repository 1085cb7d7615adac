//! What can be wrong with a segment or with the rows that should become one.

use arrow::datatypes::DataType;

use crate::{ColumnType, PhysicalType};

/// Largest sum of the values' bytes in one segment: 1 GiB. A writer cuts chunks of long strings before they reach it.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Why rows could not be encoded or bytes are no segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The array to encode is not of the column's type.
    #[error("the rows are of Arrow type {found}, but a column of type {column_type} takes {expected}")]
    ArrowType {
        /// The column's type.
        column_type: ColumnType,
        /// Its Arrow form.
        expected: DataType,
        /// What was given.
        found: DataType,
    },
    /// Too few or too many rows for one segment.
    #[error("a segment holds 1 to {limit} rows, not {rows}")]
    RowCount {
        /// Rows given or read.
        rows: usize,
        /// [`braid_base::CHUNK_ROWS`].
        limit: usize,
    },
    /// The values of one segment take too many bytes.
    #[error("the values of a segment take {bytes} bytes, above the limit of {limit} bytes")]
    TooLarge {
        /// Bytes of all values.
        bytes: u64,
        /// [`SEGMENT_BYTES_MAX`].
        limit: u64,
    },
    /// A numeric that its column cannot hold.
    #[error("row {row} holds a numeric with unscaled value {value}, which does not fit a column of type {column_type}")]
    Numeric {
        /// Row of the array.
        row: usize,
        /// Unscaled value.
        value: i128,
        /// The column's type.
        column_type: ColumnType,
    },
    /// The bytes do not begin like a segment.
    #[error("the segment begins with {found:#010x}, not with {expected:#010x}")]
    Magic {
        /// The first four bytes, little-endian.
        found: u32,
        /// What they must be.
        expected: u32,
    },
    /// A later version of the format.
    #[error("the segment has format version {found}; this program reads version {expected}")]
    Version {
        /// Version read.
        found: u8,
        /// Version understood.
        expected: u8,
    },
    /// The segment holds another physical type than the column.
    #[error(
        "the segment holds values of physical type code {found}, but the column is of type {column_type} ({expected:?})"
    )]
    PhysicalType {
        /// The column's type.
        column_type: ColumnType,
        /// Its physical type.
        expected: PhysicalType,
        /// Code read.
        found: u8,
    },
    /// No such codec, or not for values of this type.
    #[error("codec code {code} does not hold values of physical type {physical:?}")]
    Codec {
        /// Code read.
        code: u8,
        /// Physical type of the column.
        physical: PhysicalType,
    },
    /// The segment ends before what it promises.
    #[error("the {section} at byte {offset} takes {wanted} bytes, but the segment has only {len} bytes")]
    Truncated {
        /// What lies there.
        section: &'static str,
        /// Where it begins, in bytes.
        offset: usize,
        /// Bytes it should have.
        wanted: u64,
        /// Bytes of the segment.
        len: usize,
    },
    /// A field has a value that cannot be.
    #[error("{field} is {value}, above the limit of {limit}")]
    Field {
        /// The field.
        field: &'static str,
        /// Value read.
        value: u64,
        /// Largest possible value.
        limit: u64,
    },
    /// Two fields contradict each other.
    #[error("{field} is {value}, but the rest of the segment says {expected}")]
    Mismatch {
        /// The field.
        field: &'static str,
        /// Value read.
        value: u64,
        /// Value that fits.
        expected: u64,
    },
    /// Text that is not UTF-8.
    #[error("the text of the segment's {section} is not UTF-8")]
    Utf8 {
        /// Where the text lies.
        section: &'static str,
    },
}
