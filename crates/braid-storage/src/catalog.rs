//! The catalog: all schemas, tables, views, sequences, enumerated types and domains of one state of the database, by name and by id, the comments
//! on them, and who may do what with them.
//!
//! A [`Catalog`] never changes. A commit makes a new one that shares the versions of the tables it did not touch, and
//! swaps it in; holders of the old one go on seeing the old tables.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use braid_base::{ColumnId, DomainType, DomainTypeId, EnumType, EnumTypeId, EnumTypeRef, SchemaId, TableId};

use crate::access::AccessControl;
use crate::comments::Comments;
use crate::foreign_keys::{Referencing, note_references};
use crate::manifest::{ChunkEntry, ManifestHeader, NextIds, encode_system, encode_table};
use crate::schemas::Schemas;
use crate::sequences::{SequenceCounter, SequenceDef, SequenceOwner, SequenceState, SequenceUse};
use crate::view_set::Views;
use crate::{ColumnDef, ColumnType, DistinctCount, KeyDef, TableDef, TableVersion, ViewDef};

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
    ids: BTreeMap<SchemaId, HashMap<String, TableId>>,
    schemas: Arc<Schemas>,
    names_changed: u64,
    schemas_changed: u64,
    definitions_changed: u64,
    types: Arc<BTreeMap<u32, CatalogType>>,
    domains: Arc<BTreeMap<u32, CatalogDomain>>,
    types_changed: u64,
    sequences: Arc<BTreeMap<TableId, CatalogSequence>>,
    views: Arc<Views>,
    views_changed: u64,
    comments: Arc<Comments>,
    access: Arc<AccessControl>,
    access_changed: u64,
    referencing: Arc<Referencing>,
}

/// An enumerated type of a catalog.
#[derive(Clone, Debug)]
pub struct CatalogType {
    /// The type in all states of the database.
    pub id: EnumTypeId,
    /// What it is in this one.
    pub definition: Arc<EnumType>,
}

/// A domain of a catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogDomain {
    /// The domain in all states of the database.
    pub id: DomainTypeId,
    /// What it is in this one.
    pub definition: Arc<DomainType>,
}

/// A sequence of a catalog.
#[derive(Clone, Debug)]
pub struct CatalogSequence {
    /// What it is in this state of the database.
    pub definition: Arc<SequenceDef>,
    /// Where it stands, in all states in which it was not restarted.
    pub counter: Arc<SequenceCounter>,
    /// Where it stands after a crash.
    pub(crate) reserved: SequenceState,
}

/// A table of a catalog.
#[derive(Debug)]
pub(crate) struct TableEntry {
    pub(crate) version: Arc<TableVersion>,
    pub(crate) next_chunk_id: u32,
}

impl Catalog {
    /// The catalog with `types`, by their oids, and `entries`, as of the manifest with number `sequence`.
    pub(crate) fn new(
        sequence: u64,
        types: BTreeMap<u32, CatalogType>,
        entries: impl IntoIterator<Item = TableEntry>,
    ) -> Self {
        let mut catalog = Self {
            sequence,
            entries: BTreeMap::new(),
            ids: BTreeMap::new(),
            schemas: Arc::default(),
            names_changed: sequence,
            schemas_changed: 0,
            definitions_changed: sequence,
            types: Arc::new(types),
            domains: Arc::default(),
            types_changed: sequence,
            sequences: Arc::default(),
            views: Arc::default(),
            views_changed: sequence,
            comments: Arc::default(),
            access: Arc::default(),
            access_changed: sequence,
            referencing: Arc::default(),
        };
        entries.into_iter().for_each(|entry| catalog.insert(entry));
        catalog
    }

    /// The table called `name` in schema `public`, exactly as stored.
    pub fn table(&self, name: &str) -> Option<&Arc<TableVersion>> {
        self.table_in(self.public_schema().ok()?, name)
    }

    /// The table called `name` in a schema, exactly as stored.
    pub fn table_in(&self, schema: SchemaId, name: &str) -> Option<&Arc<TableVersion>> {
        self.ids.get(&schema)?.get(name).and_then(|id| self.by_id(*id))
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
        chunks.filter_map(|chunk| chunk.file.as_ref()).map(|file| file.id()).collect::<HashSet<_>>().len()
    }

    /// All enumerated types, oldest first.
    pub fn enum_types(&self) -> impl ExactSizeIterator<Item = &CatalogType> {
        self.types.values()
    }

    /// The enumerated type called `name` in a schema, exactly as stored.
    pub fn enum_type_in(&self, schema: SchemaId, name: &str) -> Option<&CatalogType> {
        self.types.values().find(|known| known.definition.schema == schema && known.definition.name == name)
    }

    /// Number of the commit that last changed which relations there are, how they and their schemas are called, or of the state that
    /// was opened. Temporary ones do not count.
    pub fn names_changed(&self) -> u64 {
        self.names_changed
    }

    /// Number of the commit that last created, renamed or dropped a schema that is not temporary, or of the state that was opened with some;
    /// 0 if there were never any.
    pub fn schemas_changed(&self) -> u64 {
        self.schemas_changed
    }

    /// Number of the commit that last changed what names and columns mean, and who may use them, or of the state that was opened: any change but
    /// of rows and comments. The state of a transaction that has made such a change has a number of its own.
    pub fn definitions_changed(&self) -> u64 {
        self.definitions_changed
    }

    /// Number of the commit that last changed the types or domains, or of the state that was opened.
    pub fn types_changed(&self) -> u64 {
        self.types_changed
    }

    /// All sequences, oldest first.
    pub fn sequences(&self) -> impl ExactSizeIterator<Item = &CatalogSequence> {
        self.sequences.values()
    }

    /// The sequence called `name` in schema `public`, exactly as stored.
    pub fn sequence_named(&self, name: &str) -> Option<&CatalogSequence> {
        self.sequence_in(self.public_schema().ok()?, name)
    }

    /// The sequence called `name` in a schema, exactly as stored.
    pub fn sequence_in(&self, schema: SchemaId, name: &str) -> Option<&CatalogSequence> {
        self.sequences.values().find(|known| known.definition.name == name && known.definition.schema == schema)
    }

    /// The sequence with the id `id`.
    pub fn sequence_by_id(&self, id: TableId) -> Option<&CatalogSequence> {
        self.sequences.get(&id)
    }

    /// The sequences that a column owns.
    pub fn sequences_of(&self, table: TableId, column: ColumnId) -> impl Iterator<Item = &CatalogSequence> {
        let is_owner = move |owner: SequenceOwner| owner.table == table && owner.column == column;
        self.sequences.values().filter(move |known| known.definition.owner.is_some_and(is_owner))
    }

    /// How the values of an identity column are generated; `None` for other columns.
    pub fn identity_of(&self, table: TableId, column: ColumnId) -> Option<SequenceUse> {
        let usages = self.sequences_of(table, column).filter_map(|known| known.definition.owner);
        usages.map(|owner| owner.usage).find(|usage| *usage != SequenceUse::Owned)
    }

    /// The key with this name in a schema, and its table.
    pub fn key_in(&self, schema: SchemaId, name: &str) -> Option<(&Arc<TableVersion>, &KeyDef)> {
        let mut tables = self.tables().filter(|version| version.def.schema == schema);
        tables.find_map(|version| Some((version, version.def.key(name)?)))
    }

    /// The names of all tables, views and sequences of a schema.
    pub fn names_in(&self, schema: SchemaId) -> impl Iterator<Item = &str> {
        let tables = self.ids.get(&schema).into_iter().flat_map(|ids| ids.keys().map(String::as_str));
        let sequences = self.sequences.values().filter(move |known| known.definition.schema == schema);
        let views = self.views.by_id().values().filter(move |view| view.schema == schema && !view.is_materialized());
        let sequences = sequences.map(|known| &*known.definition.name);
        tables.chain(sequences).chain(views.map(|view| &*view.name))
    }

    /// All views.
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// Number of the commit that last changed the views, or of the state that was opened.
    pub fn views_changed(&self) -> u64 {
        self.views_changed
    }

    /// The columns of an enumerated type, with their tables.
    pub fn columns_of_type(&self, id: EnumTypeId) -> impl Iterator<Item = (&TableDef, &ColumnDef)> {
        let columns =
            self.tables().flat_map(|version| version.def.columns.iter().map(|column| (&*version.def, column)));
        columns.filter(move |(_, column)| column.column_type == ColumnType::Enum(EnumTypeRef::Open(id)))
    }

    /// The tables that refer to others, by these.
    pub(crate) fn referencing(&self) -> &Referencing {
        &self.referencing
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

    /// All domains by their oids.
    pub(crate) fn domains_by_oid(&self) -> &BTreeMap<u32, CatalogDomain> {
        &self.domains
    }

    /// Puts these domains in the place of its own.
    pub(crate) fn set_domains(&mut self, domains: BTreeMap<u32, CatalogDomain>) {
        self.domains = Arc::new(domains);
        self.types_changed = self.sequence;
    }

    /// Whether the domains are those of another state, unchanged.
    pub(crate) fn has_domains_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.domains, &other.domains)
    }

    /// The schemas but `public`, by their ids.
    pub(crate) fn schemas_by_id(&self) -> &Schemas {
        &self.schemas
    }

    /// Puts these schemas in the place of its own.
    pub(crate) fn set_schemas(&mut self, schemas: Schemas) {
        self.schemas = Arc::new(schemas);
    }

    /// Whether the schemas are those of another state, unchanged.
    pub(crate) fn has_schemas_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.schemas, &other.schemas)
    }

    /// Says that the schemas of this state are other ones than those of the state before.
    pub(crate) fn note_changed_schemas(&mut self) {
        self.schemas_changed = self.sequence;
    }

    /// Says that what names and columns mean is not what it was in the state before.
    pub(crate) fn note_changed_definitions(&mut self) {
        self.definitions_changed = self.sequence;
    }

    /// Says that the names of this state are other ones than those of the state before.
    pub(crate) fn note_changed_names(&mut self) {
        self.names_changed = self.sequence;
    }

    /// All sequences by their ids.
    pub(crate) fn sequences_by_id(&self) -> &BTreeMap<TableId, CatalogSequence> {
        &self.sequences
    }

    /// Puts these sequences in the place of its own, without those whose owners are gone.
    pub(crate) fn set_sequences(&mut self, sequences: BTreeMap<TableId, CatalogSequence>) {
        self.sequences = Arc::new(sequences);
        self.drop_orphaned_sequences();
    }

    /// Removes the sequences whose owners are gone: after a table or a column was dropped.
    pub(crate) fn drop_orphaned_sequences(&mut self) {
        let is_gone = |known: &CatalogSequence| {
            let owner = known.definition.owner;
            owner.is_some_and(|owner| {
                self.by_id(owner.table).is_none_or(|of| of.def.column_by_id(owner.column).is_none())
            })
        };
        if self.sequences.values().any(is_gone) {
            let kept = self.sequences.iter().filter(|(_, known)| !is_gone(known));
            self.sequences = Arc::new(kept.map(|(id, known)| (*id, known.clone())).collect());
        }
    }

    /// Puts these views in the place of its own.
    pub(crate) fn set_views(&mut self, views: BTreeMap<TableId, Arc<ViewDef>>) {
        self.views = Arc::new(Views::new(views));
        self.views_changed = self.sequence;
    }

    /// All comments, by what they are about.
    pub(crate) fn comments_by_subject(&self) -> &Comments {
        &self.comments
    }

    /// Puts these comments in the place of its own.
    pub(crate) fn set_comments(&mut self, comments: Comments) {
        self.comments = Arc::new(comments);
    }

    /// Whether the comments are those of another state, unchanged.
    pub(crate) fn has_comments_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.comments, &other.comments)
    }

    /// Who may do what.
    pub fn access(&self) -> &AccessControl {
        &self.access
    }

    /// [`Self::access`], shared.
    pub(crate) fn shared_access(&self) -> &Arc<AccessControl> {
        &self.access
    }

    /// Number of the commit that last changed who may do what, or of the state that was opened.
    pub fn access_changed(&self) -> u64 {
        self.access_changed
    }

    /// Puts this access control in the place of its own.
    pub(crate) fn set_access(&mut self, access: AccessControl) {
        self.access = Arc::new(access);
        self.access_changed = self.sequence;
    }

    /// Whether the access control is that of another state, unchanged.
    pub(crate) fn has_access_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.access, &other.access)
    }

    /// Makes the definitions of this state those that all statements see.
    pub(crate) fn announce_types(&self, before: &Self) {
        if !self.has_types_of(before) {
            self.types.values().for_each(|known| known.id.redefine(known.definition.clone()));
        }
        if !self.has_domains_of(before) {
            self.domains.values().for_each(|known| known.id.redefine(known.definition.clone()));
        }
    }

    /// Whether a table, view or sequence is the same in another state, with the same rows, or in neither.
    pub fn has_same_relation(&self, other: &Self, id: TableId) -> bool {
        let entries = [self, other].map(|state| state.entries.get(&id).map(Arc::as_ptr));
        let views = [self, other].map(|state| state.views.by_id().get(&id).map(Arc::as_ptr));
        let sequences = match (self.sequences.get(&id), other.sequences.get(&id)) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        entries[0] == entries[1] && views[0] == views[1] && sequences
    }

    /// The entry of the table with the id `id`.
    pub(crate) fn entry(&self, id: TableId) -> Option<&TableEntry> {
        self.entries.get(&id).map(Arc::as_ref)
    }

    /// As [`Self::entry`]: states share the entries of tables that have not changed.
    pub(crate) fn shared_entry(&self, id: TableId) -> Option<&Arc<TableEntry>> {
        self.entries.get(&id)
    }

    /// The entries of all tables, by ascending id.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.entries.values()
    }

    /// Whether the sequences are those of another state, and stand where they do there after a crash.
    pub(crate) fn has_sequences_of(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&CatalogSequence, &CatalogSequence)| {
            Arc::ptr_eq(&one.definition, &other.definition) && one.reserved == other.reserved
        };
        let is_as_long = self.sequences.len() == other.sequences.len();
        Arc::ptr_eq(&self.sequences, &other.sequences)
            || is_as_long && self.sequences.values().zip(other.sequences.values()).all(is_same)
    }

    /// All sequences, by ascending id, and where they stand after a crash.
    pub(crate) fn stored_sequences(&self) -> impl Iterator<Item = (Arc<SequenceDef>, SequenceState)> {
        self.sequences.values().map(|known| (Arc::clone(&known.definition), known.reserved))
    }

    /// Whether the views are those of another state, unchanged.
    pub(crate) fn has_views_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.views, &other.views)
    }

    /// Whether the enumerated types are those of another state, unchanged.
    pub(crate) fn has_types_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.types, &other.types)
    }

    /// Adds `entry`, or puts it in the place of the entry with the same table id.
    ///
    /// # Panics
    /// If the entry has another number, or another table of its schema has its name.
    pub(crate) fn put(&mut self, entry: TableEntry) {
        assert_eq!(entry.version.sequence, self.sequence, "a table carries the number of its commit");
        self.insert(entry);
    }

    /// As [`Self::put`]. The entry hides another table of its name.
    pub(crate) fn shadow(&mut self, entry: TableEntry) {
        let def = &entry.version.def;
        if let Some(hidden) = self.table_in(def.schema, &def.name).map(|hidden| hidden.def.id) {
            self.remove(hidden);
        }
        self.put(entry);
    }

    /// Removes the table with the id `id`, if there is one.
    pub(crate) fn remove(&mut self, id: TableId) {
        if let Some(entry) = self.entries.remove(&id) {
            let def = &entry.version.def;
            note_references(&mut self.referencing, id, (&def.foreign_keys, &[]));
            if let Some(ids) = self.ids.get_mut(&def.schema) {
                ids.remove(&def.name);
            }
        }
    }

    /// The bytes of the manifest of this state, which the records of this log follow.
    pub(crate) fn manifest_bytes(&self, next_ids: NextIds, log_number: u64) -> Vec<u8> {
        let sections: Vec<Vec<u8>> = self.entries.values().map(|entry| entry.section()).collect();
        let types = self.types.values().map(|known| &*known.definition);
        let schemas = self.schemas.values().map(|known| &**known);
        let sequences = self.sequences.values().map(|known| (&*known.definition, known.reserved));
        let views = self.views.by_id().values().map(Arc::as_ref);
        let domains = self.domains.values().map(|known| &*known.definition);
        let system = encode_system(next_ids, (types, domains), schemas, sequences, views, &self.comments, &self.access);
        ManifestHeader { sequence: self.sequence, next_ids, log_number }
            .assemble(&system, sections.iter().map(Vec::as_slice))
    }

    fn insert(&mut self, entry: TableEntry) {
        let def = &entry.version.def;
        let former = self.ids.entry(def.schema).or_default().insert(def.name.clone(), def.id);
        assert!(former.is_none_or(|former| former == def.id), "names are unique in a schema");
        let before = self.entries.get(&def.id).map(|known| &known.version.def.foreign_keys[..]);
        note_references(&mut self.referencing, def.id, (before.unwrap_or_default(), &def.foreign_keys));
        self.entries.insert(def.id, Arc::new(entry));
    }
}

impl CatalogSequence {
    pub(crate) fn new(definition: Arc<SequenceDef>, counter: Arc<SequenceCounter>) -> Self {
        let reserved = counter.reserved();
        Self { definition, counter, reserved }
    }

    /// Whether it was neither changed nor restarted.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.definition, &other.definition) && Arc::ptr_eq(&self.counter, &other.counter)
    }
}

impl TableEntry {
    /// The entry of `version`, whose next chunk gets the id `next_chunk_id`.
    pub(crate) fn new(version: Arc<TableVersion>, next_chunk_id: u32) -> Self {
        Self { version, next_chunk_id }
    }

    /// The entry of a version that is never committed.
    pub(crate) fn of_view(version: Arc<TableVersion>) -> Self {
        Self { version, next_chunk_id: 0 }
    }

    /// The table's section of the manifest.
    fn section(&self) -> Vec<u8> {
        let version = &self.version;
        let chunks = version.chunks.iter().map(|chunk| ChunkEntry {
            id: chunk.id,
            row_count: chunk.row_count,
            file_id: chunk.file.as_ref().map(|file| file.id()),
            segments: &chunk.segments,
        });
        let sketches = version.distinct.iter().map(|count| count.as_ref().map(DistinctCount::sketch));
        let deleted = version.chunks.iter().filter_map(|chunk| Some((chunk.id, chunk.deleted.as_deref()?)));
        encode_table(&version.def, self.next_chunk_id, version.sequence, chunks, sketches, deleted)
    }
}
