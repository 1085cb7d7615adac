//! Changes of the views: CREATE VIEW, ALTER VIEW, DROP VIEW.
//!
//! They are a part of a write set. Who reads what is checked when it is committed, on the state that it is put on.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};

use crate::catalog::Catalog;
use crate::store_shared::StoreShared;
use crate::{StoreError, ViewDef};

/// The views of the next state, and what they are decided by.
pub struct ViewChanges<'a> {
    shared: &'a StoreShared,
    catalog: Arc<Catalog>,
    views: BTreeMap<TableId, Arc<ViewDef>>,
    is_changed: bool,
}

impl<'a> ViewChanges<'a> {
    pub(crate) fn new(shared: &'a StoreShared, catalog: Arc<Catalog>, views: BTreeMap<TableId, Arc<ViewDef>>) -> Self {
        Self { shared, catalog, views, is_changed: false }
    }

    /// The views, if they have changed.
    pub(crate) fn into_changed(self) -> Option<BTreeMap<TableId, Arc<ViewDef>>> {
        self.is_changed.then_some(self.views)
    }

    /// What the statement sees, without these changes.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Adds a view, which gets an id of its own.
    ///
    /// # Errors
    /// [`StoreError::TableExists`], [`StoreError::TypeExists`] for a name that is taken.
    pub fn add(&mut self, view: ViewDef) -> Result<TableId, StoreError> {
        self.check_free(view.schema, &view.name)?;
        let id = self.shared.new_relation_id();
        self.put(ViewDef { id, ..view });
        Ok(id)
    }

    /// Puts a view in the place of the one with its id, or adds the view of a table, which is materialized.
    pub fn put(&mut self, view: ViewDef) {
        self.views.insert(view.id, Arc::new(view));
        self.is_changed = true;
    }

    /// Gives a view another name.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn rename(&mut self, view: &ViewDef, name: String) -> Result<(), StoreError> {
        self.check_free(view.schema, &name)?;
        self.put(ViewDef { name, ..view.clone() });
        Ok(())
    }

    /// Moves a view to another schema.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn move_to(&mut self, view: &ViewDef, schema: SchemaId) -> Result<(), StoreError> {
        self.check_free(schema, &view.name)?;
        self.put(ViewDef { schema, ..view.clone() });
        Ok(())
    }

    /// Removes a view.
    pub fn remove(&mut self, id: TableId) {
        self.is_changed |= self.views.remove(&id).is_some();
    }

    fn check_free(&self, schema: SchemaId, name: &str) -> Result<(), StoreError> {
        let (table, sequence) = (self.catalog.table_in(schema, name), self.catalog.sequence_in(schema, name));
        let is_other = table.is_some() || sequence.is_some() || self.catalog.key_in(schema, name).is_some();
        if is_other || self.views.values().any(|view| view.schema == schema && view.name == name) {
            return Err(StoreError::TableExists { table: name.to_owned() });
        }
        match self.catalog.has_type_in(schema, name) {
            true => Err(StoreError::TypeExists { name: name.to_owned() }),
            false => Ok(()),
        }
    }
}
