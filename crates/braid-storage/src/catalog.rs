//! The catalog: all tables of one state of the database, by name and by id.
//!
//! A [`Catalog`] never changes. A commit makes a new one that shares the versions of the tables it did not touch, and
//! swaps it in; holders of the old one go on seeing the old tables.
//!
//! Beside each version lies its section of the manifest, encoded once, when the version was made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use crate::manifest::{ManifestHeader, encode_table};
use crate::{ColumnDef, DistinctCount, TableVersion};

/// What CREATE TABLE asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// Name as stored: folded to lower case unless it was quoted.
    pub name: String,
    /// Columns in order.
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
}

/// A table of a catalog, with what the manifest says of it.
#[derive(Debug)]
pub(crate) struct TableEntry {
    pub(crate) version: Arc<TableVersion>,
    pub(crate) next_chunk_id: u32,
    section: Vec<u8>,
}

impl Catalog {
    /// The catalog with `entries`, as of the manifest with number `sequence`.
    pub(crate) fn new(sequence: u64, entries: impl IntoIterator<Item = TableEntry>) -> Self {
        let mut catalog = Self { sequence, entries: BTreeMap::new(), ids: HashMap::new() };
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

    /// The entry of the table with the id `id`.
    pub(crate) fn entry(&self, id: TableId) -> Option<&TableEntry> {
        self.entries.get(&id).map(Arc::as_ref)
    }

    /// The next state: this one with `entry` added, or in the place of the entry with the same table id.
    pub(crate) fn with(&self, entry: TableEntry) -> Self {
        assert_eq!(entry.version.sequence, self.sequence + 1, "a commit's table carries its number");
        let mut next = Self { sequence: self.sequence + 1, ..self.clone() };
        next.insert(entry);
        next
    }

    /// The next state: this one without the table with the id `id`.
    pub(crate) fn without(&self, id: TableId) -> Self {
        let mut next = Self { sequence: self.sequence + 1, ..self.clone() };
        if let Some(entry) = next.entries.remove(&id) {
            next.ids.remove(&entry.version.def.name);
        }
        next
    }

    /// The bytes of the manifest of this state.
    pub(crate) fn manifest_bytes(&self, next_file_id: u64, next_table_id: u32) -> Vec<u8> {
        let header = ManifestHeader { sequence: self.sequence, next_file_id, next_table_id };
        header.assemble(self.entries.values().map(|entry| entry.section.as_slice()))
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
        let section = encode_table(&version.def, next_chunk_id, version.sequence, chunks, sketches);
        Self { version, next_chunk_id, section }
    }
}
