//! How many rows statements have added, changed and deleted since the database was opened, for `pg_stat_database`.
//!
//! As in PostgreSQL, rows count whether their transaction is committed or not. Of rows that a statement deletes from a table and adds to it,
//! as many as there are of both are changed ones: a MERGE that deletes some rows and inserts others has changed these.

use std::sync::atomic::{AtomicI64, Ordering};

use braid_sql::functions::backends::RowCounts;

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct RowCounters {
    inserted: AtomicI64,
    updated: AtomicI64,
    deleted: AtomicI64,
}

impl RowCounters {
    /// Counts what a statement has done to a table.
    pub fn count(&self, deleted: u64, added: u64) {
        let updated = deleted.min(added);
        let parts = [(&self.inserted, added - updated), (&self.updated, updated), (&self.deleted, deleted - updated)];
        for (counter, rows) in parts {
            counter.fetch_add(rows as i64, Ordering::Relaxed);
        }
    }

    /// The counts so far.
    pub fn now(&self) -> RowCounts {
        let count = |counter: &AtomicI64| counter.load(Ordering::Relaxed);
        RowCounts { inserted: count(&self.inserted), updated: count(&self.updated), deleted: count(&self.deleted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_the_place_of_others_are_changed_ones() {
        let counters = RowCounters::default();
        counters.count(0, 3);
        counters.count(2, 2);
        counters.count(4, 1);
        assert_eq!(counters.now(), RowCounts { inserted: 3, updated: 3, deleted: 3 });
    }
}
