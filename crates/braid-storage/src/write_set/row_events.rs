//! The event queue of foreign keys: the rows that a statement has added and removed.
//!
//! After a statement has changed its rows, the front end takes the events from the queue in order. A referential action changes further
//! rows and appends their events at the end, as PostgreSQL's trigger queue does. A commit checks the events that are left, without
//! actions, so that every way into a table is covered.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use braid_base::{ChunkId, ColumnId, TableId};

use super::WriteSet;
use super::references::ReferenceKeys;
use crate::catalog::Catalog;
use crate::key_index::{KeyNulls, KeyRun, KeyShape};
use crate::key_search::{SearchedChunk, columns_of, mixed_nulls, shape_of_columns};
use crate::references::Reference;
use crate::table_appender::AppendedRows;
use crate::{DeletedRows, MatchType, RowDeletes, RowId, StoreError, TableDef, TableVersion};

/// The most rows of a part of [`RemovedRows`].
const PART_ROWS: usize = 65_536;

/// What has happened to rows of a table.
#[derive(Clone, Debug)]
pub enum RowEvent {
    /// Rows of a referenced or referencing table were removed.
    Removed(RemovedRows),
    /// Referencing rows were added.
    Added(ReferenceKeys),
    /// Rows were added that have some nulls in a key of MATCH FULL.
    MixedNulls(Reference),
}

/// Rows that are gone: deleted, or replaced by an UPDATE.
#[derive(Clone, Debug)]
pub struct RemovedRows {
    /// The version that had them.
    pub version: Arc<TableVersion>,
    /// The rows.
    pub rows: RowDeletes,
    /// The foreign keys that refer to the table, oldest first.
    pub references: Vec<Reference>,
}

impl RemovedRows {
    /// The rows, in parts that are handled one after the other.
    pub fn parts(&self) -> impl Iterator<Item = Vec<RowId>> + '_ {
        let of_chunk = |(chunk, rows): (&'_ ChunkId, &'_ DeletedRows)| (*chunk, rows.iter().collect::<Vec<u32>>());
        let ids = self.rows.iter().map(of_chunk);
        let mut ids = ids.flat_map(|(chunk, rows)| rows.into_iter().map(move |row| RowId { chunk, row }));
        std::iter::from_fn(move || {
            let part: Vec<RowId> = ids.by_ref().take(PART_ROWS).collect();
            (!part.is_empty()).then_some(part)
        })
    }
}

impl WriteSet {
    /// The oldest event that was not taken yet.
    pub fn next_event(&mut self) -> Option<RowEvent> {
        self.references.events.pop_front()
    }

    /// Queues the removal of rows.
    pub(super) fn note_removed(&mut self, view: &Catalog, version: &Arc<TableVersion>, rows: &RowDeletes) {
        self.note_known_references(view, version.def.id);
        let references = view.references_to(version.def.id);
        let def = &version.def;
        if !references.is_empty() || !def.foreign_keys.is_empty() {
            let removed = RemovedRows { version: Arc::clone(version), rows: rows.clone(), references };
            self.references.events.push_back(RowEvent::Removed(removed));
        }
    }

    /// Notes the foreign keys that a removal of rows is checked against: those of the first state that the transaction has looked at.
    pub fn note_known_references(&mut self, view: &Catalog, table: TableId) {
        let known = || view.references_to(table).iter().map(|reference| reference.key.id).collect();
        self.references.known.entry(table).or_insert_with(known);
    }

    /// Queues the keys that new rows reference.
    ///
    /// # Errors
    /// For a key that is too long, and what reading chunks fails with.
    pub(super) async fn note_added(&mut self, rows: &AppendedRows) -> Result<(), StoreError> {
        let def = &rows.def;
        if def.foreign_keys.is_empty() || rows.row_count == 0 {
            return Ok(());
        }
        let full = self.full_chunks_of(rows);
        for key in &def.foreign_keys {
            let shape = Arc::new(shape_of_columns(def, &key.columns, KeyNulls::Distinct));
            let (mut runs, mut is_mixed) = (Vec::new(), false);
            for chunk in &full {
                let searched = SearchedChunk { table: def.id, def, chunk };
                if key.matching == MatchType::Full {
                    is_mixed |= mixed_nulls(&columns_of(&self.shared, searched, key).await?).next().is_some();
                }
                let run = searched.run(&self.shared, &shape).await?;
                runs.push(if run.first_repeated().is_some() {
                    Arc::new(KeyRun::distinct(run.only(|_| true)))
                } else {
                    run
                });
            }
            if rows.rest.row_count > 0 {
                let columns = columns_of_batches(def, &key.columns, &rows.rest.batches);
                is_mixed |= key.matching == MatchType::Full && mixed_nulls(&columns).next().is_some();
                runs.push(Arc::new(key_run(def, &shape, &columns)?.distinct()));
            }
            let reference = Reference { table: Arc::clone(def), key: Arc::clone(key) };
            if is_mixed {
                self.references.events.push_back(RowEvent::MixedNulls(reference.clone()));
            }
            for keys in runs.into_iter().filter(|keys| keys.len() > 0) {
                let keys = ReferenceKeys { reference: reference.clone(), keys };
                self.references.events.push_back(RowEvent::Added(keys));
            }
        }
        Ok(())
    }
}

/// The run of rows with these columns.
pub(super) fn key_run(def: &TableDef, shape: &KeyShape, columns: &[ArrayRef]) -> Result<KeyRun, StoreError> {
    let too_long =
        |error: crate::key_index::KeyTooLong| StoreError::KeyTooLong { table: def.name.clone(), bytes: error.bytes };
    KeyRun::new(shape, columns).map_err(too_long)
}

fn columns_of_batches(def: &TableDef, columns: &[ColumnId], batches: &[arrow::array::RecordBatch]) -> Vec<ArrayRef> {
    let of_column = |column: &ColumnId| {
        let at = def.position(*column).expect("a key has columns of its table");
        let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        match &parts[..] {
            [_] => Arc::clone(batches[0].column(at)),
            parts => arrow::compute::concat(parts).expect("batches are checked to have the table's types"),
        }
    };
    columns.iter().map(of_column).collect()
}
