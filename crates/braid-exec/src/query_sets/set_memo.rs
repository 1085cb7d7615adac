//! One worker's cache of results about query sets.
//!
//! The cache is direct-mapped by the sets' numbers, which are dense, and has a fixed size. A set replaces another set of the
//! same position, whose result is computed again when it is needed. No budget counts the cache, because it does not grow.

use std::sync::Arc;

use crate::{SetNumber, SetStore};

/// Number of entries. An entry mostly has 24 bytes, so that the cache of 24 KiB fits into a first-level cache.
const PLACES: usize = 1 << 10;

/// Cached values, by set.
pub(crate) struct SetMemo<T> {
    places: Box<[Option<(SetNumber, T)>]>,
}

/// Cached bits of sets, fetched from the store once for many rows.
pub(crate) type SetWords = SetMemo<Arc<[u64]>>;

impl<T> SetMemo<T> {
    /// An empty cache.
    pub(crate) fn new() -> Self {
        Self { places: (0..PLACES).map(|_| None).collect() }
    }

    /// The value of a set, computed by `find_out` if it is not cached.
    #[inline]
    pub(crate) fn get(&mut self, set: SetNumber, find_out: impl FnOnce() -> T) -> &T {
        let place = &mut self.places[set.index() % PLACES];
        if place.as_ref().is_none_or(|(known, _)| *known != set) {
            *place = Some((set, find_out()));
        }
        let (_, value) = place.as_ref().expect("it was filled if it was not");
        value
    }

    /// Removes all values.
    pub(crate) fn clear(&mut self) {
        self.places.iter_mut().for_each(|place| *place = None);
    }
}

impl SetWords {
    /// The bits of a set.
    #[inline]
    pub(crate) fn of(&mut self, set: SetNumber, store: &SetStore) -> &[u64] {
        self.get(set, || store.words(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_asked_about_again_after_another_took_its_place() {
        let mut memo = SetMemo::new();
        let places = PLACES as i64;
        let asked: Vec<i64> = [5, 5, 5 + places, 5 + places, 5, 6, 5]
            .into_iter()
            .filter(|number| {
                let mut is_asked = false;
                let value = *memo.get(SetNumber::from_value(*number), || {
                    is_asked = true;
                    -number
                });
                assert_eq!(value, -number);
                is_asked
            })
            .collect();
        assert_eq!(asked, [5, 5 + places, 5, 6]);
        memo.clear();
        assert_eq!(*memo.get(SetNumber::from_value(5), || 7), 7);
    }
}
