//! The record of a commit in the log: what one state of the database has that the state before has not.
//!
//! Bytes, little-endian; strings, definitions, chunks, sketches and deleted rows as in the manifest of version [`FORMAT_VERSION`]:
//!
//! | width | meaning |
//! |---|---|
//! | 8 | sequence number of the commit, one above the state before |
//! | 8 | next data file id |
//! | 4 | next table id |
//! | 4 | next oid of a type |
//! | 1 | 0, or 1 if the enumerated types follow, because they have changed |
//! | 1 | 0, or 1 if the schemas but `public` follow, because they have changed |
//! | 1 | 0, or 1 if the sequences follow, because one has changed or has numbers reserved |
//! | 1 | 0, or 1 if the views follow, because they have changed |
//! | 4 | number of tables that are dropped; then 4 bytes each, the id |
//! | 4 | number of tables that are new or changed; then each of them, by ascending id |
//! | | the comments that are changed, as in `comment_section`; nothing in the records of version 6 |
//! | | the entries of access control that are changed, as in `access_section`; nothing in the records of versions 6 and 7 |
//! | | the domains that are changed, as in `domain_section`; nothing in the records of versions before 9 |
//!
//! Table:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | table id |
//! | 4 | next chunk id |
//! | 1 | 0, or the version of the format in which the definition follows, because the table is new or altered: 9; 7 before; 1 for version 6 |
//! | 4 | number of chunks that go; then 4 bytes each, the id, ascending |
//! | 4 | number of chunks that come; then each of them, by ascending id |
//! | 4 | number of chunks with more deleted rows than before; then each of them, as in `deleted_rows_section`, with the rows that are newly deleted |
//! | | of each column: 1 byte: 0 its sketch stays, 1 it is united with the sketch that follows, 2 it is replaced by the sketch that follows |
//!
//! Tables and sequences of schemas that are not among those that follow are dropped. Columns that an altered table has no more take their segments with them. The sketches of an altered table are all replaced.
//!
//! Invariant: [`Manifest::apply`] is total. Any bytes give a next state, whose tables are checked each by itself, or a typed error.

use std::sync::Arc;

use braid_base::enum_types::{FIRST_TYPE_OID, TYPE_OID_END};
use braid_base::{ChunkId, EnumType, SchemaId, TableId};

use super::access_section::{put_access_changes, take_access_changes};
use super::byte_reader::ByteReader;
use super::comment_section::{put_comment_changes, take_comment_changes};
use super::deleted_rows_section::{put_rows, take_rows};
use super::domain_section::{DomainChange, put_domain_changes, take_domain_changes};
use super::schema_section::{decode_schemas, put_schemas};
use super::sequence_section::{decode_sequences, put_sequences};
use super::sketch_section::{put_sketch, take_sketch};
use super::table_section::{put_chunk, put_definition, take_chunk, take_definition};
use super::type_section::{decode_types, encode_types, put_type_schemas, take_type_schemas};
use super::view_section::{decode_views, put_views};
use super::{FORMAT_VERSION, Manifest, ManifestChunk, ManifestError, ManifestTable, NextIds};
use crate::access::{AccessChange, AccessControl};
use crate::comments::CommentChange;
use crate::schemas::{SchemaDef, has_schema};
use crate::sequences::{SequenceDef, SequenceState};
use crate::{DeletedRows, DistinctSketch, TableDef, ViewDef};

/// The first version with records. A directory that it has written may have records of it behind a manifest, and newer ones behind these.
const FIRST_VERSION: u32 = 6;

/// The version before columns of domains.
const VERSION_WITHOUT_DOMAINS: u8 = 7;

/// The version before schemas of types, with the same definitions.
const VERSION_WITHOUT_TYPE_SCHEMAS: u8 = 9;

/// The version of definitions that are written.
const DEFINITION_VERSION: u8 = FORMAT_VERSION as u8;

/// What a commit changes.
#[derive(Clone, Debug)]
pub struct CommitRecord {
    /// Its number.
    pub sequence: u64,
    /// The numbers that are given out next.
    pub next_ids: NextIds,
    /// All enumerated types, if they have changed.
    pub types: Option<Vec<Arc<EnumType>>>,
    /// All schemas but `public`, if they have changed.
    pub schemas: Option<Vec<Arc<SchemaDef>>>,
    /// All sequences, and where they stand after a crash, if that has changed.
    pub sequences: Option<Vec<(Arc<SequenceDef>, SequenceState)>>,
    /// All views, if they have changed.
    pub views: Option<Vec<Arc<ViewDef>>>,
    /// Tables that are dropped.
    pub dropped: Vec<TableId>,
    /// Tables that are new or changed, by ascending id.
    pub changed: Vec<TableChange>,
    /// Comments that are set, or removed.
    pub comments: Vec<CommentChange>,
    /// Entries of access control that are set, or removed.
    pub access: Vec<AccessChange>,
    /// Domains that are set, or removed.
    pub domains: Vec<DomainChange>,
}

/// What a commit changes in a table.
#[derive(Clone, Debug)]
pub struct TableChange {
    /// The definition after the commit.
    pub def: Arc<TableDef>,
    /// Whether there was none, or another one.
    pub is_redefined: bool,
    /// The id that the table's next chunk gets.
    pub next_chunk_id: u32,
    /// Chunks that go, ascending.
    pub removed: Vec<ChunkId>,
    /// Chunks that come, with all their deleted rows in `deleted`.
    pub added: Vec<ManifestChunk>,
    /// Rows that are newly deleted, by chunk.
    pub deleted: Vec<(ChunkId, Arc<DeletedRows>)>,
    /// What becomes of the sketch of each column.
    pub sketches: Vec<SketchChange>,
}

/// What becomes of a column's sketch.
#[derive(Clone, Debug)]
pub enum SketchChange {
    /// It stays.
    None,
    /// It is united with this one.
    United(DistinctSketch),
    /// This takes its place.
    Replaced(Option<DistinctSketch>),
}

impl CommitRecord {
    /// The bytes of the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.next_ids.file.to_le_bytes());
        out.extend_from_slice(&self.next_ids.table.to_le_bytes());
        out.extend_from_slice(&self.next_ids.type_oid.to_le_bytes());
        out.push(self.types.is_some().into());
        if let Some(types) = &self.types {
            out.extend_from_slice(&encode_types(self.next_ids.type_oid, types.iter().map(Arc::as_ref)));
        }
        out.push(self.schemas.is_some().into());
        if let Some(schemas) = &self.schemas {
            put_schemas(&mut out, schemas.iter().map(Arc::as_ref));
        }
        out.push(self.sequences.is_some().into());
        if let Some(sequences) = &self.sequences {
            put_sequences(&mut out, sequences.iter().map(|(def, state)| (&**def, *state)));
        }
        out.push(self.views.is_some().into());
        if let Some(views) = &self.views {
            put_views(&mut out, views.iter().map(Arc::as_ref));
        }
        put_count(&mut out, self.dropped.len());
        self.dropped.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
        put_count(&mut out, self.changed.len());
        self.changed.iter().for_each(|table| table.put(&mut out));
        put_comment_changes(&mut out, &self.comments);
        put_access_changes(&mut out, &self.access);
        put_domain_changes(&mut out, &self.domains);
        put_type_schemas(&mut out, self.types.iter().flatten().map(Arc::as_ref));
        out
    }
}

impl TableChange {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.def.id.0.to_le_bytes());
        out.extend_from_slice(&self.next_chunk_id.to_le_bytes());
        out.push(if self.is_redefined { DEFINITION_VERSION } else { 0 });
        if self.is_redefined {
            put_definition(out, &self.def);
        }
        put_count(out, self.removed.len());
        self.removed.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
        put_count(out, self.added.len());
        self.added.iter().for_each(|chunk| put_chunk(out, &self.def, &chunk.entry()));
        put_count(out, self.deleted.len());
        for (chunk, rows) in &self.deleted {
            out.extend_from_slice(&chunk.0.to_le_bytes());
            put_rows(out, rows);
        }
        assert_eq!(self.sketches.len(), self.def.columns.len(), "each column has a sketch, or could have one");
        self.sketches.iter().for_each(|sketch| sketch.put(out));
    }
}

impl SketchChange {
    const NONE: u8 = 0;
    const UNITED: u8 = 1;
    const REPLACED: u8 = 2;

    /// How one sketch becomes another.
    pub(crate) fn between(before: Option<&DistinctSketch>, after: Option<&DistinctSketch>) -> Self {
        match (before, after) {
            (None, None) => Self::None,
            (Some(before), Some(after)) if before == after => Self::None,
            (Some(before), Some(after)) => match after.difference(before) {
                Some(new) => Self::United(new),
                None => Self::Replaced(Some(after.clone())),
            },
            (_, after) => Self::Replaced(after.cloned()),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.push(Self::NONE),
            Self::United(sketch) => {
                out.push(Self::UNITED);
                put_sketch(out, Some(sketch));
            }
            Self::Replaced(sketch) => {
                out.push(Self::REPLACED);
                put_sketch(out, sketch.as_ref());
            }
        }
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).expect("a commit has fewer than 2^32 parts").to_le_bytes());
}

impl Manifest {
    /// Makes this state the next one, by the bytes of a [`CommitRecord`]. After an error it is of no use any more. Whether the tables
    /// go together is left to [`Self::validate`], once for all records.
    ///
    /// # Errors
    /// When the bytes are no record, or of a commit that does not follow this state.
    pub fn apply(&mut self, record: &[u8]) -> Result<(), ManifestError> {
        let mut reader = ByteReader::at(record, 0);
        let sequence = reader.u64()?;
        if self.sequence.checked_add(1) != Some(sequence) {
            return Err(reader.malformed(format!("commit {sequence} does not follow commit {}", self.sequence)));
        }
        self.sequence = sequence;
        self.next_ids = take_next_ids(&mut reader, self.next_ids)?;
        if take_flag(&mut reader)? {
            let (next_oid, types) = decode_types(&mut reader)?;
            self.next_ids.type_oid = self.next_ids.type_oid.max(next_oid);
            self.types = types;
        }
        if take_flag(&mut reader)? {
            self.schemas = decode_schemas(&mut reader, self.next_ids.table)?;
        }
        if take_flag(&mut reader)? {
            self.sequences = decode_sequences(&mut reader, self.next_ids.table)?;
        }
        if take_flag(&mut reader)? {
            self.views = decode_views(&mut reader)?;
        }
        for _ in 0..reader.u32()? {
            let id = TableId(reader.u32()?);
            let found = self.find(id).map_err(|_| reader.malformed(format!("table {id} is dropped and unknown")))?;
            self.tables.remove(found);
        }
        for _ in 0..reader.u32()? {
            self.apply_to_table(&mut reader)?;
        }
        // A record of version 6 ends here.
        if reader.remaining() != 0 {
            self.apply_to_comments(&mut reader)?;
        }
        // A record of version 7 ends here.
        if reader.remaining() != 0 {
            self.apply_to_access(&mut reader)?;
        }
        // A record of version 8 ends here.
        if reader.remaining() != 0 {
            for (oid, domain) in take_domain_changes(&mut reader)? {
                match domain {
                    Some(domain) => drop(self.domains.insert(oid, domain)),
                    None => drop(self.domains.remove(&oid)),
                }
            }
        }
        // A record of version 9 ends here.
        if reader.remaining() != 0 {
            take_type_schemas(&mut reader, &mut self.types)?;
        }
        if reader.remaining() != 0 {
            return Err(reader.malformed(format!("{} bytes after the last entry", reader.remaining())));
        }
        self.drop_outside_schemas();
        Ok(())
    }

    /// What is in a schema that is gone goes with it: a state that was opened has left out the temporary schemas before it.
    fn drop_outside_schemas(&mut self) {
        let schemas = &self.schemas;
        let is_kept = |schema: SchemaId| has_schema(schemas.iter(), schema);
        self.tables.retain(|table| is_kept(table.def.schema));
        self.sequences.retain(|known| is_kept(known.def.schema));
        self.views.retain(|view| is_kept(view.schema));
        self.domains.retain(|_, domain| is_kept(domain.schema));
        self.types.retain(|known| is_kept(known.schema));
    }

    fn apply_to_comments(&mut self, reader: &mut ByteReader<'_>) -> Result<(), ManifestError> {
        for (subject, text) in take_comment_changes(reader)? {
            match text {
                Some(text) => drop(self.comments.insert(subject, text)),
                None => drop(self.comments.remove(&subject)),
            }
        }
        Ok(())
    }

    fn apply_to_access(&mut self, reader: &mut ByteReader<'_>) -> Result<(), ManifestError> {
        let changes = take_access_changes(reader)?;
        if changes.is_empty() {
            return Ok(());
        }
        let mut entries = self.access.entries().clone();
        for (key, entry) in changes {
            match entry {
                Some(entry) => drop(entries.insert(key, entry)),
                None => drop(entries.remove(&key)),
            }
        }
        self.access = AccessControl::new(entries);
        Ok(())
    }

    fn find(&self, id: TableId) -> Result<usize, usize> {
        self.tables.binary_search_by_key(&id, |table| table.def.id)
    }

    fn apply_to_table(&mut self, reader: &mut ByteReader<'_>) -> Result<(), ManifestError> {
        let (id, next_chunk_id) = (TableId(reader.u32()?), reader.u32()?);
        let def = match reader.u8()? {
            0 => None,
            1 => Some(take_definition(reader, id, FIRST_VERSION)?),
            VERSION_WITHOUT_DOMAINS => Some(take_definition(reader, id, VERSION_WITHOUT_DOMAINS.into())?),
            VERSION_WITHOUT_TYPE_SCHEMAS => Some(take_definition(reader, id, VERSION_WITHOUT_TYPE_SCHEMAS.into())?),
            DEFINITION_VERSION => Some(take_definition(reader, id, FORMAT_VERSION)?),
            other => return Err(reader.malformed(format!("a definition is of version {other}"))),
        };
        let is_redefined = def.is_some();
        let at = match (self.find(id), def) {
            (Ok(at), None) => at,
            (Ok(at), Some(def)) => {
                self.tables[at].redefine(def);
                at
            }
            (Err(at), Some(def)) => {
                let (chunks, sketches) = (Vec::new(), vec![None; def.columns.len()]);
                self.tables.insert(at, ManifestTable { def, next_chunk_id, sequence: self.sequence, chunks, sketches });
                at
            }
            (Err(_), None) => return Err(reader.malformed(format!("table {id} is changed and unknown"))),
        };
        let table = &mut self.tables[at];
        if next_chunk_id < table.next_chunk_id {
            return Err(reader.malformed(format!("the next chunk of table {id} is {next_chunk_id} again")));
        }
        (table.next_chunk_id, table.sequence) = (next_chunk_id, self.sequence);
        table.take_chunks(reader)?;
        table.take_deletes(reader)?;
        table.take_sketch_changes(reader, is_redefined)
    }
}

/// A checkpoint may know of numbers that were given out after the commits behind it were submitted.
fn take_next_ids(reader: &mut ByteReader<'_>, before: NextIds) -> Result<NextIds, ManifestError> {
    let next = NextIds { file: reader.u64()?, table: reader.u32()?, type_oid: reader.u32()? };
    if !(FIRST_TYPE_OID..=TYPE_OID_END).contains(&next.type_oid) {
        return Err(reader.malformed(format!("the next oid of a type is {:#x}", next.type_oid)));
    }
    Ok(NextIds {
        file: next.file.max(before.file),
        table: next.table.max(before.table),
        type_oid: next.type_oid.max(before.type_oid),
    })
}

fn take_flag(reader: &mut ByteReader<'_>) -> Result<bool, ManifestError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(reader.malformed(format!("a flag is {other}"))),
    }
}

impl ManifestTable {
    /// Takes another definition: segments of columns that it does not have go.
    fn redefine(&mut self, def: TableDef) {
        for chunk in &mut self.chunks {
            chunk.segments.retain(|segment| def.column_by_id(segment.column).is_some());
        }
        self.sketches = vec![None; def.columns.len()];
        self.def = def;
    }

    fn find_chunk(&self, id: ChunkId) -> Option<usize> {
        self.chunks.binary_search_by_key(&id, |chunk| chunk.id).ok()
    }

    fn take_chunks(&mut self, reader: &mut ByteReader<'_>) -> Result<(), ManifestError> {
        for _ in 0..reader.u32()? {
            let id = ChunkId(reader.u32()?);
            let unknown = || reader.malformed(format!("chunk {id} goes and is unknown"));
            let at = self.find_chunk(id).ok_or_else(unknown)?;
            self.chunks.remove(at);
        }
        for _ in 0..reader.u32()? {
            let chunk = take_chunk(reader, &self.def, FORMAT_VERSION)?;
            match self.chunks.binary_search_by_key(&chunk.id, |known| known.id) {
                Err(at) if chunk.id.0 < self.next_chunk_id => self.chunks.insert(at, chunk),
                _ => return Err(reader.malformed(format!("chunk {} is known or not given out", chunk.id))),
            }
        }
        Ok(())
    }

    fn take_deletes(&mut self, reader: &mut ByteReader<'_>) -> Result<(), ManifestError> {
        for _ in 0..reader.u32()? {
            let id = ChunkId(reader.u32()?);
            let unknown = || reader.malformed(format!("chunk {id} has deleted rows and is unknown"));
            let at = self.find_chunk(id).ok_or_else(unknown)?;
            let chunk = &mut self.chunks[at];
            let mut deleted = take_rows(reader, chunk.row_count)?;
            if let Some(before) = &chunk.deleted {
                deleted = deleted.union(before);
            }
            if deleted.is_empty() || deleted.is_all() {
                let (deleted, rows) = (deleted.count(), chunk.row_count);
                return Err(reader.malformed(format!("{deleted} deleted rows of the {rows} of chunk {id}")));
            }
            chunk.deleted = Some(Arc::new(deleted));
        }
        Ok(())
    }

    fn take_sketch_changes(&mut self, reader: &mut ByteReader<'_>, is_redefined: bool) -> Result<(), ManifestError> {
        for (column, sketch) in self.def.columns.iter().zip(&mut self.sketches) {
            let kind = reader.u8()?;
            match (kind, sketch.as_mut()) {
                (SketchChange::NONE, _) if !is_redefined => {}
                (SketchChange::UNITED, Some(sketch)) => {
                    let new = take_sketch(reader)?;
                    sketch.unite(&new.ok_or_else(|| reader.malformed("a sketch is united with none"))?);
                }
                (SketchChange::REPLACED, _) => *sketch = take_sketch(reader)?,
                _ => return Err(reader.malformed(format!("the sketch of a column changes by {kind}"))),
            }
            let has_values = self.chunks.iter().any(|chunk| chunk.has_values(column));
            if has_values && sketch.as_ref().is_some_and(DistinctSketch::is_empty) {
                let what = format!("the sketch of column \"{}\" knows none of its values", column.name);
                return Err(reader.malformed(what));
            }
        }
        Ok(())
    }
}
