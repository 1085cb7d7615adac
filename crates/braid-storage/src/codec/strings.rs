//! Strings of bytes one after the other, found by their packed lengths. As they are for the `plain` codec; the
//! dictionary keeps its values so, FSST its compressed strings.
//!
//! Bytes of `n` strings, after padding to 8 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | | n lengths in bytes: packed integers |
//! | sum of lengths | the strings |
//!
//! Lengths, not offsets: 1024 lengths of short strings pack into 5 or 6 bits each, offsets would take 15; a vector's
//! offsets are one running sum away. The first string of each vector is found once, when the segment is opened.

use braid_base::VECTOR_ROWS;
use bytes::Bytes;

use super::frame_of_reference::PackedIntegers;
use crate::sections::{SectionReader, SectionWriter, check_limit};
use crate::segment_error::{SEGMENT_BYTES_MAX, SegmentError};

/// Offsets of the strings of a vector within its own bytes, and the end of the last one.
pub(crate) type Offsets = [u32; VECTOR_ROWS + 1];

/// Strings of bytes with random access.
#[derive(Debug)]
pub(crate) struct Strings {
    lengths: PackedIntegers,
    /// First byte of each vector, and the end of the last.
    starts: Box<[u32]>,
    data: Bytes,
}

impl Strings {
    /// Reads the sections of `count` strings.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        let lengths = PackedIntegers::parse(reader, count)?;
        let mut starts = Vec::with_capacity(lengths.vector_count() + 1);
        let mut buffer = [0; VECTOR_ROWS];
        let mut end = 0;
        starts.push(0);
        for vector in 0..lengths.vector_count() {
            lengths.unpack(vector, &mut buffer);
            for &length in &buffer[..(count - vector * VECTOR_ROWS).min(VECTOR_ROWS)] {
                // Escapes of FSST can double a string. Both checks together keep the sum from overflowing.
                check_limit("a string's length", length as u64, 2 * SEGMENT_BYTES_MAX)?;
                end += length as u64;
                check_limit("the sum of the strings' lengths", end, 2 * SEGMENT_BYTES_MAX)?;
            }
            starts.push(end as u32);
        }
        let data = reader.take("strings", end)?;
        Ok(Self { lengths, starts: starts.into(), data })
    }

    /// Writes strings given their lengths and bytes; the sections [`Self::parse`] reads.
    pub(crate) fn write(lengths: &[i64], strings: &[&[u8]], writer: &mut SectionWriter) {
        PackedIntegers::write(lengths, writer);
        strings.iter().for_each(|bytes| writer.put(bytes));
    }

    /// Bytes that [`Self::write`] will take, padding before the first section not included.
    pub(crate) fn encoded_bytes(lengths: &[i64]) -> usize {
        PackedIntegers::encoded_bytes(lengths) + lengths.iter().sum::<i64>() as usize
    }

    /// Number of strings.
    pub(crate) fn count(&self) -> usize {
        self.lengths.count()
    }

    /// The bytes of all strings.
    pub(crate) fn data(&self) -> &Bytes {
        &self.data
    }

    /// The bytes of the strings of a vector.
    pub(crate) fn vector_data(&self, vector: usize) -> &[u8] {
        &self.data[self.starts[vector] as usize..self.starts[vector + 1] as usize]
    }

    /// Where the strings of a vector lie in [`Self::vector_data`]; meaningless beyond the vector's last string.
    pub(crate) fn offsets(&self, vector: usize, offsets: &mut Offsets) {
        let mut lengths = [0; VECTOR_ROWS];
        self.lengths.unpack(vector, &mut lengths);
        let mut end = 0u32;
        offsets[0] = 0;
        for (offset, length) in offsets[1..].iter_mut().zip(lengths) {
            end = end.wrapping_add(length as u32);
            *offset = end;
        }
    }

    /// The lengths of the strings of a vector.
    pub(crate) fn lengths(&self) -> &PackedIntegers {
        &self.lengths
    }

    /// The string at `index`. Panics when it does not exist.
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        assert!(index < self.count(), "string {index} of {}", self.count());
        let mut offsets = [0; VECTOR_ROWS + 1];
        let (vector, row) = (index / VECTOR_ROWS, index % VECTOR_ROWS);
        self.offsets(vector, &mut offsets);
        &self.vector_data(vector)[offsets[row] as usize..offsets[row + 1] as usize]
    }

    /// All strings in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let lengths = self.lengths.to_vec();
        let mut rest = &self.data[..];
        lengths.into_iter().map(move |length| {
            let (string, after) = rest.split_at(length as usize);
            rest = after;
            string
        })
    }

    /// Refuses strings that are not UTF-8, one by one.
    pub(crate) fn check_utf8(&self, section: &'static str) -> Result<(), SegmentError> {
        let text = std::str::from_utf8(&self.data).map_err(|_| SegmentError::Utf8 { section })?;
        if !text.is_ascii() {
            let mut end = 0;
            for string in self.iter() {
                end += string.len();
                if !text.is_char_boundary(end) {
                    return Err(SegmentError::Utf8 { section });
                }
            }
        }
        Ok(())
    }
}
