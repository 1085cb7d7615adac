//! Delta encoding: the difference of each integer to the one before it, with frame of reference and bit packing, per
//! vector. For keys and times that grow steadily, where the differences need fewer bits than the values.
//!
//! Bytes of `n` integers in `b = ceil(n / 1024)` vectors, after padding to 8 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 8 b | first integer of each vector, i64 |
//! | 8 b | smallest difference of each vector, i64 |
//! | b | width of each vector in bits, 0 to 64 |
//! | 1 | 1 when the integers never decrease, 0 when they may |
//! | 0..63 | padding to 64 bytes |
//! | 128 × sum of widths | packed (difference - smallest difference), FastLanes layout; 0 for a vector's first row |
//!
//! Differences wrap modulo 2^64, and so does the running sum, so that any integers round-trip. The sum is sequential
//! (one addition a row) instead of FastLanes' transposed order, which needs 16 to 32 first values a vector: more
//! bytes than it saves cycles, as the sum runs at memory speed.

use braid_base::VECTOR_ROWS;
use bytes::Bytes;

use super::bit_packing::{self, PACKED_ALIGN_BYTES, bit_width, packed_bytes, with_lane};
use super::frame_of_reference::pack_codes;
use super::integer_test::IntegerTest;
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter, check_limit};
use crate::segment_error::SegmentError;

/// A sequence of 64-bit integers as packed differences.
#[derive(Debug)]
pub(crate) struct DeltaIntegers {
    data: Bytes,
    vectors: Box<[DeltaVector]>,
    ascending: bool,
}

#[derive(Clone, Copy, Debug)]
struct DeltaVector {
    first: i64,
    delta_min: i64,
    offset: u32,
    width: u8,
}

impl DeltaIntegers {
    /// Reads the sections of `count` integers.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        let vector_count = count.div_ceil(VECTOR_ROWS);
        reader.align(8)?;
        let firsts = reader.u64s("first integers", vector_count)?;
        let delta_mins = reader.u64s("smallest differences", vector_count)?;
        let widths = reader.take("bit widths", vector_count as u64)?;
        let ascending = reader.u8("the ascending flag")?;
        check_limit("the ascending flag", u64::from(ascending), 1)?;
        let mut vectors = Vec::with_capacity(vector_count);
        let mut offset = 0;
        for ((&first, &delta_min), &width) in firsts.iter().zip(&delta_mins).zip(&widths[..]) {
            check_limit("a bit width", u64::from(width), 64)?;
            vectors.push(DeltaVector { first: first as i64, delta_min: delta_min as i64, offset, width });
            offset += packed_bytes(width) as u32;
        }
        reader.align(PACKED_ALIGN_BYTES)?;
        let data = reader.take("packed differences", u64::from(offset))?;
        Ok(Self { data, vectors: vectors.into(), ascending: ascending == 1 })
    }

    /// Writes `values`; the sections [`Self::parse`] reads.
    pub(crate) fn write(values: &[i64], writer: &mut SectionWriter) {
        let frames: Vec<(i64, u8)> = values.chunks(VECTOR_ROWS).map(delta_frame).collect();
        writer.align(8);
        values.chunks(VECTOR_ROWS).for_each(|values| writer.put_u64(values[0] as u64));
        frames.iter().for_each(|(delta_min, _)| writer.put_u64(*delta_min as u64));
        frames.iter().for_each(|(_, width)| writer.put_u8(*width));
        writer.put_u8(u8::from(values.is_sorted()));
        writer.align(PACKED_ALIGN_BYTES);
        for (values, (delta_min, width)) in values.chunks(VECTOR_ROWS).zip(frames) {
            let codes = values.windows(2).map(|w| w[1].wrapping_sub(w[0]).wrapping_sub(delta_min) as u64);
            pack_codes(std::iter::once(0).chain(codes), width, writer);
        }
    }

    /// Bytes that [`Self::write`] will take, padding before the first section not included.
    pub(crate) fn encoded_bytes(values: &[i64]) -> usize {
        let packed: usize = values.chunks(VECTOR_ROWS).map(|v| packed_bytes(delta_frame(v).1)).sum();
        (values.len().div_ceil(VECTOR_ROWS) * 17 + 1).next_multiple_of(PACKED_ALIGN_BYTES) + packed
    }

    /// The integer of a row of a vector.
    pub(crate) fn get(&self, vector: usize, row: usize) -> i64 {
        let mut values = [0; VECTOR_ROWS];
        self.unpack(vector, &mut values);
        values[row]
    }

    /// Decodes a vector. What lies beyond the last integer means nothing.
    pub(crate) fn unpack(&self, vector: usize, out: &mut [i64; VECTOR_ROWS]) {
        let DeltaVector { first, delta_min, offset, width } = self.vectors[vector];
        let packed = &self.data[offset as usize..offset as usize + packed_bytes(width)];
        with_lane!(width, L => {
            let mut codes = [L::default(); VECTOR_ROWS];
            bit_packing::unpack(width, packed, &mut codes);
            // The first row's code is 0: start one difference early.
            let mut value = first.wrapping_sub(delta_min);
            for (out, code) in out.iter_mut().zip(codes) {
                value = value.wrapping_add(delta_min).wrapping_add(Into::<u64>::into(code) as i64);
                *out = value;
            }
        });
    }

    /// Keeps the rows of a vector whose value satisfies the test.
    pub(crate) fn filter(&self, vector: usize, test: &IntegerTest, selection: &mut Selection) {
        if self.ascending {
            let next = self.vectors.get(vector + 1).map_or(i64::MAX, |next| next.first);
            match test.verdict(self.vectors[vector].first, next) {
                Some(true) => return,
                Some(false) => return selection.clear(),
                None => {}
            }
        }
        let mut values = [0; VECTOR_ROWS];
        self.unpack(vector, &mut values);
        test.filter(&values, selection);
    }
}

/// Smallest difference and width of a vector.
fn delta_frame(values: &[i64]) -> (i64, u8) {
    if values.len() < 2 {
        return (0, 0);
    }
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    for (previous, value) in values.iter().zip(&values[1..]) {
        let delta = value.wrapping_sub(*previous);
        (min, max) = (min.min(delta), max.max(delta));
    }
    (min, bit_width(max.wrapping_sub(min) as u64))
}
