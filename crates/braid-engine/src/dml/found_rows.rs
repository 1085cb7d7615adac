//! The rows of a table that a statement has found, by their identities.

use std::collections::btree_map::Entry;

use braid_storage::{DeletedRows, PRIVATE_CHUNKS, RowDeletes, RowId, TableVersion};

/// Rows of a table.
#[derive(Default)]
pub(super) struct FoundRows {
    /// Those of committed chunks.
    pub committed: RowDeletes,
    /// Those that the transaction has added.
    pub own: RowDeletes,
}

impl FoundRows {
    /// Adds a row with an identity that a scan of the version gave; whether it is new. `None` if its chunk is gone: others have merged it.
    pub fn insert(&mut self, version: &TableVersion, number: i64) -> Option<bool> {
        let RowId { chunk, row } = row_of(number);
        let rows = if is_own(number) { &mut self.own } else { &mut self.committed };
        let rows = match rows.entry(chunk) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let known = version.chunks.iter().find(|known| known.id == chunk)?;
                entry.insert(DeletedRows::none(known.row_count))
            }
        };
        Some(rows.insert(row))
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
