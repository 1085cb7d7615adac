//! What one worker found out about the sets that it met last.
//!
//! Direct-mapped by the sets' numbers, which are dense, and of fixed size: a set replaces another of the same place, about
//! which is found out again when it comes back. Nothing is ever counted against a budget, since nothing grows.

use std::sync::Arc;

use crate::{SetNumber, SetStore};

/// Places: what is remembered, mostly 24 bytes, stays within 24 KiB, so it fits a first-level cache.
const PLACES: usize = 1 << 10;

/// A value for each of the sets that were met last.
pub(crate) struct SetMemo<T> {
    places: Box<[Option<(SetNumber, T)>]>,
}

/// The bits of sets, fetched from the store once for many rows.
pub(crate) type SetWords = SetMemo<Arc<[u64]>>;

impl<T> SetMemo<T> {
    /// Knows nothing yet.
    pub(crate) fn new() -> Self {
        Self { places: (0..PLACES).map(|_| None).collect() }
    }

    /// The value of a set; found out when it is not known.
    #[inline]
    pub(crate) fn get(&mut self, set: SetNumber, find_out: impl FnOnce() -> T) -> &T {
        let place = &mut self.places[set.index() % PLACES];
        if place.as_ref().is_none_or(|(known, _)| *known != set) {
            *place = Some((set, find_out()));
        }
        let (_, value) = place.as_ref().expect("it was filled if it was not");
        value
    }

    /// Forgets everything.
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
