//! The schemas of a catalog, and the tables that statements of a store name.

use std::sync::Arc;

use braid_base::SchemaId;

use crate::StoreError;
use crate::catalog::Catalog;
use crate::schemas::{PUBLIC_SCHEMA, SchemaDef, TableRef};

impl Catalog {
    /// The schemas but `public`, oldest first.
    pub fn schemas(&self) -> impl ExactSizeIterator<Item = &Arc<SchemaDef>> {
        // It has the lowest id.
        self.schemas_by_id().values().skip(self.is_public_dropped().into())
    }

    /// Whether the schema `public` that was there from the beginning is dropped.
    pub fn is_public_dropped(&self) -> bool {
        self.schemas_by_id().contains_key(&SchemaId::PUBLIC)
    }

    /// The schema that is called `public`.
    ///
    /// # Errors
    /// [`StoreError::UnknownSchema`].
    pub(crate) fn public_schema(&self) -> Result<SchemaId, StoreError> {
        let unknown = || StoreError::UnknownSchema { schema: PUBLIC_SCHEMA.to_owned() };
        self.schema_named(PUBLIC_SCHEMA).ok_or_else(unknown)
    }

    /// The identity of the schema called `name`, exactly as stored.
    pub fn schema_named(&self, name: &str) -> Option<SchemaId> {
        if name == PUBLIC_SCHEMA && !self.is_public_dropped() {
            return Some(SchemaId::PUBLIC);
        }
        self.schemas().find(|known| known.name == name).map(|known| known.id)
    }

    /// The name of a schema.
    pub fn schema_name(&self, id: SchemaId) -> Option<&str> {
        match id {
            SchemaId::PUBLIC => (!self.is_public_dropped()).then_some(PUBLIC_SCHEMA),
            id => self.schemas_by_id().get(&id).map(|known| &*known.name),
        }
    }

    /// Whether a schema goes with its session.
    pub fn is_temporary(&self, id: SchemaId) -> bool {
        self.schemas_by_id().get(&id).is_some_and(|known| known.is_temporary)
    }

    /// The table that is meant.
    pub(crate) fn meant(&self, table: TableRef<'_>) -> Option<&Arc<crate::TableVersion>> {
        match table {
            TableRef::Named(name) => self.table(name),
            TableRef::Id(id) => self.by_id(id),
        }
    }
}
