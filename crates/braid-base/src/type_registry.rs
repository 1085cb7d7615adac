//! What the user-defined types of this process's open databases are, by numbers that belong to one type until the process ends.
//!
//! A number may be held by a plan that still runs after DROP TYPE, so that an entry is replaced and never removed.

use std::sync::{Arc, PoisonError, RwLock, Weak};

/// The types of one kind, by their numbers.
pub(crate) struct TypeRegistry<T> {
    entries: RwLock<Vec<Arc<T>>>,
    /// Entries that transactions want to put in the place of others, by their numbers. They are gone with their transactions.
    proposed: RwLock<Vec<(u32, Weak<T>)>>,
}

impl<T> TypeRegistry<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: RwLock::new(Vec::new()), proposed: RwLock::new(Vec::new()) }
    }

    /// The number of a new entry.
    pub(crate) fn add(&self, entry: Arc<T>) -> u32 {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.push(entry);
        u32::try_from(entries.len() - 1).expect("a process opens fewer types than 32 bits count")
    }

    /// The entry with this number; `None` if there is none.
    pub(crate) fn get(&self, number: u32) -> Option<Arc<T>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(number as usize).cloned()
    }

    /// Notes what a transaction wants to put in the place of an entry when it commits.
    pub(crate) fn propose(&self, number: u32, entry: &Arc<T>) {
        let mut proposed = self.proposed.write().unwrap_or_else(PoisonError::into_inner);
        proposed.retain(|(_, known)| known.strong_count() > 0);
        proposed.push((number, Arc::downgrade(entry)));
    }

    /// What transactions want to put in the place of an entry, or have put there.
    pub(crate) fn proposed(&self, number: u32) -> Vec<Arc<T>> {
        let proposed = self.proposed.read().unwrap_or_else(PoisonError::into_inner);
        proposed.iter().filter(|(own, _)| *own == number).filter_map(|(_, entry)| entry.upgrade()).collect()
    }

    /// Puts an entry in the place of the one with this number.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn replace(&self, number: u32, entry: Arc<T>) {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)[number as usize] = entry;
    }
}
