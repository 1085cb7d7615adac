//! Sixty-four-bit integers in whichever of the four integer codecs made them smallest. Floats that ALP does not suit
//! come here too, as their bits.

use braid_base::VECTOR_ROWS;

use super::Codec;
use super::alp::order_key;
use super::delta::DeltaIntegers;
use super::dictionary::{Dictionary, DictionaryIntegers, matching_codes};
use super::frame_of_reference::PackedIntegers;
use super::integer_test::IntegerTest;
use super::run_length::RunLengthIntegers;
use super::target::{Target, extend_selected};
use crate::Selection;
use crate::sections::{SectionReader, SectionWriter};
use crate::segment_error::SegmentError;

/// A sequence of 64-bit integers, encoded.
#[derive(Debug)]
pub(crate) enum Integers {
    FrameOfReference(PackedIntegers),
    Delta(DeltaIntegers),
    RunLength(RunLengthIntegers),
    Dictionary(DictionaryIntegers),
}

impl Integers {
    /// Reads `count` integers; `None` when the codec does not hold integers.
    pub(crate) fn parse(codec: Codec, reader: &mut SectionReader, count: usize) -> Option<Result<Self, SegmentError>> {
        Some(match codec {
            Codec::FrameOfReference => PackedIntegers::parse(reader, count).map(Self::FrameOfReference),
            Codec::Delta => DeltaIntegers::parse(reader, count).map(Self::Delta),
            Codec::RunLength => RunLengthIntegers::parse(reader, count).map(Self::RunLength),
            Codec::Dictionary => DictionaryIntegers::parse(reader, count).map(Self::Dictionary),
            _ => return None,
        })
    }

    /// The integer at `index`.
    pub(crate) fn get(&self, index: usize) -> i64 {
        let (vector, row) = (index / VECTOR_ROWS, index % VECTOR_ROWS);
        match self {
            Self::FrameOfReference(integers) => integers.get(index),
            Self::Delta(integers) => integers.get(vector, row),
            Self::RunLength(integers) => integers.get(vector, row),
            Self::Dictionary(integers) => integers.get(vector, row),
        }
    }

    /// Decodes a vector. What lies beyond the last integer means nothing.
    fn unpack(&self, vector: usize, out: &mut [i64; VECTOR_ROWS]) {
        match self {
            Self::FrameOfReference(integers) => integers.unpack(vector, out),
            Self::Delta(integers) => integers.unpack(vector, out),
            Self::RunLength(integers) => integers.unpack(vector, out),
            Self::Dictionary(integers) => integers.unpack(vector, out),
        }
    }

    /// Appends the selected integers of a vector.
    pub(crate) fn gather<T: Target>(&self, vector: usize, selection: &Selection, out: &mut Vec<T>) {
        match self {
            Self::FrameOfReference(integers) => integers.gather(vector, selection, out),
            Self::Dictionary(integers) => integers.gather(vector, selection, out),
            Self::RunLength(integers) => integers.gather(vector, selection, out),
            Self::Delta(_) => {
                let mut values = [0; VECTOR_ROWS];
                self.unpack(vector, &mut values);
                extend_selected(&values, selection, T::from_integer, out);
            }
        }
    }

    /// The test that [`Self::filter`] takes for a test on the integers themselves.
    pub(crate) fn prepare(&self, test: IntegerTest) -> IntegerTest {
        match self {
            Self::Dictionary(integers) => integers.translate(&test),
            _ => test,
        }
    }

    /// Keeps the rows of a vector that satisfy a prepared test.
    pub(crate) fn filter(&self, vector: usize, test: &IntegerTest, selection: &mut Selection) {
        match self {
            Self::FrameOfReference(integers) => integers.filter(vector, test, selection),
            Self::Delta(integers) => integers.filter(vector, test, selection),
            Self::RunLength(integers) => integers.filter(vector, test, selection),
            Self::Dictionary(integers) => integers.codes().filter(vector, test, selection),
        }
    }

    /// The test that [`Self::filter_floats`] takes for a test on the [`order_key`] of the floats whose bits these
    /// integers are.
    pub(crate) fn prepare_floats<T: Target + Into<f64>>(&self, test: IntegerTest) -> IntegerTest {
        match self {
            Self::Dictionary(integers) => matching_codes(
                integers.values().iter().map(|&bits| test.holds(order_key(T::from_integer(bits).into()))),
            ),
            _ => test,
        }
    }

    /// Keeps the rows of a vector whose integers are the bits of floats that satisfy a prepared test.
    pub(crate) fn filter_floats<T: Target + Into<f64>>(
        &self,
        vector: usize,
        test: &IntegerTest,
        selection: &mut Selection,
    ) {
        if let Self::Dictionary(integers) = self {
            return integers.codes().filter(vector, test, selection);
        }
        let mut values = [0; VECTOR_ROWS];
        self.unpack(vector, &mut values);
        for value in &mut values {
            *value = order_key(T::from_integer(*value).into());
        }
        test.filter(&values, selection);
    }
}

/// The codec that makes some integers smallest, and what is needed to write them so.
pub(crate) struct IntegerChoice<'a> {
    values: &'a [i64],
    codec: Codec,
    encoded_bytes: usize,
    /// Built unless it grew larger than the frame of reference, whichever codec won.
    dictionary: Option<Dictionary<i64>>,
}

impl<'a> IntegerChoice<'a> {
    /// Measures the codecs. Sizes are exact but for padding; a codec that decodes more slowly than the best so far
    /// must save a sixteenth to win.
    pub(crate) fn measure(values: &'a [i64]) -> Self {
        let frame = PackedIntegers::encoded_bytes(values);
        let dictionary = Dictionary::build(values, frame, |_| size_of::<i64>());
        let mut best = Self { values, codec: Codec::FrameOfReference, encoded_bytes: frame, dictionary };
        let wins = |bytes: usize, best: &Self| bytes < best.encoded_bytes - best.encoded_bytes / 16;
        let dictionary = best.dictionary.as_ref().map(DictionaryIntegers::encoded_bytes);
        let delta = Some(DeltaIntegers::encoded_bytes(values));
        let run_length = RunLengthIntegers::encoded_bytes(values);
        let others = [(Codec::Dictionary, dictionary), (Codec::Delta, delta), (Codec::RunLength, run_length)];
        for (codec, bytes) in others {
            if let Some(bytes) = bytes.filter(|&bytes| wins(bytes, &best)) {
                (best.codec, best.encoded_bytes) = (codec, bytes);
            }
        }
        best
    }

    /// All values that occur: each once where a dictionary was built, otherwise as often as it occurs.
    pub(crate) fn occurring_values(&self) -> &[i64] {
        self.dictionary.as_ref().map_or(self.values, |dictionary| &dictionary.values)
    }

    /// The codec that won.
    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// Bytes that [`Self::write`] will take, padding not included.
    pub(crate) fn encoded_bytes(&self) -> usize {
        self.encoded_bytes
    }

    /// Writes the sections that [`Integers::parse`] reads for [`Self::codec`].
    pub(crate) fn write(&self, writer: &mut SectionWriter) {
        match (self.codec, &self.dictionary) {
            (Codec::Dictionary, Some(dictionary)) => DictionaryIntegers::write(dictionary, writer),
            (Codec::Delta, _) => DeltaIntegers::write(self.values, writer),
            (Codec::RunLength, _) => RunLengthIntegers::write(self.values, writer),
            _ => PackedIntegers::write(self.values, writer),
        }
    }
}
