//! Column segments: the rows of one column of one chunk, encoded. The unit of disk I/O and of buffering.
//!
//! | module | what lives there |
//! |---|---|
//! | `header` | the first bytes of every segment, the validity bitmap |
//! | `body` | which codecs hold which types; constants |
//! | `string_column`, `byte_views` | strings, and Arrow's views of them |
//! | `encode`, `column_values`, `bounds` | rows to segments: values from Arrow, zone maps, the choice of codec |
//! | `constant` | segments of one value |
//! | `encoded_numerics` | numerics without a precision, as integers and as bytes |
//! | `prepared_predicate` | predicates translated for a segment, filters |
//! | `gather` | selected rows as Arrow arrays |
//! | `physical` | selected rows as 64-bit integers, dictionary codes or bytes |
//!
//! Life of a segment: [`encode_segment`] makes bytes; [`Segment::open`] parses and validates them once per load; scans
//! then filter and gather vector by vector, as often as they like, and nothing is ever decoded that they do not ask
//! for.
//!
//! Invariant: what [`Segment::open`] accepted can be filtered, gathered and read in any way without panic, whatever
//! bytes it was made of. Widths, offsets, codes, run lengths and string boundaries are checked there, and text is known
//! to be UTF-8. It does not check values against each other beyond that (a corrupt reference gives corrupt numbers):
//! that is the checksum's part.

mod body;
mod bounds;
mod byte_views;
mod column_values;
mod constant;
mod encode;
mod encoded_numerics;
mod gather;
mod header;
mod physical;
mod prepared_predicate;
mod string_column;
#[cfg(test)]
mod tests;

use braid_base::VECTOR_ROWS;
use braid_io::AlignedBuffer;
use bytes::Bytes;

pub(crate) use self::constant::encode_constant;
pub use self::encode::{EncodedSegment, encode_segment};
pub(crate) use self::encoded_numerics::as_declared;
pub use self::encoded_numerics::{NUMERIC_TAG, encoded_numerics};
pub(crate) use self::gather::SelectedVectors;
pub use self::prepared_predicate::PreparedPredicate;

use self::body::Body;
use self::header::Header;
use crate::codec::bit_packing::LANE_ALIGN_BYTES;
use crate::codec::{Codec, bitmap};
use crate::sections::SectionReader;
use crate::segment_error::{SEGMENT_BYTES_MAX, SegmentError};
use crate::{ColumnPredicate, ColumnType, Scalar, Selection};

/// An encoded segment in memory: parsed, validated, immutable.
#[derive(Debug)]
pub struct Segment {
    header: Header,
    body: Body,
    column_type: ColumnType,
    encoded_bytes: usize,
}

impl Segment {
    /// Parses and validates the bytes of a segment, without padding after it. Bytes that are not aligned to 8 in
    /// memory are copied.
    ///
    /// # Errors
    /// When the bytes are no segment of such a column.
    pub fn open(bytes: Bytes, column_type: ColumnType) -> Result<Self, SegmentError> {
        let encoded_bytes = bytes.len();
        let bytes = match bytes.as_ptr().addr().is_multiple_of(LANE_ALIGN_BYTES) {
            true => bytes,
            false => AlignedBuffer::from_slice(&bytes).into_bytes(),
        };
        let mut reader = SectionReader::new(bytes);
        let header = Header::parse(&mut reader, encoded_bytes, column_type)?;
        let body = Body::parse(&header, column_type, &mut reader)?;
        reader.finish()?;
        Ok(Self { header, body, column_type, encoded_bytes })
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.header.row_count
    }

    /// Number of vectors; all but the last have [`VECTOR_ROWS`] rows.
    pub fn vector_count(&self) -> usize {
        self.row_count().div_ceil(VECTOR_ROWS)
    }

    /// Rows of one vector. Panics when there is no such vector.
    pub fn vector_rows(&self, vector: usize) -> usize {
        assert!(vector < self.vector_count(), "vector {vector} of {}", self.vector_count());
        (self.row_count() - vector * VECTOR_ROWS).min(VECTOR_ROWS)
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.header.codec
    }

    /// Bytes of the segment as on disk, without padding.
    pub fn encoded_bytes(&self) -> usize {
        self.encoded_bytes
    }

    /// The type of its values.
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Number of nulls.
    pub fn null_count(&self) -> usize {
        self.header.null_count
    }

    /// Keeps in `selection` the rows of the vector that satisfy the predicate. For more than one vector of a segment,
    /// [`Self::prepare`] once.
    ///
    /// Panics when there is no such vector, or it has another number of rows than the selection.
    pub fn filter(&self, vector: usize, predicate: &ColumnPredicate, selection: &mut Selection) {
        self.filter_prepared(vector, &self.prepare(predicate), selection);
    }

    /// The value of one row; `None` for null. Panics when there is no such row.
    pub fn value(&self, row: usize) -> Option<Scalar> {
        assert!(row < self.row_count(), "row {row} of {}", self.row_count());
        if self.validity().is_some_and(|validity| !bitmap::bit(validity, row)) {
            return None;
        }
        self.body.value(row, self.column_type.physical())
    }

    /// The validity bitmap: present exactly when some rows are null and some are not.
    fn validity(&self) -> Option<&[u8]> {
        self.header.validity.as_deref()
    }

    fn body(&self) -> &Body {
        &self.body
    }
}
