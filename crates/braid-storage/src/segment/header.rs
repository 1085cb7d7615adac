//! What every segment begins with, and the validity bitmap that may follow.
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 4 | magic: the characters `BRSG` |
//! | 4 | 1 | format version, 1 |
//! | 5 | 1 | codec: 0 constant, 1 frame of reference, 2 delta, 3 dictionary, 4 run length, 5 FSST, 6 ALP, 7 plain |
//! | 6 | 1 | physical type: 0 bool, 1 int, 2 int128, 3 float32, 4 float64, 5 bytes, 6 interval |
//! | 7 | 1 | flags: bit 0, a validity bitmap follows; bit 1, the values of an int128 column all fit 64 bits |
//! | 8 | 4 | rows, u32, 1 to 131 072 |
//! | 12 | 4 | nulls, u32 |
//! | 16 | 4 | bytes of the segment, u32, without padding after it |
//! | 20 | 4 | zero |
//! | 24 | ceil(rows / 8) | validity bitmap, if flagged: bit `r % 8` of byte `r / 8` is 1 when row r is not null |
//! | | | the codec's sections |
//!
//! A bitmap is there exactly when some rows are null and some are not. What a codec holds for a null row has no
//! meaning.

use braid_base::CHUNK_ROWS;
use bytes::Bytes;

use super::SegmentError;
use crate::codec::Codec;
use crate::sections::{SectionReader, SectionWriter, check_equal, check_limit};
use crate::{ColumnType, PhysicalType};

const MAGIC: u32 = u32::from_le_bytes(*b"BRSG");
const VERSION: u8 = 1;
const FLAG_VALIDITY: u8 = 1;
const FLAG_NARROWED: u8 = 2;
/// Where the segment's size stands, in bytes from its start.
const SEGMENT_BYTES_OFFSET: usize = 16;

/// The fixed fields of a segment and its validity bitmap.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) codec: Codec,
    pub(crate) row_count: usize,
    pub(crate) null_count: usize,
    /// Whether the values of a 128-bit column are stored as 64-bit integers.
    pub(crate) narrowed: bool,
    /// Present exactly when some rows are null and some are not.
    pub(crate) validity: Option<Bytes>,
}

impl Header {
    /// Reads and checks the header of a segment of `len` bytes of a column.
    pub(crate) fn parse(reader: &mut SectionReader, len: usize, column_type: ColumnType) -> Result<Self, SegmentError> {
        let physical = column_type.physical();
        let magic = u32::from_le_bytes(reader.array("magic")?);
        if magic != MAGIC {
            return Err(SegmentError::Magic { found: magic, expected: MAGIC });
        }
        let [version, codec, physical_code, flags] = reader.array("header")?;
        if version != VERSION {
            return Err(SegmentError::Version { found: version, expected: VERSION });
        }
        if physical_code != code_of(physical) {
            return Err(SegmentError::PhysicalType { column_type, expected: physical, found: physical_code });
        }
        let codec = Codec::from_code(codec).ok_or(SegmentError::Codec { code: codec, physical })?;
        let flags_max = if physical == PhysicalType::Int128 { FLAG_VALIDITY | FLAG_NARROWED } else { FLAG_VALIDITY };
        check_limit("the flags byte", u64::from(flags), u64::from(flags_max))?;
        let row_count = reader.u32("the number of rows", CHUNK_ROWS as u32)? as usize;
        if row_count == 0 {
            return Err(SegmentError::RowCount { rows: 0, limit: CHUNK_ROWS });
        }
        let null_count = reader.u32("the number of nulls", row_count as u32)? as usize;
        check_equal("the size of the segment", u64::from(reader.u32("size", u32::MAX)?), len as u64)?;
        check_equal("the reserved field", u64::from(reader.u32("reserved field", u32::MAX)?), 0)?;
        let has_validity = flags & FLAG_VALIDITY != 0;
        check_equal("the validity flag", has_validity.into(), (0 < null_count && null_count < row_count).into())?;
        let validity = match has_validity {
            true => Some(parse_validity(reader, row_count, null_count)?),
            false => None,
        };
        Ok(Self { codec, row_count, null_count, narrowed: flags & FLAG_NARROWED != 0, validity })
    }

    /// Writes the header; [`finish`] fills in the size.
    pub(crate) fn write(&self, physical: PhysicalType, writer: &mut SectionWriter) {
        let mut flags = if self.validity.is_some() { FLAG_VALIDITY } else { 0 };
        if self.narrowed {
            flags |= FLAG_NARROWED;
        }
        writer.put_u32(MAGIC);
        writer.put(&[VERSION, self.codec.code(), code_of(physical), flags]);
        writer.put_u32(self.row_count as u32);
        writer.put_u32(self.null_count as u32);
        writer.put_u32(0);
        writer.put_u32(0);
        if let Some(validity) = &self.validity {
            writer.put(validity);
        }
    }
}

/// Fills in the size of a finished segment.
pub(crate) fn finish(writer: SectionWriter) -> Vec<u8> {
    let mut bytes = writer.into_bytes();
    let len = u32::try_from(bytes.len()).expect("values of at most 1 GiB make segments of at most 2 GiB");
    bytes[SEGMENT_BYTES_OFFSET..SEGMENT_BYTES_OFFSET + 4].copy_from_slice(&len.to_le_bytes());
    bytes
}

fn parse_validity(reader: &mut SectionReader, row_count: usize, null_count: usize) -> Result<Bytes, SegmentError> {
    let bitmap = reader.take("validity bitmap", row_count.div_ceil(8) as u64)?;
    let ones: usize = bitmap.iter().map(|byte| byte.count_ones() as usize).sum();
    // Bits beyond the last row must be zero, or the count would not fit.
    let beyond = if row_count.is_multiple_of(8) { 0 } else { bitmap[bitmap.len() - 1] >> (row_count % 8) };
    check_equal("the validity bits beyond the last row", u64::from(beyond), 0)?;
    check_equal("the number of valid rows", ones as u64, (row_count - null_count) as u64)?;
    Ok(bitmap)
}

fn code_of(physical: PhysicalType) -> u8 {
    match physical {
        PhysicalType::Bool => 0,
        PhysicalType::Int => 1,
        PhysicalType::Int128 => 2,
        PhysicalType::Float32 => 3,
        PhysicalType::Float64 => 4,
        PhysicalType::Bytes => 5,
        PhysicalType::Interval => 6,
    }
}
