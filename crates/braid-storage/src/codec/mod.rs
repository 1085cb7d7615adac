//! The codecs of column segments.
//!
//! | module | what lives there |
//! |---|---|
//! | `bit_packing` | FastLanes: 1024 integers of any width; the lane types |
//! | `frame_of_reference` | packed integers: a reference and a width for each vector; the material of the others |
//! | `delta` | differences of neighbours, packed |
//! | `run_length` | runs: packed values and lengths |
//! | `dictionary` | distinct values in order, packed codes |
//! | `integers` | the choice among these four |
//! | `alp` | floats as packed integers with exceptions |
//! | `sixteen_bytes` | wide numerics and intervals |
//! | `strings`, `fsst` | strings as they are, and compressed one by one |
//! | `bitmap` | booleans and validity |
//! | `integer_test` | conditions on integers, evaluated over vectors of values or codes |
//! | `integer_set` | sets of integers, searched for in vectors |
//! | `flags` | decisions about 64 rows at a time |
//! | `target` | what integers become in Arrow; the selected values of a vector |
//!
//! A codec has a type for what was read (`parse`, then gathers and filters, total on whatever `parse` accepted) and a
//! pair of functions for writing: how many bytes it would take, and `write`.

pub(crate) mod alp;
pub(crate) mod bit_packing;
pub(crate) mod bitmap;
pub(crate) mod delta;
pub(crate) mod dictionary;
pub(crate) mod flags;
pub(crate) mod frame_of_reference;
pub(crate) mod fsst;
pub(crate) mod integer_set;
pub(crate) mod integer_test;
pub(crate) mod integers;
pub(crate) mod run_length;
pub(crate) mod sixteen_bytes;
pub(crate) mod strings;
pub(crate) mod target;

use std::fmt;

/// How the values of a segment are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// One value (or null) for all rows.
    Constant,
    /// Frame of reference and bit packing, per vector.
    FrameOfReference,
    /// Differences to the row before, bit-packed, per vector.
    Delta,
    /// Sorted distinct values and bit-packed codes.
    Dictionary,
    /// Runs of equal values.
    RunLength,
    /// Fast Static Symbol Table: strings compressed one by one.
    Fsst,
    /// Adaptive lossless floating point: decimals as integers, with exceptions.
    Alp,
    /// Values as they are; booleans as a bitmap.
    Plain,
}

impl Codec {
    /// Every codec, in the order of their codes on disk.
    pub const ALL: [Self; 8] = [
        Self::Constant,
        Self::FrameOfReference,
        Self::Delta,
        Self::Dictionary,
        Self::RunLength,
        Self::Fsst,
        Self::Alp,
        Self::Plain,
    ];

    /// The codec's code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The codec with a code on disk.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::FrameOfReference => "frame-of-reference",
            Self::Delta => "delta",
            Self::Dictionary => "dictionary",
            Self::RunLength => "run-length",
            Self::Fsst => "fsst",
            Self::Alp => "alp",
            Self::Plain => "plain",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_on_disk_lead_back_to_their_codec() {
        for codec in Codec::ALL {
            assert_eq!(Codec::from_code(codec.code()), Some(codec));
        }
        assert_eq!(Codec::from_code(8), None);
    }
}
