//! The manifest: one file that names every table, column, chunk, segment and data file of one state of the database.
//!
//! It is a checkpoint: commits are records in the log (`commit_log.rs`), and the manifest names the log with the records that follow
//! its state. It is written whole and switched by renaming, so there is never a manifest that is half old and half new. Its size is
//! what zone maps cost, about 70 bytes a segment: some 600 kB for TPC-H at scale factor 10, and the rows in memory. The sketches of
//! different values take at most 769 bytes a column.
//!
//! Bytes, little-endian throughout; the sections follow each other without gaps, in [`table_section`]'s form:
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `BRAIDMAN` |
//! | 8 | 4 | format version, [`FORMAT_VERSION`] |
//! | 12 | 4 | 0 |
//! | 16 | 8 | XXH3-64 of bytes `24..length` |
//! | 24 | 8 | length in bytes, from offset 0, padding excluded |
//! | 32 | 8 | sequence number, one higher with each commit |
//! | 40 | 8 | next data file id |
//! | 48 | 4 | next table id |
//! | 52 | 4 | number of tables |
//! | 56 | 8 | from version 6 on: number of the first log whose records follow |
//! | | | from version 4 on: the enumerated types, in the form of [`type_section`] |
//! | | | from version 6 on: the schemas but `public`, in the form of [`schema_section`] |
//! | | | from version 6 on: the sequences, in the form of [`sequence_section`] |
//! | | | from version 6 on: the views, in the form of [`view_section`] |
//! | | | from version 7 on: the comments, in the form of [`comment_section`] |
//! | | | from version 8 on: the access control, in the form of [`access_section`] |
//! | | | from version 9 on: the domains, in the form of [`domain_section`] |
//! | | | one section for each table |
//! | length | | zeros up to a multiple of 4096 |
//!
//! Invariant: [`Manifest::decode`] is total. On any bytes it returns a manifest whose every relation has been checked
//! (ids below their next ids, columns and chunks ascending, segments aligned and at most one per column, bounds of the column's type) or a
//! typed error; it never panics and never allocates more than a small multiple of its input.
//!
//! The versions before are read as well; opening the directory writes the present one. Version 1 has no sketches; versions 1 and 2
//! have no numerics without a precision as integers; versions 1 to 3 have no enumerated types; versions 1 to 4 have no deleted
//! rows, the ids of their columns are the columns' ordinals, and each of their chunks has a segment of each column; versions 1 to
//! 5 have no check constraints, no enforced keys, no log, no chunks in memory, no schemas but `public`, no sequences and no views; versions
//! 1 to 6 have no generated columns, no foreign keys and no comments; versions 1 to 7 have no access control;
//! versions 1 to 8 have no domains.
//!
//! Deliberately not done: guessing. A wrong checksum is an error, not a
//! reason to fall back to an older state: rows whose commit was reported would be gone without a word.

mod access_section;
mod byte_reader;
mod comment_section;
mod commit_record;
mod constraint_section;
mod deleted_rows_section;
mod domain_section;
mod foreign_key_section;
mod generation_section;
mod missing_value;
mod scalars;
mod schema_section;
mod sequence_section;
mod sketch_section;
mod table_section;
mod type_section;
mod view_section;

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::enum_types::FIRST_TYPE_OID;
use braid_base::{ChunkId, DomainType, EnumType, EnumTypeRef, SEGMENT_ALIGN_BYTES, SchemaId, TableId};

use crate::access::AccessControl;
use crate::checksum::checksum;
use crate::comments::Comments;
use crate::data_file_header::DataFileId;
use crate::foreign_key_checks::first_unfit;
use crate::schemas::{SchemaDef, has_schema};
use crate::sequences::{SequenceDef, SequenceState};
use crate::{
    ColumnDef, ColumnDomain, ColumnType, DeletedRows, DistinctSketch, ManifestError, SegmentMeta, TableDef, ViewDef,
};

use access_section::put_access;
use byte_reader::ByteReader;
use comment_section::put_comments;
pub use commit_record::{CommitRecord, SketchChange, TableChange};
pub(crate) use domain_section::fault as domain_fault;
pub use domain_section::{DomainChange, Domains};
use domain_section::{put_domains, take_domains};
use schema_section::put_schemas;
pub use sequence_section::ManifestSequence;
use sequence_section::put_sequences;
pub(crate) use table_section::{ChunkEntry, encode_table};
use type_section::{encode_types, put_type_schemas, take_type_schemas};
use view_section::put_views;

/// The version of the manifest's format that is written.
pub const FORMAT_VERSION: u32 = 10;

/// The oldest version that is read.
pub const FORMAT_VERSION_OLDEST: u32 = 1;

const MAGIC: [u8; 8] = *b"BRAIDMAN";
/// Where the checksummed part begins.
const CHECKED_FROM: usize = 24;
/// Bytes before the first section.
const HEADER_BYTES: usize = 56;

/// The first version with enumerated types.
const TYPES_SINCE: u32 = 4;
/// The first version with views.
const VIEWS_SINCE: u32 = 6;

/// The first version with a log.
const LOG_SINCE: u32 = 6;
/// The first version with schemas besides `public`.
const SCHEMAS_SINCE: u32 = 6;
/// The first version with sequences.
const SEQUENCES_SINCE: u32 = 6;
/// The first version with comments.
const COMMENTS_SINCE: u32 = 7;
/// The first version with access control.
const ACCESS_SINCE: u32 = 8;
/// The first version with domains.
const DOMAINS_SINCE: u32 = 9;
/// The first version with enumerated types in other schemas than `public`.
const TYPE_SCHEMAS_SINCE: u32 = 10;

/// One state of the database, as plain data: files are named by id, nothing is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Number of the last commit of the state.
    pub sequence: u64,
    /// The numbers that are given out next.
    pub next_ids: NextIds,
    /// The first log whose records follow; 0 in versions without one.
    pub log_number: u64,
    /// All enumerated types, by ascending oid.
    pub types: Vec<EnumType>,
    /// All domains, by ascending oid.
    pub domains: Domains,
    /// All schemas but `public`, by ascending id.
    pub schemas: Vec<SchemaDef>,
    /// All sequences, by ascending id.
    pub sequences: Vec<ManifestSequence>,
    /// All views, by ascending id.
    pub views: Vec<ViewDef>,
    /// All comments, but those on check constraints.
    pub comments: Comments,
    /// Roles, owners and privileges.
    pub access: AccessControl,
    /// All tables, by ascending id. Their columns name types by their oids.
    pub tables: Vec<ManifestTable>,
}

/// The numbers that are given out next. None is given out twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextIds {
    /// The id that the next data file gets.
    pub file: u64,
    /// The id that the next table gets.
    pub table: u32,
    /// The oid that the next enumerated type, array type of one, or label gets.
    pub type_oid: u32,
}

/// A table in a [`Manifest`].
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestTable {
    /// Definition.
    pub def: TableDef,
    /// The id that the table's next chunk gets.
    pub next_chunk_id: u32,
    /// Sequence number of the manifest that last changed the table.
    pub sequence: u64,
    /// Chunks in row order; their ids ascend.
    pub chunks: Vec<ManifestChunk>,
    /// For each column the different values in all chunks; `None` where they were not counted.
    pub sketches: Vec<Option<DistinctSketch>>,
}

/// A chunk in a [`ManifestTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestChunk {
    /// Identity within the table.
    pub id: ChunkId,
    /// Rows, `1..=CHUNK_ROWS`, deleted ones included.
    pub row_count: u32,
    /// The deleted ones among them: some, not all; `None` if there are none.
    pub deleted: Option<Arc<DeletedRows>>,
    /// The file that holds its segments; `None` if they are in memory.
    pub file_id: Option<DataFileId>,
    /// Those in the file, in column order; of a chunk in memory all. In all rows of the chunk a column without one has its missing value.
    pub segments: Vec<SegmentMeta>,
}

impl ManifestChunk {
    fn entry(&self) -> ChunkEntry<'_> {
        ChunkEntry { id: self.id, row_count: self.row_count, file_id: self.file_id, segments: &self.segments }
    }

    /// Whether a column of the table has values other than null in the chunk.
    fn has_values(&self, column: &ColumnDef) -> bool {
        let segment = self.segments.iter().find(|segment| segment.column == column.id);
        segment.map_or(column.missing.is_some(), |segment| segment.zone_map.null_count < self.row_count)
    }
}

impl Manifest {
    /// The manifest of a new data directory.
    pub fn empty() -> Self {
        let next_ids = NextIds { file: 1, table: 1, type_oid: FIRST_TYPE_OID };
        let (types, domains, schemas, sequences, views, comments, access, tables) = Default::default();
        Self {
            sequence: 0,
            next_ids,
            log_number: 1,
            types,
            domains,
            schemas,
            sequences,
            views,
            comments,
            access,
            tables,
        }
    }

    /// The bytes of the manifest file.
    pub fn encode(&self) -> Vec<u8> {
        let sections: Vec<Vec<u8>> = self.tables.iter().map(ManifestTable::encode).collect();
        let system = encode_system(
            self.next_ids,
            (self.types.iter(), self.domains.values().map(Arc::as_ref)),
            self.schemas.iter(),
            self.sequences.iter().map(|known| (&known.def, known.state)),
            self.views.iter(),
            &self.comments,
            &self.access,
        );
        ManifestHeader { sequence: self.sequence, next_ids: self.next_ids, log_number: self.log_number }
            .assemble(&system, sections.iter().map(Vec::as_slice))
    }

    /// Reads the bytes of a manifest file, checking everything that can be checked without the data files.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() < HEADER_BYTES || bytes[..8] != MAGIC {
            return Err(ManifestError::NoHeader);
        }
        let mut reader = ByteReader::at(bytes, 8);
        let version = reader.u32()?;
        if !(FORMAT_VERSION_OLDEST..=FORMAT_VERSION).contains(&version) {
            let (oldest, newest) = (FORMAT_VERSION_OLDEST, FORMAT_VERSION);
            return Err(ManifestError::UnknownVersion { found: version, oldest, newest });
        }
        let reserved = reader.u32()?;
        let expected = reader.u64()?;
        let length = reader.u64()?;
        let fits = (HEADER_BYTES as u64..=bytes.len() as u64).contains(&length);
        if !fits || bytes.len() as u64 - length >= SEGMENT_ALIGN_BYTES as u64 {
            return Err(ManifestError::Length { expected: length, found: bytes.len() as u64 });
        }
        let (bytes, padding) = bytes.split_at(length as usize);
        let found = checksum(&bytes[CHECKED_FROM..]);
        if found != expected {
            return Err(ManifestError::Checksum { expected, found });
        }
        if reserved != 0 || padding.iter().any(|&b| b != 0) {
            return Err(ManifestError::Malformed { offset: 12, what: "reserved bytes are not zero".to_owned() });
        }
        Self::decode_checked(ByteReader::at(bytes, 32), version)
    }

    /// What follows the checksum, whose bytes are what was once written, unless someone forged them.
    fn decode_checked(mut reader: ByteReader<'_>, version: u32) -> Result<Self, ManifestError> {
        let (sequence, next_file_id, next_table_id) = (reader.u64()?, reader.u64()?, reader.u32()?);
        let table_count = reader.u32()? as usize;
        let log_number = if version < LOG_SINCE { 0 } else { reader.u64()? };
        let (next_type_oid, mut types) = match version {
            ..TYPES_SINCE => (FIRST_TYPE_OID, Vec::new()),
            _ => type_section::decode_types(&mut reader)?,
        };
        let schemas = match version {
            ..SCHEMAS_SINCE => Vec::new(),
            _ => schema_section::decode_schemas(&mut reader, next_table_id)?,
        };
        let sequences = match version {
            ..SEQUENCES_SINCE => Vec::new(),
            _ => sequence_section::decode_sequences(&mut reader, next_table_id)?,
        };
        let views = match version {
            ..VIEWS_SINCE => Vec::new(),
            _ => view_section::decode_views(&mut reader)?,
        };
        let comments = match version {
            ..COMMENTS_SINCE => Comments::new(),
            _ => comment_section::take_comments(&mut reader)?,
        };
        let access = match version {
            ..ACCESS_SINCE => AccessControl::default(),
            _ => access_section::take_access(&mut reader)?,
        };
        let domains = match version {
            ..DOMAINS_SINCE => Domains::new(),
            _ => take_domains(&mut reader)?,
        };
        if version >= TYPE_SCHEMAS_SINCE {
            take_type_schemas(&mut reader, &mut types)?;
        }
        let mut tables: Vec<ManifestTable> =
            Vec::with_capacity(reader.bounded_capacity(table_count, table_section::BYTES_MIN));
        for _ in 0..table_count {
            let table = table_section::decode_table(&mut reader, version)?;
            if tables.last().is_some_and(|last| last.def.id >= table.def.id) {
                return Err(reader.malformed(format!("table id {} is out of order", table.def.id)));
            }
            tables.push(table);
        }
        if reader.remaining() != 0 {
            return Err(reader.malformed(format!("{} bytes after the last table", reader.remaining())));
        }
        let next_ids = NextIds { file: next_file_id, table: next_table_id, type_oid: next_type_oid };
        let manifest = Self {
            sequence,
            next_ids,
            log_number,
            types,
            domains,
            schemas,
            sequences,
            views,
            comments,
            access,
            tables,
        };
        manifest.validate().map_err(|what| reader.malformed(what))?;
        Ok(manifest)
    }

    /// Whether the tables, types and files go together; if not, what does not.
    pub fn validate(&self) -> Result<(), String> {
        let (mut names, mut files) = (HashSet::new(), HashSet::new());
        let enums = self.types.iter().map(|known| (known.schema, [&known.name, &known.array_name]));
        let domains = self.domains.values().map(|known| (known.schema, [&known.name, &known.array_name]));
        for (schema, of_type) in enums.chain(domains) {
            if let Some(name) = of_type.into_iter().find(|name| !names.insert((schema, *name))) {
                return Err(format!("two types are called \"{name}\""));
            }
        }
        self.validate_domains()?;
        self.access.fault().map_or(Ok(()), Err)?;
        self.validate_schemas()?;
        self.validate_keys()?;
        self.validate_foreign_keys()?;
        for table in &self.tables {
            let def = &table.def;
            if def.id.0 >= self.next_ids.table {
                return Err(format!("table id {} is not given out", def.id));
            }
            let is_sequence = |known: &&ManifestSequence| {
                known.def.id == def.id || (known.def.schema, &known.def.name) == (def.schema, &def.name)
            };
            if let Some(known) = self.sequences.iter().find(is_sequence) {
                return Err(format!("table and sequence \"{}\" are one", known.def.name));
            }
            if !names.insert((def.schema, &def.name)) {
                return Err(format!("two tables or types are called \"{}\"", def.name));
            }
            if let Some(oid) = types_of(def).find(|oid| !self.types.iter().any(|known| known.oid == *oid)) {
                return Err(format!("table \"{}\" has a column of type {oid:#x}", def.name));
            }
            let mut domains = def.columns.iter().filter_map(|column| column.domain);
            if let Some(domain) = domains.find(|used| !is_domain(&self.domains, *used)) {
                return Err(format!("table \"{}\" has a column of domain {:#x}", def.name, domain.oid));
            }
            if table.sequence > self.sequence {
                return Err(format!("table {} is newer than its manifest", def.id));
            }
            let own: HashSet<DataFileId> = table.files().collect();
            if let Some(file) = own.iter().find(|f| f.0 >= self.next_ids.file || files.contains(*f)) {
                return Err(format!("data file {file} is not given out or belongs to two tables"));
            }
            files.extend(own);
        }
        view_section::check_views(self)
    }

    /// Whether the keys have names and ids that no other relation has.
    fn validate_keys(&self) -> Result<(), String> {
        let tables = self.tables.iter().map(|table| ((table.def.schema, &table.def.name), table.def.id));
        let sequences = self.sequences.iter().map(|known| ((known.def.schema, &known.def.name), known.def.id));
        let views = self.views.iter().map(|view| ((view.schema, &view.name), view.id));
        let schemas: HashSet<TableId> = self.schemas.iter().map(|schema| TableId(schema.id.0)).collect();
        let (mut names, mut ids): (HashSet<_>, HashSet<_>) = tables.chain(sequences).chain(views).unzip();
        ids.extend(schemas);
        let keys = self.tables.iter().flat_map(|table| table.def.keys.iter().map(|key| (table.def.schema, key)));
        for (schema, key) in keys {
            if key.id.0 >= self.next_ids.table || !names.insert((schema, &key.name)) || !ids.insert(key.id) {
                return Err(format!("the name or the id of key \"{}\" is not its own, or not given out", key.name));
            }
        }
        let foreign = self.tables.iter().flat_map(|table| &table.def.foreign_keys);
        match foreign.into_iter().find(|key| key.id.0 >= self.next_ids.table || !ids.insert(key.id)) {
            Some(key) => Err(format!("the id of foreign key \"{}\" is not its own, or not given out", key.name)),
            None => Ok(()),
        }
    }

    /// Whether domains have oids of their own, which are given out, and are of types that exist.
    fn validate_domains(&self) -> Result<(), String> {
        let of_types = self.types.iter().flat_map(|known| {
            [known.oid, known.array_oid].into_iter().chain(known.labels.iter().map(|label| label.oid))
        });
        let of_domains = self.domains.values().flat_map(|known| {
            [known.oid, known.array_oid].into_iter().chain(known.checks.iter().map(|check| check.oid))
        });
        let mut oids = HashSet::new();
        if let Some(oid) = of_types.chain(of_domains).find(|oid| *oid >= self.next_ids.type_oid || !oids.insert(*oid)) {
            return Err(format!("oid {oid:#x} of a type is not given out or used twice"));
        }
        let has_type = |oid: u32| self.types.iter().any(|known| known.oid == oid) || self.domains.contains_key(&oid);
        match self.domains.values().find(|domain| domain.base_oid >= FIRST_TYPE_OID && !has_type(domain.base_oid)) {
            Some(domain) => Err(format!("domain \"{}\" is of type {:#x}", domain.name, domain.base_oid)),
            None => Ok(()),
        }
    }

    /// Whether foreign keys refer to keys that there are.
    fn validate_foreign_keys(&self) -> Result<(), String> {
        let find = |id| self.tables.binary_search_by_key(&id, |table| table.def.id).ok();
        let by_id = |id| find(id).map(|at| &self.tables[at].def);
        match first_unfit(self.tables.iter().map(|table| &table.def), by_id) {
            Some((table, why)) => Err(format!("table \"{}\": {why}", table.name)),
            None => Ok(()),
        }
    }
}

impl Manifest {
    /// Whether tables and sequences are in schemas that exist, and have other ids than these.
    fn validate_schemas(&self) -> Result<(), String> {
        let ids: HashSet<SchemaId> = self.schemas.iter().map(|schema| schema.id).collect();
        let tables = self.tables.iter().map(|table| (table.def.id, table.def.schema, &table.def.name));
        let sequences = self.sequences.iter().map(|known| (known.def.id, known.def.schema, &known.def.name));
        let views = self.views.iter().map(|view| (view.id, view.schema, &view.name));
        let is_known = |schema: SchemaId| has_schema(self.schemas.iter(), schema);
        let enums = self.types.iter().map(|known| (known.schema, &known.name));
        let mut types = enums.chain(self.domains.values().map(|known| (known.schema, &known.name)));
        if let Some((schema, name)) = types.find(|(schema, _)| !is_known(*schema)) {
            return Err(format!("\"{name}\" is in schema {schema}, which does not exist"));
        }
        for (id, schema, name) in tables.chain(sequences).chain(views) {
            if !is_known(schema) {
                return Err(format!("\"{name}\" is in schema {schema}, which does not exist"));
            }
            if ids.contains(&SchemaId(id.0)) {
                return Err(format!("\"{name}\" and a schema are one"));
            }
        }
        Ok(())
    }

    /// Leaves out the temporary schemas with all that is in them; returns whether there were any.
    pub fn drop_temporary(&mut self) -> bool {
        let gone: HashSet<SchemaId> = self.schemas.iter().filter(|s| s.is_temporary).map(|s| s.id).collect();
        self.schemas.retain(|schema| !schema.is_temporary);
        self.tables.retain(|table| !gone.contains(&table.def.schema));
        self.sequences.retain(|known| !gone.contains(&known.def.schema));
        self.views.retain(|view| !gone.contains(&view.schema));
        self.domains.retain(|_, domain| !gone.contains(&domain.schema));
        self.types.retain(|known| !gone.contains(&known.schema));
        !gone.is_empty()
    }
}

/// Whether there is this domain, with constraints that have changed so often.
fn is_domain(domains: &Domains, used: ColumnDomain) -> bool {
    domains.get(&used.oid).is_some_and(|domain| domain.revision == used.revision)
}

/// The oids of the enumerated types of a table's columns.
fn types_of(def: &TableDef) -> impl Iterator<Item = u32> {
    def.columns.iter().filter_map(|column| match column.column_type {
        ColumnType::Enum(EnumTypeRef::Stored(oid)) => Some(oid),
        _ => None,
    })
}

impl ManifestTable {
    /// The files of its chunks, once for each chunk.
    pub(crate) fn files(&self) -> impl Iterator<Item = DataFileId> {
        self.chunks.iter().filter_map(|chunk| chunk.file_id)
    }

    /// The table's section.
    fn encode(&self) -> Vec<u8> {
        let chunks = self.chunks.iter().map(ManifestChunk::entry);
        let deleted = self.chunks.iter().filter_map(|chunk| Some((chunk.id, chunk.deleted.as_deref()?)));
        let sketches = self.sketches.iter().map(Option::as_ref);
        encode_table(&self.def, self.next_chunk_id, self.sequence, chunks, sketches, deleted)
    }
}

/// The types, schemas, sequences, views, comments, access control and domains as a manifest has them, by ascending oid and id.
pub(crate) fn encode_system<'a>(
    next_ids: NextIds,
    (types, domains): (
        impl ExactSizeIterator<Item = &'a EnumType> + Clone,
        impl ExactSizeIterator<Item = &'a DomainType>,
    ),
    schemas: impl ExactSizeIterator<Item = &'a SchemaDef>,
    sequences: impl ExactSizeIterator<Item = (&'a SequenceDef, SequenceState)>,
    views: impl ExactSizeIterator<Item = &'a ViewDef>,
    comments: &Comments,
    access: &AccessControl,
) -> Vec<u8> {
    let mut system = encode_types(next_ids.type_oid, types.clone());
    put_schemas(&mut system, schemas);
    put_sequences(&mut system, sequences);
    put_views(&mut system, views);
    put_comments(&mut system, comments);
    put_access(&mut system, access);
    put_domains(&mut system, domains);
    put_type_schemas(&mut system, types);
    system
}

/// What a manifest says besides its types, domains, schemas, sequences, views, comments, access control and tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManifestHeader {
    pub(crate) sequence: u64,
    pub(crate) next_ids: NextIds,
    pub(crate) log_number: u64,
}

impl ManifestHeader {
    /// The bytes of a manifest file made of `system`, which [`encode_system`] wrote, and of `sections`, which [`encode_table`] wrote, by
    /// ascending table id.
    pub(crate) fn assemble<'a>(
        &self,
        system: &[u8],
        sections: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> Vec<u8> {
        let length = HEADER_BYTES + size_of::<u64>() + system.len() + sections.clone().map(<[u8]>::len).sum::<usize>();
        let mut out = Vec::with_capacity(length.next_multiple_of(SEGMENT_ALIGN_BYTES));
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&0u64.to_le_bytes());
        out.extend_from_slice(&(length as u64).to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.next_ids.file.to_le_bytes());
        out.extend_from_slice(&self.next_ids.table.to_le_bytes());
        out.extend_from_slice(&(sections.len() as u32).to_le_bytes());
        assert_eq!(out.len(), HEADER_BYTES, "the header is as long as its table says");
        out.extend_from_slice(&self.log_number.to_le_bytes());
        out.extend_from_slice(system);
        sections.for_each(|section| out.extend_from_slice(section));
        let sum = checksum(&out[CHECKED_FROM..]);
        out[16..24].copy_from_slice(&sum.to_le_bytes());
        out.resize(length.next_multiple_of(SEGMENT_ALIGN_BYTES), 0);
        out
    }
}

#[cfg(test)]
mod tests;
