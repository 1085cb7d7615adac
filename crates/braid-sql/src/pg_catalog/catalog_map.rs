//! Maps and sets whose keys are numbers and names of the catalog, with a hash of one multiplication per eight bytes.
//!
//! The catalog's rows are always the same. A client chooses what is looked up and not what is there, so no keyed hash is needed.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map of numbers or names of the catalog.
pub type CatalogMap<K, V> = HashMap<K, V, BuildHasherDefault<CatalogHasher>>;

/// A set of numbers or names of the catalog.
pub type CatalogSet<K> = HashSet<K, BuildHasherDefault<CatalogHasher>>;

/// The hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct CatalogHasher(u64);

impl Hasher for CatalogHasher {
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

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, Hash};

    use super::*;
    use crate::pg_catalog::pg_catalog;

    fn hashes(keys: impl Iterator<Item = impl Hash>) -> CatalogSet<u64> {
        let hasher = BuildHasherDefault::<CatalogHasher>::default();
        keys.map(|key| hasher.hash_one(key)).collect()
    }

    #[test]
    fn different_keys_of_the_catalog_have_different_hashes() {
        let ids: CatalogSet<_> = pg_catalog().functions().map(|entry| entry.id).collect();
        let names: CatalogSet<_> = pg_catalog().functions().map(|entry| entry.name).collect();
        assert_eq!(hashes(ids.iter()).len(), ids.len());
        assert_eq!(hashes(names.iter()).len(), names.len());
    }
}
