//! A table that a transaction alters: the new definition, on top of what is committed.
//!
//! Until the commit the table is altered for its transaction only. The commit fails if others have altered the table meanwhile, and, where
//! the alteration depends on the rows that were there, if others have changed any. Who uses the store keeps them waiting before; the commit is
//! the second line of defence, and the only one for a transaction whose state is older than what others have done.
//!
//! Rows that the transaction has added before stay in the files that they are in, with the columns that they had then; those in memory are
//! written first.

use std::sync::Arc;

use super::WriteSet;
use super::table_writes::{Base, TableWrites};
use crate::catalog::Catalog;
use crate::store_shared::StoreShared;
use crate::table_appender::AppendedRows;
use crate::{KeyDef, StoreError, TableDef, TableVersion};
use futures::future::BoxFuture;

/// What an alteration does with the rows of its table.
#[derive(Debug)]
pub enum AlteredRows {
    /// They fit, whichever they are.
    Kept,
    /// They fit: those that the statement has seen were checked.
    Checked,
    /// These take their place.
    Replaced(AppendedRows),
}

/// What an altered table was made of.
#[derive(Clone)]
pub(super) struct Altered {
    /// The committed version that was altered.
    seen: Arc<TableVersion>,
    /// Whether the alteration is right for the rows of this version only.
    depends_on_rows: bool,
}

impl Altered {
    /// Whether the alteration is right for a committed version.
    pub(super) fn fits(&self, version: &TableVersion) -> bool {
        version.def == self.seen.def && (!self.depends_on_rows || version.content == self.seen.content)
    }
}

impl WriteSet {
    /// Gives a table of `view` another definition, of the same table. `committed` is the state below the view.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], [`StoreError::TableExists`], [`StoreError::TypeExists`], [`StoreError::UnknownType`],
    /// [`StoreError::InvalidTable`], [`StoreError::Conflict`] if others have changed the table since the transaction did, and what writing
    /// fails with.
    pub fn alter_table<'a>(
        &'a mut self,
        (committed, view): (&'a Catalog, &'a Catalog),
        def: TableDef,
        rows: AlteredRows,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let table = || def.name.clone();
            let shown = view.by_id(def.id).ok_or_else(|| StoreError::UnknownTable { table: table() })?;
            if view.table_in(def.schema, &def.name).is_some_and(|named| named.def.id != def.id) {
                return Err(StoreError::TableExists { table: table() });
            }
            def.validate().map_err(|reason| StoreError::InvalidTable { table: table(), reason })?;
            view.check_types_of(&def)?;
            let known = || TableWrites::new(Arc::clone(&shown.def), Base::Newest);
            let is_pending = self.has_deferred(def.id);
            if matches!(rows, AlteredRows::Replaced(_)) {
                // The rows with the old values of its keys go.
                self.note_known_references(view, def.id);
            }
            let writes = self.tables.entry(def.id).or_insert_with(known);
            if is_pending {
                return Err(StoreError::PendingChecks { operation: "ALTER TABLE", table: table() });
            }
            if writes.def != shown.def {
                return Err(StoreError::Conflict { what: format!("table \"{}\"", shown.def.name) });
            }
            let id = def.id;
            let (known, are_replaced) = (Arc::clone(&shown.def), matches!(rows, AlteredRows::Replaced(_)));
            writes.alter(&self.shared, committed.by_id(id), Arc::new(def), rows).await?;
            if are_replaced && let Some(writes) = self.tables.get_mut(&id) {
                writes.settle(&self.shared).await?;
            }
            let is_known = |key: &KeyDef| known.keys.iter().any(|old| old.id == key.id && old.form == key.form);
            self.check_keys(committed, id, |key| are_replaced || !is_known(key)).await
        })
    }
}

impl TableWrites {
    async fn alter(
        &mut self,
        shared: &Arc<StoreShared>,
        committed: Option<&Arc<TableVersion>>,
        def: Arc<TableDef>,
        rows: AlteredRows,
    ) -> Result<(), StoreError> {
        if self.base != Base::New {
            let unknown = || StoreError::UnknownTable { table: self.def.name.clone() };
            let depends_on_rows = !matches!(rows, AlteredRows::Kept);
            self.altered = Some(self.altered_from(committed.ok_or_else(unknown)?, depends_on_rows)?);
        }
        self.has_unclaimed = true;
        match rows {
            AlteredRows::Kept | AlteredRows::Checked => {
                self.flush(shared).await?;
                self.def = def;
                Ok(())
            }
            AlteredRows::Replaced(rows) => {
                self.clear();
                self.def = def;
                self.base = if self.base == Base::New { Base::New } else { Base::Emptied };
                self.add(shared, rows).await
            }
        }
    }

    /// What the next definition is made of.
    fn altered_from(&self, committed: &Arc<TableVersion>, depends_on_rows: bool) -> Result<Altered, StoreError> {
        let conflict = || StoreError::Conflict { what: format!("table \"{}\"", self.def.name) };
        match &self.altered {
            None if committed.def == self.def => Ok(Altered { seen: Arc::clone(committed), depends_on_rows }),
            Some(before) if before.fits(committed) => {
                let depends_on_rows = depends_on_rows || before.depends_on_rows;
                Ok(Altered { seen: Arc::clone(committed), depends_on_rows })
            }
            _ => Err(conflict()),
        }
    }

    /// The definition that the transaction sees.
    pub(super) fn shown<'a>(&'a self, committed: &'a TableVersion) -> &'a Arc<TableDef> {
        if self.altered.is_some() { &self.def } else { &committed.def }
    }

    /// The version below the transaction's rows that it sees.
    pub(super) fn shown_on<'a>(&'a self, committed: &'a Arc<TableVersion>) -> &'a Arc<TableVersion> {
        match &self.altered {
            Some(altered) if !altered.fits(committed) => &altered.seen,
            _ => committed,
        }
    }

    /// Whether it can be committed to a version.
    pub(super) fn fits(&self, version: &TableVersion) -> bool {
        self.altered.as_ref().map_or(version.def == self.def, |altered| altered.fits(version))
    }

    /// Whether its table may get a name that it did not have.
    pub(super) fn may_name(&self) -> bool {
        self.base == Base::New || self.altered.is_some()
    }
}
