//! Which finished results are kept: those that were used last, within a number of bytes.
//!
//! 1. *Bounded.* The results together have at most as many bytes as the cache. A result with more than one
//!    [`RESULT_PART`]th of them is not kept: it would displace too many others.
//! 2. *Least recently used* results go first. A result is used when it is kept and when it is found.
//!
//! The cache knows nothing of what makes two results equal: the engine's keys say so.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A result may have this part of the bytes of the cache.
pub const RESULT_PART: u64 = 8;

/// Results of type `V`, by keys.
#[derive(Debug)]
pub struct ResultCache<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys by the time of their last use, counted in uses.
    by_use: BTreeMap<u64, K>,
    uses: u64,
    bytes: u64,
    bytes_max: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: u64,
    used: u64,
}

impl<K: Clone + Eq + Hash, V> ResultCache<K, V> {
    /// A cache without results, for so many bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self { entries: HashMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0, bytes_max }
    }

    /// Most bytes of one result.
    pub fn result_bytes_max(&self) -> u64 {
        self.bytes_max / RESULT_PART
    }

    /// Bytes of all results.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of results.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no result.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a result is kept. This is no use of it.
    pub fn contains(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    /// The result of a key, which is used by this.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        let entry = self.entries.get_mut(key)?;
        self.uses += 1;
        self.by_use.remove(&entry.used);
        self.by_use.insert(self.uses, key.clone());
        entry.used = self.uses;
        Some(&entry.value)
    }

    /// Makes room for a result of so many bytes. Returns the results that are gone, or `None` if the result is too large.
    pub fn make_room(&mut self, bytes: u64) -> Option<Vec<V>> {
        if bytes > self.result_bytes_max() {
            return None;
        }
        let mut gone = Vec::new();
        while self.bytes + bytes > self.bytes_max {
            gone.extend(self.remove_oldest());
        }
        Some(gone)
    }

    /// Keeps a result. Panics without room for it.
    pub fn insert(&mut self, key: K, value: V, bytes: u64) {
        self.remove(&key);
        assert!(self.bytes + bytes <= self.bytes_max, "{bytes} bytes beside {} of {}", self.bytes, self.bytes_max);
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, Entry { value, bytes, used: self.uses });
    }

    /// Removes the result that has not been used for the longest time.
    fn remove_oldest(&mut self) -> Option<V> {
        let (_, key) = self.by_use.pop_first()?;
        self.remove(&key)
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry.value)
    }
}

#[cfg(test)]
mod tests {
    use braid_base::Random;
    use braid_testing::cases;

    use super::*;

    #[test]
    fn the_least_recently_used_results_give_way() {
        let mut cache = ResultCache::new(80);
        for key in 0..8 {
            assert_eq!(cache.make_room(10), Some(Vec::new()));
            cache.insert(key, 100 + key, 10);
        }
        assert_eq!((cache.get(&0).copied(), cache.get(&9).copied(), cache.bytes()), (Some(100), None, 80));
        assert_eq!(cache.make_room(10), Some(vec![101]));
        cache.insert(9, 109, 10);
        assert!(cache.contains(&0) && !cache.contains(&1) && cache.contains(&9));
        assert_eq!(cache.make_room(11), None, "an eighth of 80 bytes is 10");
        assert_eq!(cache.make_room(1), Some(vec![102]));
        // The same key again takes the place of what it had.
        cache.insert(9, 209, 5);
        assert_eq!((cache.get(&9).copied(), cache.bytes(), cache.len()), (Some(209), 65, 7));
    }

    #[test]
    fn results_stay_within_their_bytes_in_the_order_of_their_use() {
        for case in cases!(0..200) {
            let mut random = case.random();
            let mut cache = ResultCache::new(random.below(400));
            // The keys that are kept, the one used last at the end, with values and bytes.
            let mut model: Vec<(u64, u64, u64)> = Vec::new();
            for step in 0..300 {
                let key = random.below(20);
                let place = model.iter().position(|(kept, ..)| *kept == key);
                if random.chance(1, 2) {
                    let expected = place.map(|place| model.remove(place));
                    assert_eq!(cache.get(&key).copied(), expected.map(|(_, value, _)| value));
                    model.extend(expected);
                    continue;
                }
                let bytes = random.below(50);
                let Some(gone) = cache.make_room(bytes) else {
                    assert!(bytes > cache.result_bytes_max());
                    continue;
                };
                let expected: Vec<u64> = model.drain(..gone.len()).map(|(_, value, _)| value).collect();
                assert_eq!(gone, expected);
                model.retain(|(kept, ..)| *kept != key);
                model.push((key, step, bytes));
                cache.insert(key, step, bytes);
                assert_eq!(cache.bytes(), model.iter().map(|(_, _, bytes)| bytes).sum::<u64>());
                assert!(cache.bytes() <= cache.bytes_max && cache.len() == model.len());
            }
        }
    }
}
