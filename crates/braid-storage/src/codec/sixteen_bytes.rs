//! Values of sixteen bytes: numerics that do not fit 64 bits, and intervals. As they are, or by dictionary.
//!
//! Bytes of the plain codec over `n` values: padding to 16 bytes, then 16 n bytes, little-endian.
//!
//! Bytes of the dictionary, after padding to 4 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 4 | number of values d, u32, 1 to n |
//! | 0..15 | padding to 16 bytes |
//! | 16 d | distinct values, ascending as 128-bit integers |
//! | | n codes, below d: packed integers |

use braid_base::VECTOR_ROWS;
use bytes::Bytes;

use super::Codec;
use super::dictionary::{Dictionary, matching_codes, parse_cardinality, parse_codes};
use super::frame_of_reference::PackedIntegers;
use super::integer_test::IntegerTest;
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter};
use crate::segment_error::SegmentError;

/// Bytes of a value.
const VALUE_BYTES: usize = size_of::<i128>();

/// A sequence of 128-bit values.
#[derive(Debug)]
pub(crate) enum SixteenBytes {
    Plain(Bytes),
    Dictionary { values: Bytes, codes: PackedIntegers },
}

impl SixteenBytes {
    /// Reads `count` values; `None` when the codec does not hold such values.
    pub(crate) fn parse(codec: Codec, reader: &mut SectionReader, count: usize) -> Option<Result<Self, SegmentError>> {
        match codec {
            Codec::Plain => Some(take_values(reader, count).map(Self::Plain)),
            Codec::Dictionary => Some(Self::parse_dictionary(reader, count)),
            _ => None,
        }
    }

    fn parse_dictionary(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        let cardinality = parse_cardinality(reader, count)?;
        let values = take_values(reader, cardinality)?;
        Ok(Self::Dictionary { values, codes: parse_codes(reader, count, cardinality)? })
    }

    /// The dictionary of `values`, if it saves an eighth.
    pub(crate) fn dictionary_of(values: &[i128]) -> Option<Dictionary<i128>> {
        let plain = values.len() * VALUE_BYTES;
        Dictionary::build(values, plain - plain / 8, |_| VALUE_BYTES)
    }

    /// Writes the sections of a dictionary, or of plain values without one.
    pub(crate) fn write(values: &[i128], dictionary: Option<&Dictionary<i128>>, writer: &mut SectionWriter) {
        let stored = match dictionary {
            Some(dictionary) => {
                writer.align(4);
                writer.put_u32(dictionary.values.len() as u32);
                &dictionary.values[..]
            }
            None => values,
        };
        writer.align(VALUE_BYTES);
        stored.iter().for_each(|value| writer.put(&value.to_le_bytes()));
        if let Some(dictionary) = dictionary {
            PackedIntegers::write(&dictionary.codes, writer);
        }
    }

    /// The value at `index`.
    pub(crate) fn get(&self, index: usize) -> i128 {
        match self {
            Self::Plain(values) => value_at(values, index),
            Self::Dictionary { values, codes } => value_at(values, codes.get(index) as usize),
        }
    }

    /// Appends what `make` makes of the selected values of a vector.
    pub(crate) fn gather<T>(
        &self,
        vector: usize,
        selection: &Selection,
        make: impl Fn(i128) -> T + Copy,
        out: &mut Vec<T>,
    ) {
        match self {
            Self::Plain(values) => {
                let values = &values[vector * VECTOR_ROWS * VALUE_BYTES..];
                out.extend(selection.iter().map(|row| make(value_at(values, row))));
            }
            Self::Dictionary { values, codes } => {
                let mut selected = Vec::with_capacity(selection.count());
                codes.gather::<i32>(vector, selection, &mut selected);
                out.extend(selected.iter().map(|&code| make(value_at(values, code as usize))));
            }
        }
    }

    /// With a dictionary, the test on its codes.
    pub(crate) fn prepare(&self, matches: impl Fn(i128) -> bool) -> Option<IntegerTest> {
        match self {
            Self::Plain(_) => None,
            Self::Dictionary { values, .. } => {
                let values = values.as_chunks().0.iter().map(|&bytes| i128::from_le_bytes(bytes));
                Some(matching_codes(values.map(matches)))
            }
        }
    }

    /// Keeps the rows of a vector whose code satisfies the test that [`Self::prepare`] gave.
    pub(crate) fn filter_codes(&self, vector: usize, test: &IntegerTest, selection: &mut Selection) {
        match self {
            Self::Plain(_) => unreachable!("plain values have no codes to test"),
            Self::Dictionary { codes, .. } => codes.filter(vector, test, selection),
        }
    }
}

fn take_values(reader: &mut SectionReader, count: usize) -> Result<Bytes, SegmentError> {
    reader.align(VALUE_BYTES)?;
    reader.take("sixteen-byte values", (count * VALUE_BYTES) as u64)
}

#[inline]
fn value_at(values: &[u8], index: usize) -> i128 {
    i128::from_le_bytes(values.as_chunks().0[index])
}
