//! ALP (Afroozeh, Kuffó, Boncz: ALP: Adaptive Lossless floating-Point Compression, SIGMOD 2023): floats that began as
//! decimals become integers, `value = integer * 10^f * 10^-e`, which are then packed; floats for which that does not
//! give back the same bits are exceptions and lie beside it.
//!
//! Bytes over `n` floats in `b = ceil(n / 1024)` vectors:
//!
//! | bytes | meaning |
//! |---|---|
//! | 1 | exponent e |
//! | 1 | exponent f, at most e |
//! | 0..3 | padding to 4 bytes |
//! | 4 | number of exceptions x, u32, at most n |
//! | 4 b | first exception of each vector, u32 |
//! | 2 x | row of each exception within its vector, u16 |
//! | x × 4 or 8 | the exceptional floats, f32 or f64 |
//! | | n integers: packed integers |
//!
//! Order: the map from integers to floats never decreases, so that a vector's frame bounds its floats where it has no
//! exceptions. Comparisons go through [`order_key`].

use alp::{ALPFloat, Exponents};
use braid_base::VECTOR_ROWS;

use super::frame_of_reference::{PackedIntegers, SPARSE_ROWS_MAX};
use super::integer_test::IntegerTest;
use super::target::{Target, extend_selected};
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter, check_equal, check_limit};
use crate::segment_error::SegmentError;

/// `f32` or `f64`.
pub(crate) trait Float: ALPFloat + Target + Default {
    /// Largest exponent the powers of ten of the paper's tables reach.
    const EXPONENT_MAX: u8;
    /// The integer that ALP makes floats of this width from; the low bits where it is narrower.
    fn narrow(integer: i64) -> Self::ALPInt;
    /// The integer as 64 bits.
    fn wide(integer: Self::ALPInt) -> i64;
    /// The float's bits, as an integer that [`Target::from_integer`] turns back.
    fn bits(self) -> i64;
    /// The float as 64 bits: exact.
    fn double(self) -> f64;
}

impl Float for f32 {
    const EXPONENT_MAX: u8 = 10;

    fn narrow(integer: i64) -> i32 {
        integer as i32
    }

    fn wide(integer: i32) -> i64 {
        i64::from(integer)
    }

    fn bits(self) -> i64 {
        i64::from(self.to_bits())
    }

    fn double(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f64 {
    const EXPONENT_MAX: u8 = 18;

    fn narrow(integer: i64) -> i64 {
        integer
    }

    fn wide(integer: i64) -> i64 {
        integer
    }

    fn bits(self) -> i64 {
        self.to_bits() as i64
    }

    fn double(self) -> f64 {
        self
    }
}

/// An integer with the order of the float: PostgreSQL's, where -0 equals 0 and NaN equals NaN and is above all.
#[inline(always)]
pub(crate) fn order_key(value: f64) -> i64 {
    // Adding zero turns -0 into 0 and changes nothing else.
    let bits = (value + 0.0).to_bits() as i64;
    // Negative floats descend as their bits ascend: all but the sign is flipped.
    let key = bits ^ ((bits >> 63) as u64 >> 1) as i64;
    if value.is_nan() { i64::MAX } else { key }
}

/// Floats as packed integers with exceptions.
#[derive(Debug)]
pub(crate) struct AlpFloats<F> {
    exponents: Exponents,
    integers: PackedIntegers,
    /// First exception of each vector, and the number of exceptions.
    first_exceptions: Box<[u32]>,
    positions: Box<[u16]>,
    exceptions: Box<[F]>,
}

impl<F: Float> AlpFloats<F> {
    /// Reads the sections of `count` floats.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize) -> Result<Self, SegmentError> {
        let exponents = Exponents { e: reader.u8("exponent e")?, f: reader.u8("exponent f")? };
        check_limit("exponent e", u64::from(exponents.e), u64::from(F::EXPONENT_MAX))?;
        check_limit("exponent f", u64::from(exponents.f), u64::from(exponents.e))?;
        reader.align(4)?;
        let exception_count = reader.u32("the number of exceptions", count as u32)?;
        let mut first_exceptions = reader.u32s("first exceptions", count.div_ceil(VECTOR_ROWS))?;
        check_equal("the first vector's first exception", u64::from(first_exceptions[0]), 0)?;
        first_exceptions.push(exception_count);
        for range in first_exceptions.windows(2) {
            check_limit("a vector's first exception", u64::from(range[0]), u64::from(range[1]))?;
        }
        let positions = reader.take("exception positions", u64::from(exception_count) * 2)?;
        let positions: Box<[u16]> = positions.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b)).collect();
        for &position in &positions {
            check_limit("an exception's row", u64::from(position), VECTOR_ROWS as u64 - 1)?;
        }
        let bytes = reader.take("exceptions", u64::from(exception_count) * size_of::<F>() as u64)?;
        let exceptions = bytes.chunks_exact(size_of::<F>()).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            F::from_integer(i64::from_le_bytes(word))
        });
        let exceptions = exceptions.collect();
        let integers = PackedIntegers::parse(reader, count)?;
        Ok(Self { exponents, integers, first_exceptions: first_exceptions.into(), positions, exceptions })
    }

    /// The float of a row of a vector.
    pub(crate) fn get(&self, vector: usize, row: usize) -> F {
        let (first, last) = self.exception_range(vector);
        match self.positions[first..last].iter().position(|&p| usize::from(p) == row) {
            Some(exception) => self.exceptions[first + exception],
            None => self.decode(self.integers.get(vector * VECTOR_ROWS + row)),
        }
    }

    /// Decodes a vector. What lies beyond the last float means nothing.
    fn unpack(&self, vector: usize, out: &mut [F; VECTOR_ROWS]) {
        let mut integers = [0; VECTOR_ROWS];
        self.integers.unpack(vector, &mut integers);
        for (out, integer) in out.iter_mut().zip(integers) {
            *out = self.decode(integer);
        }
        let (first, last) = self.exception_range(vector);
        for (&position, &exception) in self.positions[first..last].iter().zip(&self.exceptions[first..last]) {
            out[usize::from(position)] = exception;
        }
    }

    /// Appends the selected floats of a vector.
    pub(crate) fn gather(&self, vector: usize, selection: &Selection, out: &mut Vec<F>) {
        let mut values = [F::default(); VECTOR_ROWS];
        self.unpack(vector, &mut values);
        extend_selected(&values, selection, |value| value, out);
    }

    /// Keeps the rows of a vector whose [`order_key`] satisfies the test.
    pub(crate) fn filter(&self, vector: usize, test: &IntegerTest, selection: &mut Selection) {
        let (first, last) = self.exception_range(vector);
        if first == last {
            let (low, high) = self.integers.bounds(vector);
            let high = if size_of::<F>() == 4 { high.min(i64::from(i32::MAX)) } else { high };
            let key = |integer| order_key(self.decode(integer).double());
            match test.verdict(key(low), key(high)) {
                Some(true) => return,
                Some(false) => return selection.clear(),
                None => {}
            }
        }
        if selection.count() <= SPARSE_ROWS_MAX {
            return selection.retain(|row| test.holds(order_key(self.get(vector, row).double())));
        }
        let mut values = [F::default(); VECTOR_ROWS];
        self.unpack(vector, &mut values);
        let mut keys = [0; VECTOR_ROWS];
        for (key, value) in keys.iter_mut().zip(values) {
            *key = order_key(value.double());
        }
        test.filter(&keys, selection);
    }

    #[inline(always)]
    fn decode(&self, integer: i64) -> F {
        F::decode_single(F::narrow(integer), self.exponents)
    }

    fn exception_range(&self, vector: usize) -> (usize, usize) {
        (self.first_exceptions[vector] as usize, self.first_exceptions[vector + 1] as usize)
    }
}

/// Floats encoded for writing.
pub(crate) struct EncodedFloats<F> {
    exponents: Exponents,
    integers: Vec<i64>,
    first_exceptions: Vec<u32>,
    positions: Vec<u16>,
    exceptions: Vec<F>,
}

impl<F: Float> EncodedFloats<F> {
    /// Finds the exponents that suit a sample of the floats and encodes them all.
    pub(crate) fn encode(values: &[F]) -> Self {
        let (exponents, integers, positions, exceptions, first_exceptions) = alp::encode(values, None);
        Self {
            exponents,
            integers: integers.into_iter().map(F::wide).collect(),
            first_exceptions: first_exceptions.into_iter().map(|first| first as u32).collect(),
            positions: positions.into_iter().map(|row| (row % VECTOR_ROWS as u64) as u16).collect(),
            exceptions,
        }
    }

    /// Bytes that [`Self::write`] will take, padding not included.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let exceptions = self.exceptions.len() * (2 + size_of::<F>());
        8 + self.first_exceptions.len() * 4 + exceptions + PackedIntegers::encoded_bytes(&self.integers)
    }

    /// Writes the sections that [`AlpFloats::parse`] reads.
    pub(crate) fn write(&self, writer: &mut SectionWriter) {
        writer.put_u8(self.exponents.e);
        writer.put_u8(self.exponents.f);
        writer.align(4);
        writer.put_u32(self.exceptions.len() as u32);
        self.first_exceptions.iter().for_each(|&first| writer.put_u32(first));
        self.positions.iter().for_each(|position| writer.put(&position.to_le_bytes()));
        for exception in &self.exceptions {
            writer.put(&exception.bits().to_le_bytes()[..size_of::<F>()]);
        }
        PackedIntegers::write(&self.integers, writer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::compare_floats;

    #[test]
    fn keys_have_the_order_of_floats() {
        let smallest = f64::from_bits(1);
        let floats =
            [f64::NEG_INFINITY, -1.5, -smallest, -0.0, 0.0, smallest, 1.0, 1e300, f64::INFINITY, f64::NAN, -f64::NAN];
        for a in floats {
            for b in floats {
                assert_eq!(order_key(a).cmp(&order_key(b)), compare_floats(a, b), "{a} {b}");
            }
        }
    }
}
