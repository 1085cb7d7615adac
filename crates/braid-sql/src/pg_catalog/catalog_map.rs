//! Maps and sets whose keys are numbers and names of the catalog.
//!
//! The catalog's rows are always the same. A client chooses what is looked up and not what is there, so no keyed hash is needed.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use braid_base::MultiplicativeHasher;

/// A map of numbers or names of the catalog.
pub type CatalogMap<K, V> = HashMap<K, V, BuildHasherDefault<MultiplicativeHasher>>;

/// A set of numbers or names of the catalog.
pub type CatalogSet<K> = HashSet<K, BuildHasherDefault<MultiplicativeHasher>>;

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, Hash};

    use super::*;
    use crate::pg_catalog::pg_catalog;

    fn hashes(keys: impl Iterator<Item = impl Hash>) -> CatalogSet<u64> {
        let hasher = BuildHasherDefault::<MultiplicativeHasher>::default();
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
