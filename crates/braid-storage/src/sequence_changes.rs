//! Changes of the sequences: CREATE, ALTER and DROP SEQUENCE. They are parts of transactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_base::{SchemaId, TableId};

use crate::StoreError;
use crate::catalog::{Catalog, CatalogSequence};
use crate::sequences::{SequenceCounter, SequenceDef, SequenceState};
use crate::store_shared::StoreShared;

/// The sequences as they are to be, and what they are decided by.
pub struct SequenceChanges<'a> {
    shared: &'a StoreShared,
    catalog: &'a Catalog,
    sequences: BTreeMap<TableId, CatalogSequence>,
}

impl<'a> SequenceChanges<'a> {
    pub(crate) fn new(
        shared: &'a StoreShared,
        catalog: &'a Catalog,
        sequences: BTreeMap<TableId, CatalogSequence>,
    ) -> Self {
        Self { shared, catalog, sequences }
    }

    pub(crate) fn into_sequences(self) -> BTreeMap<TableId, CatalogSequence> {
        self.sequences
    }

    /// A sequence by its schema and name.
    pub fn named(&self, schema: SchemaId, name: &str) -> Option<&CatalogSequence> {
        self.sequences.values().find(|known| known.definition.name == name && known.definition.schema == schema)
    }

    /// All sequences.
    pub fn all(&self) -> impl Iterator<Item = &CatalogSequence> {
        self.sequences.values()
    }

    /// An identity for a sequence.
    pub fn new_id(&self) -> TableId {
        self.shared.new_relation_id()
    }

    /// Adds a sequence, which begins at its first number.
    ///
    /// # Errors
    /// [`StoreError::TableExists`] if another relation has its name, [`StoreError::InvalidTable`].
    pub fn add(&mut self, definition: SequenceDef) -> Result<(), StoreError> {
        let is_other = self.has_other(definition.schema, &definition.name);
        if is_other || self.named(definition.schema, &definition.name).is_some() {
            return Err(StoreError::TableExists { table: definition.name });
        }
        let state = SequenceState { last_value: definition.start, is_called: false };
        self.restart(definition, state)
    }

    /// Puts a definition in the place of the one with its id. The numbers go on.
    ///
    /// # Errors
    /// [`StoreError::TableExists`] if another relation has its name, [`StoreError::InvalidTable`].
    pub fn redefine(&mut self, definition: SequenceDef) -> Result<(), StoreError> {
        let is_other = |known: &CatalogSequence| known.definition.id != definition.id;
        let is_taken = self.has_other(definition.schema, &definition.name);
        if is_taken || self.named(definition.schema, &definition.name).is_some_and(is_other) {
            return Err(StoreError::TableExists { table: definition.name });
        }
        check(&definition)?;
        if let Some(known) = self.sequences.get_mut(&definition.id) {
            known.definition = Arc::new(definition);
        }
        Ok(())
    }

    /// As [`Self::redefine`]. The sequence stands at `state`.
    ///
    /// # Errors
    /// [`StoreError::InvalidTable`].
    pub fn restart(&mut self, definition: SequenceDef, state: SequenceState) -> Result<(), StoreError> {
        check(&definition)?;
        let id = definition.id;
        self.sequences.insert(id, CatalogSequence::new(Arc::new(definition), SequenceCounter::new(state)));
        Ok(())
    }

    /// Whether a table or a view of a schema has this name.
    fn has_other(&self, schema: SchemaId, name: &str) -> bool {
        self.catalog.table_in(schema, name).is_some() || self.catalog.view_in(schema, name).is_some()
    }

    /// Removes a sequence.
    pub fn remove(&mut self, id: TableId) {
        self.sequences.remove(&id);
    }
}

fn check(definition: &SequenceDef) -> Result<(), StoreError> {
    let invalid = |reason| StoreError::InvalidTable { table: definition.name.clone(), reason };
    definition.validate().map_err(invalid)
}

impl StoreShared {
    /// An identity for a table or a sequence.
    pub(crate) fn new_relation_id(&self) -> TableId {
        TableId(self.next_table_id.fetch_add(1, Ordering::Relaxed))
    }
}
