//! Maps whose keys are numbers that the engine itself assigns (groups, slots, sets, bits of sets).

use std::hash::BuildHasherDefault;

use braid_base::MultiplicativeHasher;

/// A map keyed by numbers of the engine.
pub(crate) type NumberMap<V> = NumbersMap<u64, V>;

/// A map keyed by lists of such numbers.
pub(crate) type NumbersMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<MultiplicativeHasher>>;

/// Two numbers as one key.
pub(crate) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
