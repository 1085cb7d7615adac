//! The versions of the tables that change, and which of them a query may have seen.
//!
//! A client does not know the snapshot of its query. It knows when it sent the query and when it had the answer. A version may have been
//! the snapshot unless its successor was committed before the query was sent, or its own commit was sent after the answer.
//!
//! A version has an unchanging copy of each table. Copies are made before a version is announced, and dropped when no query can need
//! them any more.

use std::collections::{BTreeMap, VecDeque};

/// A version: for each table that changes, the name of its unchanging copy. A dropped table has the name of a table that never exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) copies: Vec<String>,
}

/// The versions that may still be needed, the oldest first.
pub(super) struct Versions {
    versions: VecDeque<Version>,
    /// The newest version whose commit was acknowledged.
    committed: u64,
    /// How many queries may have seen which oldest version.
    in_flight: BTreeMap<u64, u64>,
}

impl Versions {
    /// With version 0.
    pub(super) fn new(copies: Vec<String>) -> Self {
        Self { versions: [Version { number: 0, copies }].into(), committed: 0, in_flight: BTreeMap::new() }
    }

    /// The newest version, announced or committed.
    pub(super) fn newest(&self) -> &Version {
        self.versions.back().expect("there is always a version")
    }

    /// Number of the versions that are kept.
    pub(super) fn kept(&self) -> usize {
        self.versions.len()
    }

    /// A write is about to be sent, after which `table` is the copy `copy`.
    pub(super) fn announce(&mut self, table: usize, copy: String) {
        let mut next = self.newest().clone();
        next.number += 1;
        next.copies[table] = copy;
        self.versions.push_back(next);
    }

    /// The write that was announced last is committed.
    pub(super) fn commit(&mut self) {
        self.committed = self.newest().number;
    }

    /// A query is about to be sent. Returns the oldest version that it may see, for [`Self::answered`] and [`Self::checked`].
    pub(super) fn sent(&mut self) -> u64 {
        *self.in_flight.entry(self.committed).or_default() += 1;
        self.committed
    }

    /// The versions that a query may have seen that is answered now.
    pub(super) fn answered(&self, oldest: u64) -> Vec<Version> {
        self.versions.iter().filter(|version| version.number >= oldest).cloned().collect()
    }

    /// The query with this oldest version needs its versions no longer.
    pub(super) fn checked(&mut self, oldest: u64) {
        let count = self.in_flight.get_mut(&oldest).expect("the query was sent");
        *count -= 1;
        if *count == 0 {
            self.in_flight.remove(&oldest);
        }
    }

    /// Forgets versions that no query needs. Returns the copies that no other version has.
    pub(super) fn take_unneeded(&mut self) -> Vec<String> {
        let oldest_needed = self.in_flight.keys().next().copied().unwrap_or(self.committed).min(self.committed);
        let mut copies = Vec::new();
        while self.versions.front().is_some_and(|version| version.number < oldest_needed) {
            copies.extend(self.versions.pop_front().map(|version| version.copies).unwrap_or_default());
        }
        copies.sort();
        copies.dedup();
        copies.retain(|copy| self.versions.iter().all(|version| !version.copies.contains(copy)));
        copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(versions: &[Version]) -> Vec<u64> {
        versions.iter().map(|version| version.number).collect()
    }

    #[test]
    fn a_query_may_have_seen_what_was_current_between_its_sending_and_its_answer() {
        let mut versions = Versions::new(vec!["a0".to_owned(), "b0".to_owned()]);
        let early = versions.sent();
        assert_eq!(numbers(&versions.answered(early)), [0]);
        versions.announce(0, "a1".to_owned());
        let during = versions.sent();
        // The commit may have happened already.
        assert_eq!(numbers(&versions.answered(during)), [0, 1]);
        versions.commit();
        let after = versions.sent();
        assert_eq!(numbers(&versions.answered(after)), [1]);
        versions.announce(1, "b2".to_owned());
        assert_eq!(numbers(&versions.answered(early)), [0, 1, 2]);
        assert_eq!(versions.newest().copies, ["a1", "b2"]);
    }

    #[test]
    fn copies_stay_as_long_as_a_query_or_a_version_needs_them() {
        let mut versions = Versions::new(vec!["a0".to_owned(), "b0".to_owned()]);
        let query = versions.sent();
        versions.announce(0, "a1".to_owned());
        versions.commit();
        assert!(versions.take_unneeded().is_empty());
        versions.checked(query);
        assert_eq!(versions.take_unneeded(), ["a0"], "the other table is the same in the new version");
        versions.announce(1, "b2".to_owned());
        assert!(versions.take_unneeded().is_empty(), "the commit may not have happened");
        versions.commit();
        assert_eq!(versions.take_unneeded(), ["b0"]);
        assert_eq!(versions.kept(), 1);
    }
}
