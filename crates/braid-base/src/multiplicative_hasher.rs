//! A hash for keys that no client chooses (numbers that the engine assigns, names of the system's catalog), with one multiplication per eight
//! bytes. Keys from clients must use the standard library's keyed hash instead.

use std::hash::Hasher;

/// The hash, for `BuildHasherDefault`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MultiplicativeHasher(u64);

impl Hasher for MultiplicativeHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        eights.iter().for_each(|eight| self.write_u64(u64::from_le_bytes(*eight)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
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
