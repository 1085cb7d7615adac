//! A transaction's changes of what is kept one by one, by keys.

use std::collections::BTreeMap;

/// Values as they were before the transaction, and as they are to be; `None` where there is none.
#[derive(Clone)]
pub(super) struct KeyedEdits<K, V> {
    edits: BTreeMap<K, Edit<V>>,
}

#[derive(Clone)]
struct Edit<V> {
    before: Option<V>,
    after: Option<V>,
}

impl<K, V> Default for KeyedEdits<K, V> {
    fn default() -> Self {
        Self { edits: BTreeMap::new() }
    }
}

impl<K: Ord + Clone, V: PartialEq + Clone> KeyedEdits<K, V> {
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Sets a value, or removes it; `shown` is what the statement sees.
    pub(super) fn set(&mut self, shown: &BTreeMap<K, V>, key: K, after: Option<V>) {
        let before = || Edit { before: shown.get(&key).cloned(), after: None };
        self.edits.entry(key.clone()).or_insert_with(before).after = after;
    }

    /// The values that there were not.
    pub(super) fn added(&self) -> impl Iterator<Item = &V> {
        self.edits.values().filter(|edit| edit.before.is_none()).filter_map(|edit| edit.after.as_ref())
    }

    /// Whether a value is set or removed.
    pub(super) fn has(&self, key: &K) -> bool {
        self.edits.contains_key(key)
    }

    /// The values with these changes, whatever others have changed.
    pub(super) fn shown_on(&self, committed: &BTreeMap<K, V>) -> BTreeMap<K, V> {
        let mut values = committed.clone();
        for (key, edit) in &self.edits {
            match &edit.after {
                Some(value) => drop(values.insert(key.clone(), value.clone())),
                None => drop(values.remove(key)),
            }
        }
        values
    }

    /// The values with these changes; `None` if others have changed one of the same values.
    pub(super) fn committed_on(&self, newest: &BTreeMap<K, V>) -> Option<BTreeMap<K, V>> {
        let is_same = |(key, edit): (&K, &Edit<V>)| newest.get(key) == edit.before.as_ref();
        self.edits.iter().all(is_same).then(|| self.shown_on(newest))
    }
}
