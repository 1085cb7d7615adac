//! Schemas: what names of relations are unique in.
//!
//! `public` is in every database from the beginning, and is written down only when it is dropped. Temporary schemas belong to sessions: opening a directory removes them with
//! all that is in them, as no session has come along.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{SchemaId, TableId};

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

impl SchemaDef {
    /// What says that the first schema `public` is dropped. Another one may have its name then.
    pub(crate) fn dropped_public() -> Self {
        Self { id: SchemaId::PUBLIC, name: String::new(), is_temporary: false }
    }

    /// Whether it is [`Self::dropped_public`].
    pub(crate) fn is_dropped_public(&self) -> bool {
        self.id == SchemaId::PUBLIC
    }
}

/// Whether a schema is there, beside these.
pub(crate) fn has_schema<'a>(mut schemas: impl Iterator<Item = &'a SchemaDef>, id: SchemaId) -> bool {
    schemas.any(|known| known.id == id) != (id == SchemaId::PUBLIC)
}

/// The schemas of a catalog but `public`, by their ids. If `public` is dropped, [`SchemaDef::dropped_public`] is among them.
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
