//! The cursors of a session, which its server runs, as `pg_cursors` shows them: those of DECLARE, and portals that have names.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::clock::read_clock_us;

/// A cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCursor {
    /// What was sent to open it.
    pub text: String,
    /// Whether it outlives its transaction.
    pub is_holdable: bool,
    /// Whether it answers binary values.
    pub is_binary: bool,
    /// Whether it goes backward.
    pub is_scrollable: bool,
}

/// The cursors of a session, by name.
#[derive(Debug, Default)]
pub struct NamedCursors {
    by_name: Mutex<BTreeMap<String, (NamedCursor, i64)>>,
}

impl NamedCursors {
    /// A cursor is opened, now.
    pub fn open(&self, name: &str, cursor: NamedCursor) {
        self.by_name.lock().insert(name.to_owned(), (cursor, read_clock_us()));
    }

    /// A cursor is closed.
    pub fn close(&self, name: &str) {
        self.by_name.lock().remove(name);
    }

    /// All cursors are closed.
    pub fn close_all(&self) {
        self.by_name.lock().clear();
    }

    /// All cursors, with the times at which they were opened, in microseconds since 1970-01-01 UTC.
    pub(crate) fn all(&self) -> Vec<(String, NamedCursor, i64)> {
        let by_name = self.by_name.lock();
        by_name.iter().map(|(name, (cursor, opened_us))| (name.clone(), cursor.clone(), *opened_us)).collect()
    }
}
