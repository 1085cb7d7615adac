//! The manifest: one file that names every table, column, chunk, segment and data file of one state of the database.
//!
//! It is written whole at every commit and switched by renaming (see `store_shared/commit.rs`), so there is never a manifest
//! that is half old and half new, and nothing to replay at start. Its size is what zone maps cost, about 70 bytes a
//! segment: some 600 kB for TPC-H at scale factor 10. The sketches of different values take at most 769 bytes a column.
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
//! | 56 | | from version 4 on: the enumerated types, in the form of [`type_section`] |
//! | | | from version 6 on: the views, in the form of [`view_section`] |
//! | | | one section for each table |
//! | length | | zeros up to a multiple of 4096 |
//!
//! Invariant: [`Manifest::decode`] is total. On any bytes it returns a manifest whose every relation has been checked
//! (ids below their next ids, columns and chunks ascending, segments aligned and at most one per column, bounds of the column's type) or a
//! typed error; it never panics and never allocates more than a small multiple of its input.
//!
//! The versions before are read as well; the next commit writes the present one. Version 1 has no sketches; versions 1 and 2
//! have no numerics without a precision as integers; versions 1 to 3 have no enumerated types; versions 1 to 4 have no deleted
//! rows, the ids of their columns are the columns' ordinals, and each of their chunks has a segment of each column; versions 1 to 5
//! have no views.
//!
//! Deliberately not done: guessing. A wrong checksum is an error, not a
//! reason to fall back to an older state: rows whose commit was reported would be gone without a word.

mod byte_reader;
mod deleted_rows_section;
mod missing_value;
mod scalars;
mod sketch_section;
mod table_section;
mod type_section;
mod view_section;

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::enum_types::FIRST_TYPE_OID;
use braid_base::{ChunkId, EnumType, EnumTypeRef, SEGMENT_ALIGN_BYTES};

use crate::checksum::checksum;
use crate::data_file_header::DataFileId;
use crate::{ColumnDef, ColumnType, DeletedRows, DistinctSketch, ManifestError, SegmentMeta, TableDef, ViewDef};

use byte_reader::ByteReader;
pub(crate) use table_section::encode_table;
pub(crate) use type_section::encode_types;
pub(crate) use view_section::encode_views;

/// The version of the manifest's format that is written.
pub const FORMAT_VERSION: u32 = 6;

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

/// One state of the database, as plain data: files are named by id, nothing is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Number of the commit that wrote it.
    pub sequence: u64,
    /// The id that the next data file gets.
    pub next_file_id: u64,
    /// The id that the next table gets.
    pub next_table_id: u32,
    /// The oid that the next enumerated type, array type of one, or label gets.
    pub next_type_oid: u32,
    /// All enumerated types, by ascending oid.
    pub types: Vec<EnumType>,
    /// All views, by ascending id.
    pub views: Vec<ViewDef>,
    /// All tables, by ascending id. Their columns name types by their oids.
    pub tables: Vec<ManifestTable>,
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
    /// The file that holds its segments.
    pub file_id: DataFileId,
    /// Those in the file, in column order. In all rows of the chunk a column without one has its missing value.
    pub segments: Vec<SegmentMeta>,
}

impl ManifestChunk {
    /// Whether a column of the table has values other than null in the chunk.
    fn has_values(&self, column: &ColumnDef) -> bool {
        let segment = self.segments.iter().find(|segment| segment.column == column.id);
        segment.map_or(column.missing.is_some(), |segment| segment.zone_map.null_count < self.row_count)
    }
}

impl Manifest {
    /// The manifest of a new data directory.
    pub fn empty() -> Self {
        let (types, views, tables) = Default::default();
        Self { sequence: 0, next_file_id: 1, next_table_id: 1, next_type_oid: FIRST_TYPE_OID, types, views, tables }
    }

    /// The bytes of the manifest file.
    pub fn encode(&self) -> Vec<u8> {
        let sections: Vec<Vec<u8>> = self.tables.iter().map(ManifestTable::encode).collect();
        let mut first = encode_types(self.next_type_oid, self.types.iter());
        first.append(&mut encode_views(self.views.iter()));
        ManifestHeader { sequence: self.sequence, next_file_id: self.next_file_id, next_table_id: self.next_table_id }
            .assemble(&first, sections.iter().map(Vec::as_slice))
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
        let (next_type_oid, types) = match version {
            ..TYPES_SINCE => (FIRST_TYPE_OID, Vec::new()),
            _ => type_section::decode_types(&mut reader)?,
        };
        let views = match version {
            ..VIEWS_SINCE => Vec::new(),
            _ => view_section::decode_views(&mut reader)?,
        };
        let mut tables: Vec<ManifestTable> =
            Vec::with_capacity(reader.bounded_capacity(table_count, table_section::BYTES_MIN));
        let (mut names, mut files) = (HashSet::new(), HashSet::new());
        names.extend(types.iter().flat_map(|definition| [definition.name.clone(), definition.array_name.clone()]));
        for _ in 0..table_count {
            let table = table_section::decode_table(&mut reader, version)?;
            if tables.last().is_some_and(|last| last.def.id >= table.def.id) || table.def.id.0 >= next_table_id {
                return Err(reader.malformed(format!("table id {} is out of order", table.def.id)));
            }
            if !names.insert(table.def.name.clone()) {
                return Err(reader.malformed(format!("two tables or types are called \"{}\"", table.def.name)));
            }
            if let Some(oid) = types_of(&table.def).find(|oid| !types.iter().any(|known| known.oid == *oid)) {
                return Err(reader.malformed(format!("table \"{}\" has a column of type {oid:#x}", table.def.name)));
            }
            if table.sequence > sequence {
                return Err(reader.malformed(format!("table {} is newer than its manifest", table.def.id)));
            }
            let own: HashSet<DataFileId> = table.chunks.iter().map(|c| c.file_id).collect();
            if let Some(file) = own.iter().find(|f| f.0 >= next_file_id || files.contains(*f)) {
                return Err(reader.malformed(format!("data file {file} is not given out or belongs to two tables")));
            }
            files.extend(own);
            tables.push(table);
        }
        if reader.remaining() != 0 {
            return Err(reader.malformed(format!("{} bytes after the last table", reader.remaining())));
        }
        let manifest = Self { sequence, next_file_id, next_table_id, next_type_oid, types, views, tables };
        view_section::check_views(&reader, &manifest)?;
        Ok(manifest)
    }
}

/// The oids of the enumerated types of a table's columns.
fn types_of(def: &TableDef) -> impl Iterator<Item = u32> {
    def.columns.iter().filter_map(|column| match column.column_type {
        ColumnType::Enum(EnumTypeRef::Stored(oid)) => Some(oid),
        _ => None,
    })
}

impl ManifestTable {
    /// The table's section.
    fn encode(&self) -> Vec<u8> {
        let chunks = self.chunks.iter().map(|c| (c.id, c.row_count, c.file_id, c.segments.as_slice()));
        let deleted = self.chunks.iter().filter_map(|chunk| Some((chunk.id, chunk.deleted.as_deref()?)));
        let sketches = self.sketches.iter().map(Option::as_ref);
        encode_table(&self.def, self.next_chunk_id, self.sequence, chunks, sketches, deleted)
    }
}

/// What a manifest says besides its tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManifestHeader {
    pub(crate) sequence: u64,
    pub(crate) next_file_id: u64,
    pub(crate) next_table_id: u32,
}

impl ManifestHeader {
    /// The bytes of a manifest file made of `first`, which [`encode_types`] and [`encode_views`] wrote, and of `sections`, which [`encode_table`] wrote, by
    /// ascending table id. Unchanged tables keep their section from commit to commit, so a small INSERT beside large tables costs a copy
    /// of them, not an encoding.
    pub(crate) fn assemble<'a>(&self, first: &[u8], sections: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
        let length = HEADER_BYTES + first.len() + sections.clone().map(<[u8]>::len).sum::<usize>();
        let mut out = Vec::with_capacity(length.next_multiple_of(SEGMENT_ALIGN_BYTES));
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&0u64.to_le_bytes());
        out.extend_from_slice(&(length as u64).to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.next_file_id.to_le_bytes());
        out.extend_from_slice(&self.next_table_id.to_le_bytes());
        out.extend_from_slice(&(sections.clone().count() as u32).to_le_bytes());
        assert_eq!(out.len(), HEADER_BYTES, "the header is as long as its table says");
        out.extend_from_slice(first);
        sections.for_each(|section| out.extend_from_slice(section));
        let sum = checksum(&out[CHECKED_FROM..]);
        out[16..24].copy_from_slice(&sum.to_le_bytes());
        out.resize(length.next_multiple_of(SEGMENT_ALIGN_BYTES), 0);
        out
    }
}

#[cfg(test)]
mod tests;
