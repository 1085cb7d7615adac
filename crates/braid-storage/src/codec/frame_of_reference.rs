//! Frame of reference and bit packing: each vector of integers as a reference (its smallest value) and the
//! differences to it, packed with as many bits as the largest one needs. Reference and width are per vector, so that
//! an outlier costs its own vector only, and so that the vector's range is known without unpacking it.
//!
//! [`PackedIntegers`] is the codec and also the material of the others: dictionary codes, run lengths and string
//! lengths are packed integers too.
//!
//! Bytes of `n` integers in `b = ceil(n / 1024)` vectors, after padding to 8 bytes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 8 b | reference of each vector, i64 |
//! | b | width of each vector in bits, 0 to 64 |
//! | 0..63 | padding to 64 bytes |
//! | 128 × sum of widths | packed differences, FastLanes layout; the last vector is filled up with zeros |
//!
//! Arithmetic wraps: the difference of two 64-bit integers always fits 64 bits unsigned. For bytes that no encoder
//! wrote the values may be nonsense, but every read stays within the packed data.

use braid_base::VECTOR_ROWS;
use bytes::Bytes;

use super::bit_packing::{self, Lane, PACKED_ALIGN_BYTES, bit_width, packed_bytes, width_mask, with_lane};
use super::flags::filter_where;
use super::integer_set::{ComparedLane, IntegerSet, filter_compared};
use super::integer_test::IntegerTest;
use super::target::{Target, extend_selected};
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter, check_limit};
use crate::segment_error::SegmentError;

/// Selected rows up to which values are unpacked one by one: unpacking a whole vector costs about as much as 32 of
/// them.
pub(crate) const SPARSE_ROWS_MAX: usize = 16;

/// A sequence of 64-bit integers, packed by vectors.
#[derive(Debug)]
pub(crate) struct PackedIntegers {
    data: Bytes,
    vectors: Box<[PackedVector]>,
    count: usize,
}

/// Where a vector lies and what its codes mean.
#[derive(Clone, Copy, Debug)]
struct PackedVector {
    reference: i64,
    /// Within the packed data, in bytes; at most 128 vectors of 8 KiB.
    offset: u32,
    width: u8,
}

impl PackedIntegers {
    /// Reads the sections of `count` integers.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        let vector_count = count.div_ceil(VECTOR_ROWS);
        reader.align(8)?;
        let references = reader.u64s("references", vector_count)?;
        let widths = reader.take("bit widths", vector_count as u64)?;
        let mut vectors = Vec::with_capacity(vector_count);
        let mut offset = 0;
        for (&reference, &width) in references.iter().zip(&widths[..]) {
            check_limit("a bit width", u64::from(width), 64)?;
            vectors.push(PackedVector { reference: reference as i64, offset, width });
            offset += packed_bytes(width) as u32;
        }
        reader.align(PACKED_ALIGN_BYTES)?;
        let data = reader.take("packed integers", u64::from(offset))?;
        Ok(Self { data, vectors: vectors.into(), count })
    }

    /// Writes `values`; the sections [`Self::parse`] reads.
    pub(crate) fn write(values: &[i64], writer: &mut SectionWriter) {
        let frames: Vec<(i64, u8)> = values.chunks(VECTOR_ROWS).map(frame).collect();
        writer.align(8);
        frames.iter().for_each(|(reference, _)| writer.put_u64(*reference as u64));
        frames.iter().for_each(|(_, width)| writer.put_u8(*width));
        writer.align(PACKED_ALIGN_BYTES);
        for (values, (reference, width)) in values.chunks(VECTOR_ROWS).zip(frames) {
            pack_codes(values.iter().map(|v| v.wrapping_sub(reference) as u64), width, writer);
        }
    }

    /// Bytes that [`Self::write`] will take, padding before the first section not included.
    pub(crate) fn encoded_bytes(values: &[i64]) -> usize {
        let packed: usize = values.chunks(VECTOR_ROWS).map(|v| packed_bytes(frame(v).1)).sum();
        (values.len().div_ceil(VECTOR_ROWS) * 9).next_multiple_of(PACKED_ALIGN_BYTES) + packed
    }

    /// Number of integers.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Number of vectors.
    pub(crate) fn vector_count(&self) -> usize {
        self.vectors.len()
    }

    /// The smallest value of a vector and a bound on the largest one.
    pub(crate) fn bounds(&self, vector: usize) -> (i64, i64) {
        let PackedVector { reference, width, .. } = self.vectors[vector];
        // A frame that reaches beyond the last integer ends there: no encoder writes values that wrapped.
        let span = i64::try_from(width_mask(width)).unwrap_or(i64::MAX);
        (reference, if width == 64 { i64::MAX } else { reference.saturating_add(span) })
    }

    /// The integer at `index`. Panics when it does not exist.
    pub(crate) fn get(&self, index: usize) -> i64 {
        assert!(index < self.count, "integer {index} of {}", self.count);
        self.get_in(index / VECTOR_ROWS, index % VECTOR_ROWS)
    }

    fn get_in(&self, vector: usize, row: usize) -> i64 {
        let (PackedVector { reference, width, .. }, packed) = self.vector(vector);
        let code = with_lane!(width, L => Into::<u64>::into(bit_packing::unpack_single::<L>(width, packed, row)));
        reference.wrapping_add(code as i64)
    }

    /// Unpacks a vector. Beyond the last integer `out` gets the vector's reference.
    pub(crate) fn unpack(&self, vector: usize, out: &mut [i64; VECTOR_ROWS]) {
        let (PackedVector { reference, width, .. }, packed) = self.vector(vector);
        with_lane!(width, L => {
            let mut codes = [L::default(); VECTOR_ROWS];
            bit_packing::unpack(width, packed, &mut codes);
            for (out, code) in out.iter_mut().zip(codes) {
                *out = reference.wrapping_add(Into::<u64>::into(code) as i64);
            }
        });
    }

    /// Unpacks the integers `start..start + out.len()`, which need not begin at a vector.
    pub(crate) fn unpack_range<T: Target>(&self, start: usize, out: &mut [T]) {
        let mut done = 0;
        while done < out.len() {
            let (vector, from) = ((start + done) / VECTOR_ROWS, (start + done) % VECTOR_ROWS);
            let len = (VECTOR_ROWS - from).min(out.len() - done);
            let (PackedVector { reference, width, .. }, packed) = self.vector(vector);
            with_lane!(width, L => {
                let mut codes = [L::default(); VECTOR_ROWS];
                bit_packing::unpack(width, packed, &mut codes);
                for (out, &code) in out[done..done + len].iter_mut().zip(&codes[from..from + len]) {
                    *out = T::from_integer(reference.wrapping_add(Into::<u64>::into(code) as i64));
                }
            });
            done += len;
        }
    }

    /// All integers.
    pub(crate) fn to_vec(&self) -> Vec<i64> {
        let mut values = vec![0; self.count];
        self.unpack_range(0, &mut values);
        values
    }

    /// Some integer above `limit` (all seen as unsigned), where there is one; for validation. What fills up the last
    /// vector counts too, because it is decoded with the rest.
    pub(crate) fn find_above(&self, limit: u64) -> Option<u64> {
        let mut buffer = [0; VECTOR_ROWS];
        (0..self.vectors.len()).find_map(|vector| {
            let (low, high) = self.bounds(vector);
            if low >= 0 && (high as u64) <= limit {
                return None;
            }
            self.unpack(vector, &mut buffer);
            buffer.iter().map(|&v| v as u64).find(|&v| v > limit)
        })
    }

    /// Appends the selected integers of a vector.
    pub(crate) fn gather<T: Target>(&self, vector: usize, selection: &Selection, out: &mut Vec<T>) {
        let count = selection.count();
        if count < selection.len() && count <= SPARSE_ROWS_MAX {
            out.extend(selection.iter().map(|row| T::from_integer(self.get_in(vector, row))));
            return;
        }
        let (PackedVector { reference, width, .. }, packed) = self.vector(vector);
        with_lane!(width, L => {
            let mut codes = [L::default(); VECTOR_ROWS];
            bit_packing::unpack(width, packed, &mut codes);
            let value = |code: L| T::from_integer(reference.wrapping_add(Into::<u64>::into(code) as i64));
            extend_selected(&codes, selection, value, out);
        });
    }

    /// Keeps the rows of a vector whose value satisfies the test, comparing packed codes where they can be compared.
    pub(crate) fn filter(&self, vector: usize, test: &IntegerTest, selection: &mut Selection) {
        let (low, high) = self.bounds(vector);
        match test.verdict(low, high) {
            Some(true) => return,
            Some(false) => return selection.clear(),
            None => {}
        }
        if selection.count() <= SPARSE_ROWS_MAX {
            return selection.retain(|row| test.holds(self.get_in(vector, row)));
        }
        match test {
            IntegerTest::Range { low, high, negated } => self.filter_range(vector, *low, *high, *negated, selection),
            IntegerTest::Set { set, negated } => self.filter_set(vector, set, *negated, selection),
            IntegerTest::Never | IntegerTest::Always => unreachable!("these have a verdict about every vector"),
        }
    }

    /// Keeps the rows in (or outside) `low..=high`, a range that reaches into the vector's.
    fn filter_range(&self, vector: usize, low: i64, high: i64, negated: bool, selection: &mut Selection) {
        let (PackedVector { reference, width, .. }, packed) = self.vector(vector);
        let code_low = if low <= reference { 0 } else { low.wrapping_sub(reference) as u64 };
        let code_high = (high.wrapping_sub(reference) as u64).min(width_mask(width));
        with_lane!(width, L => {
            let mut codes = [L::default(); VECTOR_ROWS];
            bit_packing::unpack(width, packed, &mut codes);
            let (low, span) = (L::truncate(code_low), L::truncate(code_high - code_low));
            if negated {
                filter_where(&codes, selection, |code| code.minus(low) > span);
            } else {
                filter_where(&codes, selection, |code| code.minus(low) <= span);
            }
        });
    }

    /// Keeps the rows whose value is in a set, or is not.
    fn filter_set(&self, vector: usize, set: &IntegerSet, negated: bool, selection: &mut Selection) {
        let (PackedVector { reference, width, .. }, packed) = self.vector(vector);
        let (low, high) = self.bounds(vector);
        let members = set.within(low, high);
        with_lane!(width, L => {
            let mut codes = [L::default(); VECTOR_ROWS];
            bit_packing::unpack(width, packed, &mut codes);
            if members.len() <= L::MEMBERS_MAX {
                let mut compared = [L::default(); L::MEMBERS_MAX];
                for (code, member) in compared.iter_mut().zip(members) {
                    *code = L::truncate(member.wrapping_sub(reference) as u64);
                }
                filter_compared(&codes, &compared[..members.len()], negated, selection);
            } else {
                let value = |code: L| reference.wrapping_add(Into::<u64>::into(code) as i64);
                set.filter(&codes, value, negated, selection);
            }
        });
    }

    fn vector(&self, vector: usize) -> (PackedVector, &[u8]) {
        let packed = self.vectors[vector];
        let start = packed.offset as usize;
        (packed, &self.data[start..start + packed_bytes(packed.width)])
    }
}

/// Reference and width of a vector.
fn frame(values: &[i64]) -> (i64, u8) {
    let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), &v| (min.min(v), max.max(v)));
    (min, bit_width(max.wrapping_sub(min) as u64))
}

/// Packs up to 1024 codes of at most `width` bits, filled up with zeros.
pub(crate) fn pack_codes(codes: impl Iterator<Item = u64>, width: u8, writer: &mut SectionWriter) {
    with_lane!(width, L => {
        let mut lanes = [L::default(); VECTOR_ROWS];
        for (lane, code) in lanes.iter_mut().zip(codes) {
            *lane = L::truncate(code);
        }
        bit_packing::pack(width, &lanes, writer.bytes_mut());
    });
}
