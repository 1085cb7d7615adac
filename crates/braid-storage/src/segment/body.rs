//! The values of a segment, parsed but still encoded: which codecs hold which physical types.
//!
//! | physical type | codecs |
//! |---|---|
//! | bool | constant, plain (a bitmap) |
//! | int; int128 when narrowed | constant, frame of reference, delta, dictionary, run length |
//! | int128, interval | constant, plain, dictionary (sixteen bytes) |
//! | float32, float64 | constant, ALP; of the bits: frame of reference, delta, dictionary, run length |
//! | bytes | constant, plain, dictionary, FSST |
//!
//! A constant's section: nothing when all rows are null; padding to 8 bytes and an i64 (bool: 0 or 1; floats: their
//! bits) or 16 bytes; for bytes, padding to 4 bytes, the length as u32, and the bytes.

use arrow::datatypes::{DataType, IntervalMonthDayNano};
use bytes::Bytes;

use super::SegmentError;
use super::header::Header;
use super::string_column::StringColumn;
use crate::codec::alp::AlpFloats;
use crate::codec::integers::Integers;
use crate::codec::sixteen_bytes::SixteenBytes;
use crate::codec::{Codec, bitmap};
use crate::sections::{SectionReader, SectionWriter, check_equal, check_limit};
use crate::{ColumnType, PhysicalType, Scalar};

/// The values of a segment.
#[derive(Debug)]
pub(crate) enum Body {
    Constant(Constant),
    /// Integers, narrowed wide integers, or the bits of floats.
    Integers(Integers),
    Floats32(AlpFloats<f32>),
    Floats64(AlpFloats<f64>),
    /// Booleans.
    Bits(Bytes),
    /// Wide integers, or intervals.
    SixteenBytes(SixteenBytes),
    Strings(StringColumn),
}

/// The one value of a constant segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Constant {
    /// All rows are null.
    Null,
    /// An integer; a boolean as 0 or 1; a float's bits.
    Integer(i64),
    /// A wide integer; an interval's bytes.
    SixteenBytes(i128),
    /// A string.
    Bytes(Vec<u8>),
}

impl Body {
    /// Reads and checks the codec's sections.
    pub(crate) fn parse(
        header: &Header,
        column_type: ColumnType,
        reader: &mut SectionReader,
    ) -> Result<Self, SegmentError> {
        let (codec, count, physical) = (header.codec, header.row_count, column_type.physical());
        let all_null = header.null_count == header.row_count;
        check_equal("the constant codec", u64::from(all_null && codec != Codec::Constant), 0)?;
        if codec == Codec::Constant {
            return Constant::parse(header, column_type, reader).map(Self::Constant);
        }
        let integers = |reader: &mut SectionReader| {
            Integers::parse(codec, reader, count).map(|integers| integers.map(Self::Integers))
        };
        let parsed = match physical {
            PhysicalType::Bool if codec == Codec::Plain => {
                Some(reader.take("bitmap", count.div_ceil(8) as u64).map(Self::Bits))
            }
            PhysicalType::Bool => None,
            PhysicalType::Int => integers(reader),
            PhysicalType::Int128 if header.narrowed => integers(reader),
            PhysicalType::Int128 | PhysicalType::Interval => {
                SixteenBytes::parse(codec, reader, count).map(|values| values.map(Self::SixteenBytes))
            }
            PhysicalType::Float32 if codec == Codec::Alp => Some(AlpFloats::parse(reader, count).map(Self::Floats32)),
            PhysicalType::Float64 if codec == Codec::Alp => Some(AlpFloats::parse(reader, count).map(Self::Floats64)),
            PhysicalType::Float32 | PhysicalType::Float64 => integers(reader),
            PhysicalType::Bytes => StringColumn::parse(codec, reader, count, is_text(column_type))
                .map(|strings| strings.map(Self::Strings)),
        };
        parsed.unwrap_or(Err(SegmentError::Codec { code: codec.code(), physical }))
    }

    /// The value that the codec holds for a row.
    pub(crate) fn value(&self, row: usize, physical: PhysicalType) -> Option<Scalar> {
        const VECTOR_ROWS: usize = braid_base::VECTOR_ROWS;
        Some(match self {
            Self::Constant(constant) => return constant.scalar(physical),
            Self::Integers(integers) => scalar_of_integer(integers.get(row), physical),
            Self::Floats32(floats) => Scalar::Float(floats.get(row / VECTOR_ROWS, row % VECTOR_ROWS).into()),
            Self::Floats64(floats) => Scalar::Float(floats.get(row / VECTOR_ROWS, row % VECTOR_ROWS)),
            Self::Bits(bits) => Scalar::Bool(bitmap::bit(bits, row)),
            Self::SixteenBytes(values) => scalar_of_sixteen_bytes(values.get(row), physical),
            Self::Strings(strings) => Scalar::Bytes(strings.get(row)),
        })
    }
}

impl Constant {
    fn parse(header: &Header, column_type: ColumnType, reader: &mut SectionReader) -> Result<Self, SegmentError> {
        if header.null_count == header.row_count {
            return Ok(Self::Null);
        }
        match column_type.physical() {
            PhysicalType::Interval => Self::parse_sixteen_bytes(reader),
            PhysicalType::Int128 if !header.narrowed => Self::parse_sixteen_bytes(reader),
            PhysicalType::Bytes => {
                reader.align(4)?;
                let len = reader.u32("the constant's length", u32::MAX)?;
                let bytes = reader.take("constant", u64::from(len))?;
                if is_text(column_type) && std::str::from_utf8(&bytes).is_err() {
                    return Err(SegmentError::Utf8 { section: "constant" });
                }
                Ok(Self::Bytes(bytes.to_vec()))
            }
            physical => {
                reader.align(8)?;
                let value = i64::from_le_bytes(reader.array("constant")?);
                let limit = if physical == PhysicalType::Bool { 1 } else { u64::MAX };
                check_limit("the constant", value as u64, limit)?;
                Ok(Self::Integer(value))
            }
        }
    }

    fn parse_sixteen_bytes(reader: &mut SectionReader) -> Result<Self, SegmentError> {
        reader.align(8)?;
        Ok(Self::SixteenBytes(i128::from_le_bytes(reader.array("constant")?)))
    }

    /// Writes the section that [`Body::parse`] reads.
    pub(crate) fn write(&self, writer: &mut SectionWriter) {
        match self {
            Self::Null => {}
            Self::Integer(value) => {
                writer.align(8);
                writer.put_u64(*value as u64);
            }
            Self::SixteenBytes(value) => {
                writer.align(8);
                writer.put(&value.to_le_bytes());
            }
            Self::Bytes(bytes) => {
                writer.align(4);
                writer.put_u32(bytes.len() as u32);
                writer.put(bytes);
            }
        }
    }

    /// The value; `None` for null.
    pub(crate) fn scalar(&self, physical: PhysicalType) -> Option<Scalar> {
        match self {
            Self::Null => None,
            Self::Integer(value) => Some(scalar_of_integer(*value, physical)),
            Self::SixteenBytes(value) => Some(scalar_of_sixteen_bytes(*value, physical)),
            Self::Bytes(bytes) => Some(Scalar::Bytes(bytes.clone())),
        }
    }
}

/// Whether the column's strings must be UTF-8.
pub(crate) fn is_text(column_type: ColumnType) -> bool {
    column_type.arrow() == DataType::Utf8View
}

fn scalar_of_integer(value: i64, physical: PhysicalType) -> Scalar {
    match physical {
        PhysicalType::Bool => Scalar::Bool(value != 0),
        PhysicalType::Int128 => Scalar::Int128(value.into()),
        PhysicalType::Float32 => Scalar::Float(f32::from_bits(value as u32).into()),
        PhysicalType::Float64 => Scalar::Float(f64::from_bits(value as u64)),
        PhysicalType::Int | PhysicalType::Bytes | PhysicalType::Interval => Scalar::Int(value),
    }
}

/// The scalar of a wide integer, or of an interval.
pub(crate) fn scalar_of_sixteen_bytes(value: i128, physical: PhysicalType) -> Scalar {
    if physical == PhysicalType::Interval {
        let interval = interval_of(value);
        Scalar::Interval(interval.months, interval.days, interval.nanoseconds)
    } else {
        Scalar::Int128(value)
    }
}

/// Sixteen bytes of an interval: months i32, days i32, nanoseconds i64.
pub(crate) fn sixteen_bytes_of(interval: IntervalMonthDayNano) -> i128 {
    let low = u64::from(interval.months as u32) | u64::from(interval.days as u32) << 32;
    i128::from(interval.nanoseconds) << 64 | i128::from(low)
}

/// The interval of sixteen bytes.
pub(crate) fn interval_of(value: i128) -> IntervalMonthDayNano {
    IntervalMonthDayNano { months: value as i32, days: (value >> 32) as i32, nanoseconds: (value >> 64) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_sixteen_bytes_and_back() {
        for (months, days, nanoseconds) in [(0, 0, 0), (-1, 2, -3), (i32::MIN, i32::MAX, i64::MIN), (7, -1, i64::MAX)] {
            let interval = IntervalMonthDayNano { months, days, nanoseconds };
            let bytes = sixteen_bytes_of(interval).to_le_bytes();
            assert_eq!(bytes[..4], months.to_le_bytes());
            assert_eq!(bytes[4..8], days.to_le_bytes());
            assert_eq!(bytes[8..], nanoseconds.to_le_bytes());
            assert_eq!(interval_of(i128::from_le_bytes(bytes)), interval);
        }
    }
}
