//! A hash for numbers that the engine itself assigns (groups, slots, sets, bits of sets), with one multiplication per eight
//! bytes. Values from users must use the standard library's keyed hash instead.

use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by numbers of the engine.
pub(crate) type NumberMap<V> = NumbersMap<u64, V>;

/// A map keyed by lists of such numbers.
pub(crate) type NumbersMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<MultiplicativeHasher>>;

#[derive(Default)]
pub(crate) struct MultiplicativeHasher(u64);

impl Hasher for MultiplicativeHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        eights.iter().for_each(|eight| self.write_u64(u64::from_le_bytes(*eight)));
        rest.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 / golden ratio. The rotation moves the well-mixed high bits to the low positions, which the map uses first.
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Two numbers as one key.
pub(crate) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
