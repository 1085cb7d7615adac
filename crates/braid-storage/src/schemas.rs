//! Schemas: what names of relations are unique in.
//!
//! `public` is in every database and is not written down. Temporary schemas belong to sessions: opening a directory removes them with
//! all that is in them, as no session has come along.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};

use crate::catalog::Catalog;

/// The name of [`SchemaId::PUBLIC`].
pub const PUBLIC_SCHEMA: &str = "public";

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    /// Identity, not given out twice, neither to a table.
    pub id: SchemaId,
    /// Name as stored, unique.
    pub name: String,
    /// Whether it goes with its session.
    pub is_temporary: bool,
}

/// The schemas of a catalog but `public`, by their ids.
pub(crate) type Schemas = BTreeMap<SchemaId, Arc<SchemaDef>>;

/// A table, as statements of a store name it.
#[derive(Clone, Copy, Debug)]
pub enum TableRef<'a> {
    /// By its name in schema `public`.
    Named(&'a str),
    /// By its identity.
    Id(TableId),
}

impl<'a> From<&'a str> for TableRef<'a> {
    fn from(name: &'a str) -> Self {
        Self::Named(name)
    }
}

impl<'a> From<&'a String> for TableRef<'a> {
    fn from(name: &'a String) -> Self {
        Self::Named(name)
    }
}

impl From<TableId> for TableRef<'_> {
    fn from(id: TableId) -> Self {
        Self::Id(id)
    }
}

impl Catalog {
    /// The schemas but `public`, oldest first.
    pub fn schemas(&self) -> impl ExactSizeIterator<Item = &Arc<SchemaDef>> {
        self.schemas_by_id().values()
    }

    /// The identity of the schema called `name`, exactly as stored.
    pub fn schema_named(&self, name: &str) -> Option<SchemaId> {
        if name == PUBLIC_SCHEMA {
            return Some(SchemaId::PUBLIC);
        }
        self.schemas().find(|known| known.name == name).map(|known| known.id)
    }

    /// The name of a schema.
    pub fn schema_name(&self, id: SchemaId) -> Option<&str> {
        match id {
            SchemaId::PUBLIC => Some(PUBLIC_SCHEMA),
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
