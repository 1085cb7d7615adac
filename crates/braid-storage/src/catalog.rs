//! The catalog: all tables, views and enumerated types of one state of the database, by name and by id.
//!
//! A [`Catalog`] never changes. A commit makes a new one that shares the versions of the tables it did not touch, and
//! swaps it in; holders of the old one go on seeing the old tables.
//!
//! Beside each version lies its section of the manifest, encoded once, when the version was made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use braid_base::{ColumnId, EnumType, EnumTypeId, EnumTypeRef, TableId};

use crate::manifest::{ManifestHeader, encode_table, encode_types};
use crate::view_set::Views;
use crate::{ColumnDef, ColumnType, DistinctCount, StoreError, TableDef, TableVersion, ViewDef};

/// What CREATE TABLE asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// Name as stored: folded to lower case unless it was quoted.
    pub name: String,
    /// Columns in order; they get the ids 0, 1, 2 and so on.
    pub columns: Vec<ColumnDef>,
    /// Columns declared PRIMARY KEY; they become NOT NULL.
    pub primary_key: Vec<ColumnId>,
}

/// One state of the database.
#[derive(Clone, Debug)]
pub struct Catalog {
    sequence: u64,
    entries: BTreeMap<TableId, Arc<TableEntry>>,
    ids: HashMap<String, TableId>,
    types: Arc<BTreeMap<u32, CatalogType>>,
    types_changed: u64,
    views: Arc<Views>,
    views_changed: u64,
}

/// An enumerated type of a catalog.
#[derive(Clone, Debug)]
pub struct CatalogType {
    /// The type in all states of the database.
    pub id: EnumTypeId,
    /// What it is in this one.
    pub definition: Arc<EnumType>,
}

/// A table of a catalog, with what the manifest says of it.
#[derive(Debug)]
pub(crate) struct TableEntry {
    pub(crate) version: Arc<TableVersion>,
    pub(crate) next_chunk_id: u32,
    section: Vec<u8>,
}

impl Catalog {
    /// The catalog with `types`, by their oids, and `entries`, as of the manifest with number `sequence`.
    pub(crate) fn new(
        sequence: u64,
        types: BTreeMap<u32, CatalogType>,
        entries: impl IntoIterator<Item = TableEntry>,
    ) -> Self {
        let types = Arc::new(types);
        let (entries_by_id, ids, views) = Default::default();
        let (types_changed, views_changed) = (sequence, sequence);
        let mut catalog = Self { sequence, entries: entries_by_id, ids, types, types_changed, views, views_changed };
        entries.into_iter().for_each(|entry| catalog.insert(entry));
        catalog
    }

    /// The table called `name`, exactly as stored.
    pub fn table(&self, name: &str) -> Option<&Arc<TableVersion>> {
        self.ids.get(name).and_then(|id| self.by_id(*id))
    }

    /// The table with the id `id`.
    pub fn by_id(&self, id: TableId) -> Option<&Arc<TableVersion>> {
        self.entries.get(&id).map(|entry| &entry.version)
    }

    /// All tables, oldest first.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Arc<TableVersion>> {
        self.entries.values().map(|entry| &entry.version)
    }

    /// Number of the commit that made this state; 0 for a new data directory.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Data files of all tables.
    pub fn data_file_count(&self) -> usize {
        let chunks = self.tables().flat_map(|version| version.chunks.iter());
        chunks.map(|chunk| chunk.file.id()).collect::<HashSet<_>>().len()
    }

    /// All enumerated types, oldest first.
    pub fn enum_types(&self) -> impl ExactSizeIterator<Item = &CatalogType> {
        self.types.values()
    }

    /// The enumerated type called `name`, exactly as stored.
    pub fn enum_type(&self, name: &str) -> Option<&CatalogType> {
        self.types.values().find(|known| known.definition.name == name)
    }

    /// Number of the commit that last changed the types, or of the state that was opened.
    pub fn types_changed(&self) -> u64 {
        self.types_changed
    }

    /// All views.
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// Number of the commit that last changed the views, or of the state that was opened.
    pub fn views_changed(&self) -> u64 {
        self.views_changed
    }

    /// Whether an enumerated type, or the array type of one, has this name.
    pub fn has_type(&self, name: &str) -> bool {
        self.types.values().any(|known| known.definition.name == name || known.definition.array_name == name)
    }

    /// Whether an enumerated type, or the array type of one, has this oid.
    pub(crate) fn has_type_of_oid(&self, oid: u32) -> bool {
        self.types.values().any(|known| known.definition.oid == oid || known.definition.array_oid == oid)
    }

    /// The columns of an enumerated type, with their tables.
    pub fn columns_of_type(&self, id: EnumTypeId) -> impl Iterator<Item = (&TableDef, &ColumnDef)> {
        let columns =
            self.tables().flat_map(|version| version.def.columns.iter().map(|column| (&*version.def, column)));
        columns.filter(move |(_, column)| column.column_type == ColumnType::Enum(EnumTypeRef::Open(id)))
    }

    /// Checks that a new table has a name that no type has, and columns of types that exist.
    pub(crate) fn check_types_of(&self, def: &TableDef) -> Result<(), StoreError> {
        if self.has_type(&def.name) {
            return Err(StoreError::TypeExists { name: def.name.clone() });
        }
        for column in &def.columns {
            if let ColumnType::Enum(enum_type) = column.column_type
                && !self.types.contains_key(&enum_type.oid())
            {
                return Err(StoreError::UnknownType { name: column.column_type.to_string() });
            }
        }
        Ok(())
    }

    /// All enumerated types by their oids.
    pub(crate) fn types_by_oid(&self) -> &BTreeMap<u32, CatalogType> {
        &self.types
    }

    /// The same state with another number, to be changed.
    pub(crate) fn numbered(&self, sequence: u64) -> Self {
        Self { sequence, ..self.clone() }
    }

    /// Puts these types in the place of its own.
    pub(crate) fn set_types(&mut self, types: BTreeMap<u32, CatalogType>) {
        self.types = Arc::new(types);
        self.types_changed = self.sequence;
    }

    /// Puts these views in the place of its own.
    pub(crate) fn set_views(&mut self, views: BTreeMap<TableId, Arc<ViewDef>>) {
        self.views = Arc::new(Views::new(views));
        self.views_changed = self.sequence;
    }

    /// Makes the definitions of this state those that all statements see.
    pub(crate) fn announce_types(&self, before: &Self) {
        if !Arc::ptr_eq(&self.types, &before.types) {
            self.types.values().for_each(|known| known.id.redefine(known.definition.clone()));
        }
    }

    /// The entry of the table with the id `id`.
    pub(crate) fn entry(&self, id: TableId) -> Option<&TableEntry> {
        self.entries.get(&id).map(Arc::as_ref)
    }

    /// Adds `entry`, or puts it in the place of the entry with the same table id.
    ///
    /// # Panics
    /// If the entry has another number, or another table has its name.
    pub(crate) fn put(&mut self, entry: TableEntry) {
        assert_eq!(entry.version.sequence, self.sequence, "a table carries the number of its commit");
        self.insert(entry);
    }

    /// As [`Self::put`]. The entry hides another table of its name.
    pub(crate) fn shadow(&mut self, entry: TableEntry) {
        if let Some(hidden) = self.ids.get(&entry.version.def.name).copied() {
            self.remove(hidden);
        }
        self.put(entry);
    }

    /// Removes the table with the id `id`, if there is one.
    pub(crate) fn remove(&mut self, id: TableId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.ids.remove(&entry.version.def.name);
        }
    }

    /// The bytes of the manifest of this state.
    pub(crate) fn manifest_bytes(&self, next_file_id: u64, next_table_id: u32, next_type_oid: u32) -> Vec<u8> {
        let mut types = encode_types(next_type_oid, self.types.values().map(|known| &*known.definition));
        types.extend_from_slice(self.views.section());
        let header = ManifestHeader { sequence: self.sequence, next_file_id, next_table_id };
        header.assemble(&types, self.entries.values().map(|entry| entry.section.as_slice()))
    }

    fn insert(&mut self, entry: TableEntry) {
        let def = &entry.version.def;
        let former = self.ids.insert(def.name.clone(), def.id);
        assert!(former.is_none_or(|former| former == def.id), "names are unique");
        self.entries.insert(def.id, Arc::new(entry));
    }
}

impl TableEntry {
    /// The entry of `version`, whose next chunk gets the id `next_chunk_id`.
    pub(crate) fn new(version: Arc<TableVersion>, next_chunk_id: u32) -> Self {
        let chunks = version.chunks.iter().map(|c| (c.id, c.row_count, c.file.id(), c.segments.as_slice()));
        let sketches = version.distinct.iter().map(|count| count.as_ref().map(DistinctCount::sketch));
        let deleted = version.chunks.iter().filter_map(|chunk| Some((chunk.id, chunk.deleted.as_deref()?)));
        let section = encode_table(&version.def, next_chunk_id, version.sequence, chunks, sketches, deleted);
        Self { version, next_chunk_id, section }
    }

    /// The entry of a version that no manifest has.
    pub(crate) fn of_view(version: Arc<TableVersion>) -> Self {
        Self { version, next_chunk_id: 0, section: Vec::new() }
    }
}
