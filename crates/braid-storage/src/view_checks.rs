//! The views of a catalog: found by name, and checked against what they read.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};

use crate::catalog::Catalog;
use crate::views::cyclic;
use crate::{SourceColumn, StoreError, TableDef, ViewDef};

impl Catalog {
    /// The view called `name` in a schema, exactly as stored.
    pub fn view_in(&self, schema: SchemaId, name: &str) -> Option<&Arc<ViewDef>> {
        self.views().in_schema(schema, name)
    }

    /// The view called `name` in schema `public`, exactly as stored.
    pub fn view(&self, name: &str) -> Option<&Arc<ViewDef>> {
        self.view_in(self.public_schema().ok()?, name)
    }

    /// The view with the id `id`.
    pub fn view_by_id(&self, id: TableId) -> Option<&Arc<ViewDef>> {
        self.views().by_id().get(&id)
    }

    /// The views whose query reads a table or view, oldest first.
    pub fn views_of(&self, relation: TableId) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.views().by_id().values().filter(move |view| view.reads(relation))
    }

    /// All views whose queries read one of these relations, directly or not.
    pub fn all_views_of(&self, relations: impl IntoIterator<Item = TableId>) -> Vec<Arc<ViewDef>> {
        let mut waiting: Vec<TableId> = relations.into_iter().collect();
        let mut found: BTreeMap<TableId, Arc<ViewDef>> = BTreeMap::new();
        while let Some(relation) = waiting.pop() {
            for view in self.views_of(relation) {
                if found.insert(view.id, view.clone()).is_none() {
                    waiting.push(view.id);
                }
            }
        }
        found.into_values().collect()
    }

    /// Checks that what each view reads is there, that only temporary views read what is temporary, and that no column that a view of the
    /// state `before` reads has another type: its text would mean something else. Names are checked with all others.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub(crate) fn check_views(&self, before: &Self) -> Result<(), StoreError> {
        // Two sessions may each have made one of two views read the other.
        if let Some(view) = cyclic(self.views().by_id().values().map(Arc::as_ref)) {
            return Err(StoreError::Conflict { what: format!("view \"{}\"", view.name) });
        }
        for view in self.views().by_id().values() {
            self.check_view(view)?;
            let is_known = before.view_by_id(view.id).is_some_and(|known| Arc::ptr_eq(known, view));
            if is_known && !self.has_types_as_in(before, view) {
                return Err(StoreError::Conflict { what: format!("view \"{}\"", view.name) });
            }
        }
        Ok(())
    }

    /// Whether the columns that a view reads have the types of another state.
    fn has_types_as_in(&self, other: &Self, view: &ViewDef) -> bool {
        view.stored_sources().all(|(id, columns)| match (self.by_id(id), other.by_id(id)) {
            (Some(table), Some(known)) if table.def != known.def => {
                let type_in = |def: &TableDef, id| def.column_by_id(id).map(|column| column.column_type);
                let mut read = columns.iter().filter(|column| column.is_used).map(|column| column.id);
                read.all(|id| type_in(&table.def, id) == type_in(&known.def, id))
            }
            _ => true,
        })
    }

    fn check_view(&self, view: &ViewDef) -> Result<(), StoreError> {
        let is_there = |(id, columns): (TableId, &[SourceColumn])| match self.by_id(id) {
            Some(table) => {
                let used = columns.iter().filter(|column| column.is_used);
                used.clone().all(|column| table.def.column_by_id(column.id).is_some())
            }
            None => self.view_by_id(id).is_some(),
        };
        let has_types = view.type_oids.iter().all(|oid| self.has_type_of_oid(*oid));
        let schema_of = |id: TableId| match self.by_id(id) {
            Some(table) => Some(table.def.schema),
            None => self.view_by_id(id).map(|view| view.schema),
        };
        let is_temporary = |id: TableId| schema_of(id).is_some_and(|schema| self.is_temporary(schema));
        let mut own = self.by_id(view.id).into_iter().map(|table| table.def.schema);
        if self.by_id(view.id).is_some() != view.is_materialized()
            || own.any(|schema| schema != view.schema)
            || !has_types
            || !view.stored_sources().all(is_there)
            || !self.is_temporary(view.schema) && view.stored_sources().any(|(id, _)| is_temporary(id))
        {
            return Err(StoreError::Conflict { what: format!("view \"{}\"", view.name) });
        }
        Ok(())
    }
}
