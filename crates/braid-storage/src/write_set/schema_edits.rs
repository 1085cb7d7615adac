//! A transaction's changes of the schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};

use super::{Base, TableWrites, WriteSet};
use crate::StoreError;
use crate::catalog::Catalog;
use crate::schemas::{PUBLIC_SCHEMA, SchemaDef, Schemas};

/// Schemas as they were before the transaction, and as they are to be; `None` where there is none.
#[derive(Clone, Default)]
pub(super) struct SchemaEdits {
    edits: BTreeMap<SchemaId, Edit>,
}

#[derive(Clone)]
struct Edit {
    before: Option<Arc<SchemaDef>>,
    after: Option<Arc<SchemaDef>>,
}

impl SchemaEdits {
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    fn edit(&mut self, view: &Catalog, id: SchemaId, after: Option<Arc<SchemaDef>>) {
        let shown = view.schemas_by_id().get(&id);
        let edit = self.edits.entry(id).or_insert_with(|| Edit { before: shown.cloned(), after: None });
        edit.after = after;
        if edit.before.is_none() && edit.after.is_none() {
            self.edits.remove(&id);
        }
    }

    /// The schemas with these changes, whatever others have changed.
    pub(super) fn shown_on(&self, committed: &Schemas) -> Schemas {
        let mut schemas = committed.clone();
        for (id, edit) in &self.edits {
            match &edit.after {
                Some(after) => drop(schemas.insert(*id, Arc::clone(after))),
                None => drop(schemas.remove(id)),
            }
        }
        schemas
    }

    /// The schemas with these changes.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same schemas, [`StoreError::SchemaExists`] if they have taken a name.
    pub(super) fn committed_on(&self, newest: &Schemas) -> Result<Schemas, StoreError> {
        for (id, before) in self.edits.iter().filter_map(|(id, edit)| Some((id, edit.before.as_ref()?))) {
            if !newest.get(id).is_some_and(|newest| Arc::ptr_eq(newest, before)) {
                return Err(StoreError::Conflict { what: format!("schema \"{}\"", before.name) });
            }
        }
        if self.edits.contains_key(&SchemaId::PUBLIC) && newest.contains_key(&SchemaId::PUBLIC) {
            return Err(StoreError::Conflict { what: format!("schema \"{PUBLIC_SCHEMA}\"") });
        }
        let schemas = self.shown_on(newest);
        let mut names: Vec<&str> = schemas.values().map(|known| &*known.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(StoreError::SchemaExists { schema: pair[0].to_owned() }),
            None => Ok(schemas),
        }
    }

    /// The schemas that only the transaction has.
    pub(super) fn added(&self) -> impl Iterator<Item = &Arc<SchemaDef>> {
        let added = self.edits.values().filter(|edit| edit.before.is_none()).filter_map(|edit| edit.after.as_ref());
        added.filter(|schema| !schema.is_dropped_public())
    }

    /// Whether a schema that all see is created, renamed or dropped.
    pub(super) fn has_lasting(&self) -> bool {
        let both = self.edits.values().flat_map(|edit| edit.before.iter().chain(&edit.after));
        both.into_iter().any(|schema| !schema.is_temporary)
    }
}

impl WriteSet {
    /// Creates a schema. `view` is what the statement sees.
    ///
    /// # Errors
    /// [`StoreError::SchemaExists`].
    pub fn create_schema(&mut self, view: &Catalog, name: &str) -> Result<SchemaId, StoreError> {
        self.add_schema(view, name, false)
    }

    /// Creates the temporary schema of a session: opening the directory drops it, with all that is in it.
    ///
    /// # Errors
    /// [`StoreError::SchemaExists`].
    pub fn create_temporary_schema(&mut self, view: &Catalog, name: &str) -> Result<SchemaId, StoreError> {
        self.add_schema(view, name, true)
    }

    fn add_schema(&mut self, view: &Catalog, name: &str, is_temporary: bool) -> Result<SchemaId, StoreError> {
        check_free(view, name)?;
        let id = SchemaId(self.shared.new_relation_id().0);
        self.schemas.edit(view, id, Some(Arc::new(SchemaDef { id, name: name.to_owned(), is_temporary })));
        Ok(id)
    }

    /// Gives a schema another name.
    ///
    /// # Errors
    /// [`StoreError::SchemaExists`], [`StoreError::UnknownSchema`].
    pub fn rename_schema(&mut self, view: &Catalog, id: SchemaId, name: &str) -> Result<(), StoreError> {
        check_free(view, name)?;
        let known = view.schemas_by_id().get(&id);
        let known = known.ok_or_else(|| StoreError::UnknownSchema { schema: id.to_string() })?;
        self.schemas.edit(view, id, Some(Arc::new(SchemaDef { name: name.to_owned(), ..(**known).clone() })));
        Ok(())
    }

    /// Drops a schema with all that is in it. If others put something in meanwhile, the commit fails.
    ///
    /// # Errors
    /// [`StoreError::UnknownSchema`].
    pub fn drop_schema(&mut self, view: &Arc<Catalog>, id: SchemaId) -> Result<(), StoreError> {
        if view.schema_name(id).is_none() {
            return Err(StoreError::UnknownSchema { schema: id.to_string() });
        }
        for table in view.tables().filter(|table| table.def.schema == id) {
            self.drop_table(view, table.def.id)?;
        }
        let views: Vec<_> =
            view.views().by_id().values().filter(|view| view.schema == id).map(|view| view.id).collect();
        if !views.is_empty() {
            self.change_views(view, |changes| {
                views.into_iter().for_each(|id| changes.remove(id));
                Ok::<_, StoreError>(())
            })?;
        }
        let sequences = view.sequences().filter(|known| known.definition.schema == id);
        let sequences: Vec<_> = sequences.map(|known| known.definition.id).collect();
        if !sequences.is_empty() {
            self.change_sequences(view, |changes| {
                sequences.into_iter().for_each(|id| changes.remove(id));
                Ok::<_, StoreError>(())
            })?;
        }
        let types = view.enum_types().filter(|known| known.definition.schema == id).map(|known| known.definition.oid);
        let types: Vec<u32> = types.collect();
        if !types.is_empty() {
            self.change_types(view, |changes| {
                types.into_iter().for_each(|oid| changes.remove(oid));
                Ok::<_, StoreError>(())
            })?;
        }
        let domains = view.domains().filter(|known| known.definition.schema == id).map(|known| known.definition.oid);
        domains.for_each(|oid| self.remove_domain(view, oid));
        let left = (id == SchemaId::PUBLIC).then(|| Arc::new(SchemaDef::dropped_public()));
        self.schemas.edit(view, id, left);
        Ok(())
    }

    /// Whether a schema that the transaction has created, or that `view` has, is a session's temporary one.
    pub fn is_temporary_schema(&self, view: &Catalog, id: SchemaId) -> bool {
        let edit = self.schemas.edits.get(&id).and_then(|edit| edit.after.as_ref());
        edit.map_or_else(|| view.is_temporary(id), |schema| schema.is_temporary)
    }

    /// Removes all rows of those of these tables that the transaction has changed.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`] does not happen: tables that are gone are passed over.
    pub fn truncate_changed(&mut self, view: &Catalog, is_meant: impl Fn(TableId) -> bool) -> Result<(), StoreError> {
        let changed = self.tables.iter().filter(|(id, writes)| is_meant(**id) && writes.base != Base::Dropped);
        let changed: Vec<_> = changed.map(|(id, _)| *id).filter(|id| view.by_id(*id).is_some()).collect();
        changed.into_iter().try_for_each(|id| self.truncate_table(view, id))
    }

    /// Whether a relation that all see, or its schema, is created, renamed or dropped.
    pub(super) fn changes_lasting_names(&self, newest: &Catalog) -> bool {
        let is_lasting = |schema: SchemaId| {
            let after = self.schemas.edits.get(&schema).and_then(|edit| edit.after.as_ref());
            !newest.is_temporary(schema) && !after.is_some_and(|after| after.is_temporary)
        };
        let is_changed = |writes: &TableWrites| writes.may_name() || writes.base == Base::Dropped;
        let tables = self.tables.values().any(|writes| is_changed(writes) && is_lasting(writes.def.schema));
        tables || self.schemas.has_lasting() || self.sequences.touched().any(|def| is_lasting(def.schema))
    }

    /// Whether anything but rows and comments is other than in this state.
    pub(super) fn changes_definitions(&self, base: &Catalog) -> bool {
        let has_system = self.has_type_edits() || !self.schemas.is_empty() || self.views.is_some();
        let has_others = !self.access.is_empty() || self.sequences.has_changes();
        has_system || has_others || self.tables.values().any(|writes| writes.is_of_definition(base))
    }
}

fn check_free(view: &Catalog, name: &str) -> Result<(), StoreError> {
    match view.schema_named(name) {
        Some(_) => Err(StoreError::SchemaExists { schema: name.to_owned() }),
        None => Ok(()),
    }
}
