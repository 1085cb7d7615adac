//! The rows of a table that a statement has found, by their identities.

use std::collections::btree_map::Entry;

use braid_storage::{DeletedRows, PRIVATE_CHUNKS, RowDeletes, RowId, SeenRows, TableVersion};

/// Rows of a table.
#[derive(Default)]
pub(super) struct FoundRows {
    /// Those of committed chunks.
    pub committed: SeenRows,
    /// Those that the transaction has added.
    pub own: RowDeletes,
}

impl FoundRows {
    /// As [`Self::insert`], of a scan of a version between these two.
    pub fn insert_between(&mut self, [first, last]: [&TableVersion; 2], number: i64) -> Option<bool> {
        self.insert(first, number).or_else(|| self.insert(last, number))
    }

    /// Adds a row with an identity that a scan of the version gave; whether it is new. `None` if the version lacks its chunk.
    pub fn insert(&mut self, version: &TableVersion, number: i64) -> Option<bool> {
        let row = row_of(number);
        if !is_own(number) {
            return self.committed.insert(version, row);
        }
        let rows = match self.own.entry(row.chunk) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(DeletedRows::none(version.chunk(row.chunk)?.row_count)),
        };
        Some(rows.insert(row.row))
    }
}

/// The row with an identity that a scan gave.
pub(super) fn row_of(number: i64) -> RowId {
    RowId::of_number(number).expect("scans number rows so")
}

/// Whether the transaction has added a row.
pub(super) fn is_own(number: i64) -> bool {
    row_of(number).chunk.0 >= PRIVATE_CHUNKS
}
