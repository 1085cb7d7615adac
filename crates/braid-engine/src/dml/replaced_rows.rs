//! The new keys of updated rows, for ON UPDATE.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::compute::interleave;
use arrow::record_batch::RecordBatch;
use braid_base::{ColumnId, TableId};
use braid_exec::Reservation;
use braid_storage::{Catalog, Reference, ReferenceKeys, RowId, TableDef};

use crate::EngineError;
use crate::statement_context::{RenumberedRow, StatementContext};

/// The new keys of updated rows, of any number of tables.
#[derive(Default)]
pub(super) struct ReplacedRows {
    batches: Vec<BTreeMap<ColumnId, ArrayRef>>,
    /// Where a row's successor is: its batch, and its place there.
    places: HashMap<(TableId, RowId), (usize, usize)>,
    /// The foreign keys that referenced a table when its updated rows were noted.
    references: HashMap<TableId, BTreeSet<TableId>>,
    /// How many rows of a table were replaced.
    counts: HashMap<TableId, u64>,
    beside_others: BTreeSet<TableId>,
    /// Keys of referencing rows that the statement leaves as they were.
    unchanged: Vec<ReferenceKeys>,
    /// The memory of places and batches.
    memory: Option<Reservation>,
}

/// Bytes of the place of a row, with the free room of a hash table.
const PLACE_BYTES: usize = 2 * (size_of::<(TableId, RowId)>() + size_of::<(usize, usize)>());

impl ReplacedRows {
    /// Notes updated rows and their successors. Keeps nothing for a table that has no foreign key and is not referenced.
    ///
    /// # Errors
    /// 53200 if they do not fit into the memory of the statement's query.
    pub fn note(
        &mut self,
        (context, catalog): (&StatementContext, &Catalog),
        def: &TableDef,
        replaced: impl Iterator<Item = RowId>,
        rows: &RecordBatch,
    ) -> Result<(), EngineError> {
        let references = catalog.references_to(def.id);
        let ids = references.iter().map(|reference| reference.key.id);
        self.references.entry(def.id).or_default().extend(ids);
        let own = def.foreign_keys.iter().flat_map(|key| &key.columns);
        let columns = references.iter().flat_map(|reference| &reference.key.key).chain(own);
        let columns: BTreeSet<ColumnId> = columns.copied().collect();
        if columns.is_empty() {
            return Ok(());
        }
        let position = |column: &ColumnId| def.position(*column).map(|at| (*column, rows.column(at).clone()));
        let kept: BTreeMap<ColumnId, ArrayRef> = columns.iter().filter_map(position).collect();
        let bytes = kept.values().map(|column| column.get_array_memory_size()).sum::<usize>();
        let memory = self.memory.get_or_insert_with(|| Reservation::new(context.value_budget(), "replaced rows"));
        memory.resize(memory.held() + bytes + rows.num_rows() * PLACE_BYTES)?;
        let batch = self.batches.len();
        self.batches.push(kept);
        *self.counts.entry(def.id).or_default() += rows.num_rows() as u64;
        self.places.extend(replaced.enumerate().map(|(at, row)| ((def.id, row), (batch, at))));
        Ok(())
    }

    /// As [`Self::note`], of rows by the numbers of their identities.
    ///
    /// # Errors
    /// The same.
    pub fn note_numbers(
        &mut self,
        states: (&StatementContext, &Catalog),
        def: &TableDef,
        replaced: &Int64Array,
        rows: &RecordBatch,
    ) -> Result<(), EngineError> {
        self.note(states, def, replaced.values().iter().filter_map(|number| RowId::of_number(*number)), rows)
    }

    /// Knows rows by other numbers from now on.
    pub fn follow(&mut self, renumbered: &[RenumberedRow]) {
        // All are taken before one is put back, as one may have the number of another.
        let take = |RenumberedRow { table, seen, now }: &RenumberedRow| {
            Some(((*table, *now), self.places.remove(&(*table, *seen))?))
        };
        let taken: Vec<_> = renumbered.iter().filter_map(take).collect();
        self.places.extend(taken);
    }

    /// The number of updated rows of a table that were noted.
    pub fn count_of(&self, table: TableId) -> u64 {
        self.counts.get(&table).copied().unwrap_or_default()
    }

    /// Notes that the statement also inserts rows into a table.
    pub fn note_others(&mut self, table: TableId) {
        self.beside_others.insert(table);
    }

    /// Whether the statement also inserts rows into a table.
    pub fn is_beside_others(&self, table: TableId) -> bool {
        self.beside_others.contains(&table)
    }

    /// Notes keys that the statement leaves as they were.
    pub fn note_unchanged(&mut self, keys: ReferenceKeys) {
        self.unchanged.push(keys);
    }

    /// The keys that the statement leaves as they were, of all foreign keys.
    pub fn unchanged(&self) -> &[ReferenceKeys] {
        &self.unchanged
    }

    /// Whether a foreign key is new to the updated rows of its referenced table: their new keys were not noted for it.
    pub fn is_new(&self, reference: &Reference) -> bool {
        let known = self.references.get(&reference.key.referenced);
        known.is_some_and(|known| !known.contains(&reference.key.id))
    }

    /// Where the successor of a row of a table is; `None` if the row has none.
    pub fn place_of(&self, table: TableId, row: RowId) -> Option<(usize, usize)> {
        self.places.get(&(table, row)).copied()
    }

    /// The values of columns in rows at these places.
    pub fn values(&self, columns: &[ColumnId], places: &[(usize, usize)]) -> Result<Vec<ArrayRef>, EngineError> {
        // Only the batches of this table have the columns.
        let batches: BTreeSet<usize> = places.iter().map(|(batch, _)| *batch).collect();
        let batches: Vec<usize> = batches.into_iter().collect();
        let renumbered: Vec<(usize, usize)> =
            places.iter().map(|(batch, row)| (batches.binary_search(batch).unwrap_or_default(), *row)).collect();
        let of_column = |column: &ColumnId| {
            let missing = || EngineError::internal("a key of a replaced row was not kept");
            let parts = batches.iter().map(|batch| self.batches[*batch].get(column).ok_or_else(missing));
            let parts: Vec<&dyn Array> = parts.map(|part| part.map(AsRef::as_ref)).collect::<Result<_, _>>()?;
            Ok(interleave(&parts, &renumbered)?)
        };
        columns.iter().map(of_column).collect()
    }
}
