//! Bit packing of 1024 unsigned integers in the FastLanes layout (Afroozeh, Boncz: The FastLanes Compression Layout,
//! VLDB 2023, sections 3 and 4), which compilers turn into SIMD code without shuffles.
//!
//! `width` bits an integer take `128 * width` bytes. The *lane type* is the narrowest of 8, 16, 32 and 64 bits that
//! holds `width`, so that narrow codes are unpacked and compared 32 or 16 at a time. The layout depends on the lane
//! type; the width determines it.
//!
//! This is the module that may call the unchecked functions of `fastlanes`: they compile once, in that crate, and
//! their only demands (slice lengths, alignment) are asserted here, once a vector.

use braid_base::VECTOR_ROWS;
use fastlanes::BitPacking;

const _: () = assert!(cfg!(target_endian = "little"), "packed integers are read in place, as little-endian words");
const _: () = assert!(VECTOR_ROWS == 1024, "FastLanes packs 1024 integers");

/// Alignment of packed data within a segment, in bytes: a cache line, so that no vector load straddles two.
pub(crate) const PACKED_ALIGN_BYTES: usize = 64;

/// Alignment that packed data needs in memory, in bytes: that of the widest lane.
pub(crate) const LANE_ALIGN_BYTES: usize = 8;

/// Bytes of 1024 integers of `width` bits.
pub(crate) const fn packed_bytes(width: u8) -> usize {
    VECTOR_ROWS / 8 * width as usize
}

/// Bits needed for `value`.
pub(crate) const fn bit_width(value: u64) -> u8 {
    (u64::BITS - value.leading_zeros()) as u8
}

/// The largest integer of `width` bits.
pub(crate) const fn width_mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// An unsigned integer as wide as a lane.
pub(crate) trait Lane: BitPacking + Default + Into<u64> + Send + Sync + 'static {
    /// The low bits of `value`.
    fn truncate(value: u64) -> Self;
    /// `self - other`, modulo the lane's size.
    fn minus(self, other: Self) -> Self;
}

macro_rules! lane {
    ($($lane:ty),*) => {$(
        impl Lane for $lane {
            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as $lane
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
lane!(u8, u16, u32, u64);

/// Runs `$body` with `$lane` as the lane type of `$width`.
macro_rules! with_lane {
    ($width:expr, $lane:ident => $body:expr) => {
        match $width {
            0..=8 => {
                type $lane = u8;
                $body
            }
            9..=16 => {
                type $lane = u16;
                $body
            }
            17..=32 => {
                type $lane = u32;
                $body
            }
            _ => {
                type $lane = u64;
                $body
            }
        }
    };
}
pub(crate) use with_lane;

/// Unpacks 1024 integers of `width` bits, which must fit the lane.
pub(crate) fn unpack<L: Lane>(width: u8, packed: &[u8], out: &mut [L; VECTOR_ROWS]) {
    let words = as_words::<L>(width, packed);
    // SAFETY: `words` holds exactly 1024 * width bits and `out` 1024 integers; `as_words` checked both the length
    // and that `width` fits the lane.
    unsafe { L::unchecked_unpack(usize::from(width), words, out) }
}

/// The integer at `index` of 1024 packed ones. Panics when `index` is above 1023 and `width` above 0.
pub(crate) fn unpack_single<L: Lane>(width: u8, packed: &[u8], index: usize) -> L {
    let words = as_words::<L>(width, packed);
    // SAFETY: `words` holds exactly 1024 * width bits, checked by `as_words`; the index is checked by the callee.
    unsafe { L::unchecked_unpack_single(usize::from(width), words, index) }
}

/// Packs 1024 integers of at most `width` bits and appends them to `out`.
pub(crate) fn pack<L: Lane>(width: u8, values: &[L; VECTOR_ROWS], out: &mut Vec<u8>) {
    assert!(usize::from(width) <= size_of::<L>() * 8, "{width} bits do not fit a lane of {}", size_of::<L>());
    let mut words = [L::default(); VECTOR_ROWS];
    let packed = &mut words[..packed_bytes(width) / size_of::<L>()];
    // SAFETY: `values` holds 1024 integers and `packed` room for exactly 1024 * width bits; `width` fits the lane.
    unsafe { L::unchecked_pack(usize::from(width), values, packed) };
    // SAFETY: lanes are plain unsigned integers without padding; any of them may be read as bytes.
    out.extend_from_slice(unsafe { std::slice::from_raw_parts(packed.as_ptr().cast(), packed_bytes(width)) });
}

/// The words of 1024 packed integers of `width` bits.
#[inline]
fn as_words<L: Lane>(width: u8, packed: &[u8]) -> &[L] {
    assert!(usize::from(width) <= size_of::<L>() * 8, "{width} bits do not fit a lane of {}", size_of::<L>());
    assert!(packed.len() == packed_bytes(width), "{} bytes are not 1024 integers of {width} bits", packed.len());
    assert!(packed.as_ptr().cast::<L>().is_aligned(), "packed integers must be aligned in memory");
    // SAFETY: the pointer is aligned, as just checked; 128 * width bytes are a whole number of lanes because every
    // lane size divides 128; any bit pattern is a valid unsigned integer; the lifetime is that of `packed`.
    unsafe { std::slice::from_raw_parts(packed.as_ptr().cast(), packed.len() / size_of::<L>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes whose first one lies at a lane's alignment.
    fn aligned(bytes: &[u8]) -> arrow::buffer::Buffer {
        arrow::buffer::Buffer::from(bytes)
    }

    #[test]
    fn every_width_round_trips_as_a_whole_and_one_by_one() {
        for width in 0..=64u8 {
            with_lane!(width, L => {
                let values: [L; VECTOR_ROWS] = std::array::from_fn(|i| {
                    L::truncate((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) & width_mask(width))
                });
                let mut packed = Vec::new();
                pack(width, &values, &mut packed);
                assert_eq!(packed.len(), packed_bytes(width));
                let packed = aligned(&packed);
                let mut unpacked = [L::default(); VECTOR_ROWS];
                unpack(width, &packed, &mut unpacked);
                assert!(unpacked == values, "width {width}");
                for index in [0, 1, 17, 512, 1023] {
                    assert_eq!(unpack_single::<L>(width, &packed, index), values[index], "width {width}");
                }
            });
        }
    }

    #[test]
    fn packed_bits_lie_where_the_format_document_says() {
        const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
        for width in [1, 3, 8, 11, 16, 17, 32, 45, 64] {
            let code = |i: usize| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) & width_mask(width);
            let mut expected = vec![0u8; packed_bytes(width)];
            let mut packed = Vec::new();
            with_lane!(width, L => {
                let (lane_bits, lanes) = (L::BITS as usize, VECTOR_ROWS / L::BITS as usize);
                for (lane, row) in (0..lanes).flat_map(|lane| (0..lane_bits).map(move |row| (lane, row))) {
                    let value = code(16 * ORDER[row / 8] + 128 * (row % 8) + lane);
                    for bit in (0..usize::from(width)).filter(|bit| value >> bit & 1 == 1) {
                        let at = row * usize::from(width) + bit;
                        let position = (at / lane_bits * lanes + lane) * lane_bits + at % lane_bits;
                        expected[position / 8] |= 1 << (position % 8);
                    }
                }
                pack(width, &std::array::from_fn(|i| L::truncate(code(i))), &mut packed);
            });
            assert!(packed == expected, "width {width}");
        }
    }

    #[test]
    fn widths_are_those_of_the_values() {
        for (value, width) in [(0, 0), (1, 1), (2, 2), (255, 8), (256, 9), (u64::MAX, 64)] {
            assert_eq!(bit_width(value), width);
            assert!(value <= width_mask(width));
        }
    }
}
