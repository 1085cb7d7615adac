//! A table's part of the manifest: definition, chunks, segments, zone maps and sketches.
//!
//! A string is its length in 4 bytes and then its UTF-8 bytes. Section:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | table id |
//! | 4 | next chunk id |
//! | 8 | sequence number of the manifest that last changed the table |
//! | string | name |
//! | 2 | from version 5 on: next column id |
//! | 2 | number of columns; then each column |
//! | 2 | number of primary key columns; then 2 bytes each, the column's id |
//! | 4 | from version 6 on: id of its schema |
//! | 2 | from version 6 on: number of check constraints; then each, in the form of `constraint_section` |
//! | 2 | from version 6 on: number of enforced keys; then each, in the form of `constraint_section` |
//! | 2 | from version 7 on: number of foreign keys; then each, in the form of `foreign_key_section` |
//! | 4 | number of chunks; then each chunk |
//! | | from version 2 on: the sketch of each column, in the form of `sketch_section` |
//! | | from version 5 on: the deleted rows of the chunks, in the form of `deleted_rows_section` |
//!
//! Column:
//!
//! | width | meaning |
//! |---|---|
//! | 2 | from version 5 on: the column's id; before, its ordinal is its id |
//! | string | name |
//! | 1 | type: 1 boolean, 2 smallint, 3 integer, 4 bigint, 5 real, 6 double, 7 numeric, 8 text, 9 varchar, 10 char, 11 date, 12 timestamp, 13 timestamptz, 14 interval, 15 bytea, 16 uuid, 17 time, 18 name, 19 varchar without a limit, 20 values as bytes of the front end, 21 time(n), 22 timestamp(n), 23 timestamptz(n), from version 4 on 24 an enumerated type |
//! | 4 | its parameter: numeric `precision + 256 * scale`, varchar and char their limit in characters, bytes of the front end the oid of their type, times and timestamps their digits of a second, 0 to 6, an enumerated type its oid, otherwise 0 |
//! | 4 | for bytes of the front end only: the type's modifier, signed |
//! | 1 | bit 0: nullable; bit 1: has a default; from version 5 on, bit 2: has a missing value; from version 7 on, bit 3: is generated; from version 9 on, bit 4: is of a domain |
//! | string | the default's SQL text, if it has one |
//! | | the missing value, if it has one, in the form of `missing_value` |
//! | | how it is generated, if it is, in the form of `generation_section` |
//! | 4 | the oid of its domain, if it is of one; its type is the base type then |
//! | 4 | then: how often the domain's constraints had changed when the rows were checked |
//!
//! Chunk, followed by its segment entries in column order: one for each column in the file, or of a chunk in memory one for each
//! column:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | chunk id |
//! | 4 | rows |
//! | 8 | data file id; from version 6 on, 0 for a chunk in memory |
//! | 2 | from version 5 on: number of segment entries; before, there is one for each column |
//!
//! Segment entry:
//!
//! | width | meaning |
//! |---|---|
//! | 2 | from version 5 on: the column's id |
//! | 8 | offset in the data file |
//! | 4 | stored bytes, padding included |
//! | 4 | segment bytes, padding excluded |
//! | 8 | XXH3-64 of the segment bytes |
//! | 4 | nulls |
//! | 1 | bit 0: has a minimum; bit 1: has a maximum; bit 2: the bounds are values that occur; from version 3 on, bit 3: the values are integers of encoded numerics |
//! | 1 | only if they are: their scale, 0 to 38 |
//! | | minimum, then maximum, those there are, in the form of the column's physical type, or of 128-bit integers if the values are such: bool 1 byte; integers 8; 128-bit integers 16; floats 8 (IEEE 754 double); bytes 2 for the length, then the bytes; interval 4 months, 4 days, 8 nanoseconds |
//! | | only of a chunk in memory, whose offset and stored bytes are 0: the segment's bytes |

use std::sync::Arc;

use braid_base::{CHUNK_ROWS, ChunkId, ColumnId, EnumTypeRef, SEGMENT_ALIGN_BYTES, SchemaId, TableId};

use super::byte_reader::ByteReader;
use super::constraint_section::{put_checks, put_keys, take_checks, take_keys};
use super::deleted_rows_section::{put_deleted_rows, take_deleted_rows};
use super::foreign_key_section::{put_foreign_keys, take_foreign_keys};
use super::generation_section::{put_generation, take_generation};
use super::missing_value::{put_missing_value, take_missing_value};
use super::scalars::{is_of, put_scalar, take_scalar};
use super::sketch_section::{put_sketch, take_sketch};
use super::{DOMAINS_SINCE, ManifestChunk, ManifestError, ManifestTable, SCHEMAS_SINCE};
use crate::checksum::checksum;
use crate::data_file_header::{DATA_FILE_HEADER_BYTES, DataFileId};
use crate::types::NUMERIC_PRECISION_MAX;
use crate::{
    ColumnDef, ColumnDomain, ColumnType, CommonScale, DeletedRows, DistinctSketch, FileRange, MemorySegment,
    SegmentMeta, SegmentPlace, TableDef, ZoneMap,
};

/// The smallest section: ids, sequence, an empty name and three counts.
pub(super) const BYTES_MIN: usize = 4 + 4 + 8 + 4 + 2 + 2 + 4;
/// The smallest column: an empty name, type, parameter, flags.
const COLUMN_BYTES_MIN: usize = 4 + 1 + 4 + 1;
/// A chunk's own entry.
const CHUNK_BYTES: usize = 4 + 4 + 8;
/// The smallest segment entry, without a column id and bounds.
const SEGMENT_BYTES_MIN: usize = 8 + 4 + 4 + 8 + 4 + 1;

/// The type of values as bytes of the front end, whose modifier follows its parameter.
const ENCODED: u8 = 20;

const NULLABLE: u8 = 1;
const HAS_DEFAULT: u8 = 2;
const HAS_MISSING: u8 = 4;
const IS_GENERATED: u8 = 8;
const IS_OF_DOMAIN: u8 = 16;
const HAS_MIN: u8 = 1;
const HAS_MAX: u8 = 2;
const EXACT: u8 = 4;
const HAS_SCALE: u8 = 8;

/// The first version with sketches.
const SKETCHES_SINCE: u32 = 2;

/// The first version with numerics without a precision as integers.
const SCALES_SINCE: u32 = 3;

/// The first version with column ids, and with chunks that lack segments.
const COLUMN_IDS_SINCE: u32 = 5;

/// The first version with deleted rows.
const DELETED_ROWS_SINCE: u32 = 5;

/// The first version with check constraints.
const CHECKS_SINCE: u32 = 6;

/// The first version with enforced keys.
const KEYS_SINCE: u32 = 6;

/// The first version with foreign keys.
const FOREIGN_KEYS_SINCE: u32 = 7;

/// The first version with generated columns.
const GENERATED_SINCE: u32 = 7;

/// The first version with chunks in memory.
const MEMORY_CHUNKS_SINCE: u32 = 6;

/// Stands for the file of a chunk in memory.
const IN_MEMORY: u64 = 0;

/// Stands for the place of a segment in memory.
const NOWHERE: FileRange = FileRange { offset: 0, stored_bytes: 0 };

/// A chunk to be written.
#[derive(Clone, Copy)]
pub(crate) struct ChunkEntry<'a> {
    pub(crate) id: ChunkId,
    pub(crate) row_count: u32,
    /// `None` for one in memory.
    pub(crate) file_id: Option<DataFileId>,
    pub(crate) segments: &'a [SegmentMeta],
}

/// The section of a table with `chunks` in row order, a sketch for each column of which there is one, and the deleted rows of the
/// chunks that have any.
pub(crate) fn encode_table<'a>(
    def: &TableDef,
    next_chunk_id: u32,
    sequence: u64,
    chunks: impl ExactSizeIterator<Item = ChunkEntry<'a>>,
    sketches: impl ExactSizeIterator<Item = Option<&'a DistinctSketch>>,
    deleted: impl Iterator<Item = (ChunkId, &'a DeletedRows)> + Clone,
) -> Vec<u8> {
    assert_eq!(sketches.len(), def.columns.len(), "a table has room for a sketch of each column");
    let mut out = Vec::with_capacity(256 + chunks.len() * (CHUNK_BYTES + def.columns.len() * 64));
    out.extend_from_slice(&def.id.0.to_le_bytes());
    out.extend_from_slice(&next_chunk_id.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    put_definition(&mut out, def);
    out.extend_from_slice(&(chunks.len() as u32).to_le_bytes());
    chunks.for_each(|chunk| put_chunk(&mut out, def, &chunk));
    sketches.for_each(|sketch| put_sketch(&mut out, sketch));
    put_deleted_rows(&mut out, deleted);
    out
}

/// Writes a table's definition but its id.
pub(super) fn put_definition(out: &mut Vec<u8>, def: &TableDef) {
    put_string(out, &def.name);
    out.extend_from_slice(&def.next_column_id.to_le_bytes());
    out.extend_from_slice(&(def.columns.len() as u16).to_le_bytes());
    for column in &def.columns {
        put_column(out, column);
    }
    out.extend_from_slice(&(def.primary_key.len() as u16).to_le_bytes());
    for column in &def.primary_key {
        out.extend_from_slice(&column.0.to_le_bytes());
    }
    out.extend_from_slice(&def.schema.0.to_le_bytes());
    put_checks(out, &def.checks);
    put_keys(out, &def.keys);
    put_foreign_keys(out, &def.foreign_keys);
}

/// Reads one section and checks all that it says of itself.
pub(super) fn decode_table(reader: &mut ByteReader<'_>, version: u32) -> Result<ManifestTable, ManifestError> {
    let id = TableId(reader.u32()?);
    let (next_chunk_id, sequence) = (reader.u32()?, reader.u64()?);
    let def = take_definition(reader, id, version)?;
    let chunk_count = reader.u32()? as usize;
    let mut chunks: Vec<ManifestChunk> = Vec::with_capacity(reader.bounded_capacity(chunk_count, CHUNK_BYTES));
    for _ in 0..chunk_count {
        let chunk = take_chunk(reader, &def, version)?;
        if chunks.last().is_some_and(|last| last.id >= chunk.id) || chunk.id.0 >= next_chunk_id {
            return Err(reader.malformed(format!("chunk id {} is out of order", chunk.id)));
        }
        chunks.push(chunk);
    }
    let sketches =
        if version < SKETCHES_SINCE { vec![None; def.columns.len()] } else { take_sketches(reader, &def, &chunks)? };
    if version >= DELETED_ROWS_SINCE {
        take_deleted_rows(reader, &mut chunks)?;
    }
    Ok(ManifestTable { def, next_chunk_id, sequence, chunks, sketches })
}

/// Reads the definition of the table with this id, and checks it.
pub(super) fn take_definition(
    reader: &mut ByteReader<'_>,
    id: TableId,
    version: u32,
) -> Result<TableDef, ManifestError> {
    let name = reader.string()?;
    let known_column_id = if version < COLUMN_IDS_SINCE { None } else { Some(reader.u16()?) };
    let column_count = reader.u16()?;
    let next_column_id = known_column_id.unwrap_or(column_count);
    let capacity = reader.bounded_capacity(column_count.into(), COLUMN_BYTES_MIN);
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(capacity);
    for at in 0..column_count {
        columns.push(take_column(reader, at, version)?);
    }
    let key_count = usize::from(reader.u16()?);
    let mut primary_key = Vec::with_capacity(reader.bounded_capacity(key_count, 2));
    for _ in 0..key_count {
        primary_key.push(ColumnId(reader.u16()?));
    }
    let schema = if version < SCHEMAS_SINCE { SchemaId::PUBLIC } else { SchemaId(reader.u32()?) };
    let checks = if version < CHECKS_SINCE { Vec::new() } else { take_checks(reader)? };
    let keys = if version < KEYS_SINCE { Vec::new() } else { take_keys(reader)? };
    let foreign_keys = if version < FOREIGN_KEYS_SINCE { Vec::new() } else { take_foreign_keys(reader)? };
    let def = TableDef { id, schema, name, columns, primary_key, next_column_id, checks, keys, foreign_keys };
    match def.validate() {
        Ok(()) => Ok(def),
        Err(what) => Err(reader.malformed(format!("table \"{}\": {what}", def.name))),
    }
}

fn take_sketches(
    reader: &mut ByteReader<'_>,
    def: &TableDef,
    chunks: &[ManifestChunk],
) -> Result<Vec<Option<DistinctSketch>>, ManifestError> {
    let mut sketches = Vec::with_capacity(reader.bounded_capacity(def.columns.len(), 1));
    for column in &def.columns {
        let sketch = take_sketch(reader)?;
        let has_values = chunks.iter().any(|chunk| chunk.has_values(column));
        if has_values && sketch.as_ref().is_some_and(DistinctSketch::is_empty) {
            return Err(reader.malformed(format!("the sketch of column \"{}\" knows none of its values", column.name)));
        }
        sketches.push(sketch);
    }
    Ok(sketches)
}

pub(super) fn put_string(out: &mut Vec<u8>, text: &str) {
    let length = u32::try_from(text.len()).expect("names and defaults are checked at CREATE TABLE");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_column(out: &mut Vec<u8>, column: &ColumnDef) {
    let nullable = if column.nullable { NULLABLE } else { 0 };
    let has_default = if column.default.is_some() { HAS_DEFAULT } else { 0 };
    let has_missing = if column.missing.is_some() { HAS_MISSING } else { 0 };
    out.extend_from_slice(&column.id.0.to_le_bytes());
    put_string(out, &column.name);
    put_type(out, column.column_type);
    let is_generated = if column.generated.is_some() { IS_GENERATED } else { 0 };
    let is_of_domain = if column.domain.is_some() { IS_OF_DOMAIN } else { 0 };
    out.push(nullable | has_default | has_missing | is_generated | is_of_domain);
    if let Some(default) = &column.default {
        put_string(out, default);
    }
    if let Some(missing) = &column.missing {
        put_missing_value(out, missing);
    }
    if let Some(generated) = &column.generated {
        put_generation(out, generated);
    }
    if let Some(ColumnDomain { oid, revision }) = column.domain {
        out.extend_from_slice(&oid.to_le_bytes());
        out.extend_from_slice(&revision.to_le_bytes());
    }
}

/// Reads the column that is the `at`-th of its table.
fn take_column(reader: &mut ByteReader<'_>, at: u16, version: u32) -> Result<ColumnDef, ManifestError> {
    let (id, may_lack) = if version < COLUMN_IDS_SINCE { (at, 0) } else { (reader.u16()?, HAS_MISSING) };
    let may_be_generated = if version < GENERATED_SINCE { 0 } else { IS_GENERATED };
    let name = reader.string()?;
    let column_type = take_type(reader, &name)?;
    let flags = reader.u8()?;
    let may_be_of_domain = if version < DOMAINS_SINCE { 0 } else { IS_OF_DOMAIN };
    if flags & !(NULLABLE | HAS_DEFAULT | may_lack | may_be_generated | may_be_of_domain) != 0 {
        return Err(reader.malformed(format!("column \"{name}\" has flags {flags:#04x}")));
    }
    let default = if flags & HAS_DEFAULT != 0 { Some(reader.string()?) } else { None };
    let missing = match flags & HAS_MISSING {
        0 => None,
        _ => Some(take_missing_value(reader, column_type.physical())?),
    };
    let generated = if flags & IS_GENERATED != 0 { Some(take_generation(reader)?) } else { None };
    let domain = match flags & IS_OF_DOMAIN {
        0 => None,
        _ => Some(ColumnDomain { oid: reader.u32()?, revision: reader.u32()? }),
    };
    let nullable = flags & NULLABLE != 0;
    Ok(ColumnDef { id: ColumnId(id), name, column_type, nullable, default, missing, generated, domain })
}

pub(super) fn put_type(out: &mut Vec<u8>, column_type: ColumnType) {
    let (tag, parameter) = type_code(column_type);
    out.push(tag);
    out.extend_from_slice(&parameter.to_le_bytes());
    if let ColumnType::Encoded { modifier, .. } = column_type {
        out.extend_from_slice(&modifier.to_le_bytes());
    }
}

/// Reads the type of the column, or of the member of an index, of this name.
pub(super) fn take_type(reader: &mut ByteReader<'_>, name: &str) -> Result<ColumnType, ManifestError> {
    let (tag, parameter) = (reader.u8()?, reader.u32()?);
    let column_type = match tag {
        ENCODED => Some(ColumnType::Encoded { type_oid: parameter, modifier: reader.u32()? as i32 }),
        _ => type_of_code(tag, parameter),
    };
    column_type.ok_or_else(|| reader.malformed(format!("column \"{name}\" has type {tag} with parameter {parameter}")))
}

fn type_code(column_type: ColumnType) -> (u8, u32) {
    match column_type {
        ColumnType::Boolean => (1, 0),
        ColumnType::SmallInt => (2, 0),
        ColumnType::Integer => (3, 0),
        ColumnType::BigInt => (4, 0),
        ColumnType::Real => (5, 0),
        ColumnType::Double => (6, 0),
        ColumnType::Numeric { precision, scale } => (7, u32::from(precision) + 256 * u32::from(scale)),
        ColumnType::Text => (8, 0),
        ColumnType::Varchar(limit) => (9, limit),
        ColumnType::Char(limit) => (10, limit),
        ColumnType::Date => (11, 0),
        ColumnType::Timestamp => (12, 0),
        ColumnType::TimestampTz => (13, 0),
        ColumnType::Interval => (14, 0),
        ColumnType::Bytea => (15, 0),
        ColumnType::Uuid => (16, 0),
        ColumnType::Time => (17, 0),
        ColumnType::Name => (18, 0),
        ColumnType::UnlimitedVarchar => (19, 0),
        ColumnType::Encoded { type_oid, .. } => (ENCODED, type_oid),
        ColumnType::RoundedTime(digits) => (21, digits.into()),
        ColumnType::RoundedTimestamp(digits) => (22, digits.into()),
        ColumnType::RoundedTimestampTz(digits) => (23, digits.into()),
        ColumnType::Enum(enum_type) => (24, enum_type.oid()),
    }
}

fn type_of_code(tag: u8, parameter: u32) -> Option<ColumnType> {
    let column_type = match (tag, parameter) {
        (7, _) => {
            let (precision, scale) = ((parameter & 0xFF) as u8, u8::try_from(parameter >> 8).ok()?);
            let valid = (1..=NUMERIC_PRECISION_MAX).contains(&precision) && scale <= precision;
            return valid.then_some(ColumnType::Numeric { precision, scale });
        }
        (9, limit) => return Some(ColumnType::Varchar(limit)),
        (10, limit) => return Some(ColumnType::Char(limit)),
        (24, oid) => return Some(ColumnType::Enum(EnumTypeRef::Stored(oid))),
        (1, 0) => ColumnType::Boolean,
        (2, 0) => ColumnType::SmallInt,
        (3, 0) => ColumnType::Integer,
        (4, 0) => ColumnType::BigInt,
        (5, 0) => ColumnType::Real,
        (6, 0) => ColumnType::Double,
        (8, 0) => ColumnType::Text,
        (11, 0) => ColumnType::Date,
        (12, 0) => ColumnType::Timestamp,
        (13, 0) => ColumnType::TimestampTz,
        (14, 0) => ColumnType::Interval,
        (15, 0) => ColumnType::Bytea,
        (16, 0) => ColumnType::Uuid,
        (17, 0) => ColumnType::Time,
        (18, 0) => ColumnType::Name,
        (19, 0) => ColumnType::UnlimitedVarchar,
        (21, digits @ 0..=6) => ColumnType::RoundedTime(digits as u8),
        (22, digits @ 0..=6) => ColumnType::RoundedTimestamp(digits as u8),
        (23, digits @ 0..=6) => ColumnType::RoundedTimestampTz(digits as u8),
        _ => return None,
    };
    Some(column_type)
}

/// Writes a chunk. One in a file has entries of the segments that are there: its segments in memory are of missing values, which
/// their columns' definitions tell. One in memory has the bytes of all its segments.
pub(super) fn put_chunk(out: &mut Vec<u8>, def: &TableDef, chunk: &ChunkEntry<'_>) {
    out.extend_from_slice(&chunk.id.0.to_le_bytes());
    out.extend_from_slice(&chunk.row_count.to_le_bytes());
    out.extend_from_slice(&chunk.file_id.map_or(IN_MEMORY, |file| file.0).to_le_bytes());
    let is_written = |segment: &&SegmentMeta| segment.memory().is_some() == chunk.file_id.is_none();
    let written = chunk.segments.iter().filter(is_written);
    out.extend_from_slice(&(written.clone().count() as u16).to_le_bytes());
    for segment in written {
        let column = def.column_by_id(segment.column).expect("a chunk has segments of its table's columns");
        out.extend_from_slice(&segment.column.0.to_le_bytes());
        put_segment(out, segment, column.column_type);
    }
}

/// Reads a chunk without its deleted rows.
pub(super) fn take_chunk(
    reader: &mut ByteReader<'_>,
    def: &TableDef,
    version: u32,
) -> Result<ManifestChunk, ManifestError> {
    let (id, row_count, file_id) = (ChunkId(reader.u32()?), reader.u32()?, reader.u64()?);
    if !(1..=CHUNK_ROWS as u32).contains(&row_count) {
        return Err(reader.malformed(format!("chunk {id} has {row_count} rows")));
    }
    let file_id = (version < MEMORY_CHUNKS_SINCE || file_id != IN_MEMORY).then_some(DataFileId(file_id));
    let segments = take_segments(reader, def, version, file_id)?;
    let is_of_other_rows = |segment: &&SegmentMeta| {
        segment.memory().is_some_and(|memory| memory.segment().row_count() != row_count as usize)
    };
    if let Some(segment) = segments.iter().find(is_of_other_rows) {
        return Err(reader.malformed(format!("column {} of chunk {id} has not {row_count} rows", segment.column)));
    }
    for column in &def.columns {
        let segment = segments.iter().find(|segment| segment.column == column.id);
        let missing_nulls = if column.missing.is_none() { row_count } else { 0 };
        let nulls = segment.map_or(missing_nulls, |segment| segment.zone_map.null_count);
        let nulls_max = if column.nullable { row_count } else { 0 };
        if nulls > nulls_max {
            return Err(reader.malformed(format!("{nulls} nulls in column \"{}\" of chunk {id}", column.name)));
        }
    }
    Ok(ManifestChunk { id, row_count, deleted: None, file_id, segments })
}

/// Reads a chunk's segment entries, whose columns ascend.
fn take_segments(
    reader: &mut ByteReader<'_>,
    def: &TableDef,
    version: u32,
    file_id: Option<DataFileId>,
) -> Result<Vec<SegmentMeta>, ManifestError> {
    let has_ids = version >= COLUMN_IDS_SINCE;
    let count = if has_ids { usize::from(reader.u16()?) } else { def.columns.len() };
    let mut segments: Vec<SegmentMeta> = Vec::with_capacity(reader.bounded_capacity(count, SEGMENT_BYTES_MIN));
    for at in 0..count {
        let id = if has_ids { ColumnId(reader.u16()?) } else { def.columns[at].id };
        let Some(column) = def.column_by_id(id) else {
            return Err(reader.malformed(format!("a segment of column {id}, which the table does not have")));
        };
        if segments.last().is_some_and(|last| last.column >= id) {
            return Err(reader.malformed(format!("the segment of column {id} is out of order")));
        }
        segments.push(take_segment(reader, column, version, file_id)?);
    }
    Ok(segments)
}

fn put_segment(out: &mut Vec<u8>, segment: &SegmentMeta, column_type: ColumnType) {
    let (zone_map, physical) = (&segment.zone_map, segment.stored_type(column_type).physical());
    let bounds = zone_map.min.iter().chain(&zone_map.max);
    assert!(bounds.clone().all(|bound| is_of(bound, physical)), "bounds have their column's type: {zone_map:?}");
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    let FileRange { offset, stored_bytes } = segment.file_range().unwrap_or(NOWHERE);
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&stored_bytes.to_le_bytes());
    out.extend_from_slice(&segment.segment_bytes.to_le_bytes());
    out.extend_from_slice(&segment.checksum.to_le_bytes());
    out.extend_from_slice(&zone_map.null_count.to_le_bytes());
    let of_bounds = flag(zone_map.min.is_some(), HAS_MIN) | flag(zone_map.max.is_some(), HAS_MAX);
    out.push(of_bounds | flag(zone_map.exact, EXACT) | flag(segment.scale.is_some(), HAS_SCALE));
    out.extend(segment.scale);
    bounds.for_each(|bound| put_scalar(out, bound));
    if let Some(memory) = segment.memory() {
        out.extend_from_slice(memory.bytes());
    }
}

fn take_segment(
    reader: &mut ByteReader<'_>,
    column: &ColumnDef,
    version: u32,
    file_id: Option<DataFileId>,
) -> Result<SegmentMeta, ManifestError> {
    let range = FileRange { offset: reader.u64()?, stored_bytes: reader.u32()? };
    let segment_bytes = reader.u32()?;
    let (checksum, null_count, flags) = (reader.u64()?, reader.u32()?, reader.u8()?);
    let fits = if file_id.is_some() { is_placed(range, segment_bytes) } else { range == NOWHERE && segment_bytes > 0 };
    if !fits {
        let FileRange { offset, stored_bytes } = range;
        let what = format!("a segment of {segment_bytes} bytes in {stored_bytes} at offset {offset}");
        return Err(reader.malformed(what));
    }
    let column_type = column.column_type;
    let may_have_scale = version >= SCALES_SINCE && column_type.is_encoded_numeric();
    if flags & !(HAS_MIN | HAS_MAX | EXACT | if may_have_scale { HAS_SCALE } else { 0 }) != 0 {
        return Err(reader.malformed(format!("a segment has flags {flags:#04x}")));
    }
    let scale = if flags & HAS_SCALE != 0 { Some(take_scale(reader)?) } else { None };
    let physical = scale.map_or(column_type, CommonScale::stored_type).physical();
    let min = if flags & HAS_MIN != 0 { Some(take_scalar(reader, physical)?) } else { None };
    let max = if flags & HAS_MAX != 0 { Some(take_scalar(reader, physical)?) } else { None };
    let zone_map = ZoneMap { min, max, null_count, exact: flags & EXACT != 0 };
    let place = match file_id {
        Some(_) => SegmentPlace::InFile(range),
        None => {
            let stored_type = scale.map_or(column_type, CommonScale::stored_type);
            SegmentPlace::InMemory(Arc::new(take_bytes(reader, segment_bytes, checksum, stored_type)?))
        }
    };
    Ok(SegmentMeta { column: column.id, place, segment_bytes, checksum, zone_map, scale })
}

/// Whether a segment can be at such a place in a data file.
fn is_placed(range: FileRange, segment_bytes: u32) -> bool {
    const ALIGN: u64 = SEGMENT_ALIGN_BYTES as u64;
    let FileRange { offset, stored_bytes } = range;
    let is_aligned = offset % ALIGN == 0 && u64::from(stored_bytes) % ALIGN == 0;
    let is_behind_header = offset >= DATA_FILE_HEADER_BYTES as u64;
    let has_end = offset.checked_add(u64::from(stored_bytes)).is_some();
    is_aligned && is_behind_header && has_end && (1..=stored_bytes).contains(&segment_bytes)
}

/// Reads the bytes of a segment of a chunk in memory.
fn take_bytes(
    reader: &mut ByteReader<'_>,
    segment_bytes: u32,
    expected: u64,
    stored_type: ColumnType,
) -> Result<MemorySegment, ManifestError> {
    let bytes = reader.take(segment_bytes as usize)?;
    if checksum(bytes) != expected {
        return Err(reader.malformed(format!("the {segment_bytes} bytes before are no segment with this checksum")));
    }
    MemorySegment::open(bytes.to_vec(), stored_type).map_err(|error| reader.malformed(error.to_string()))
}

fn take_scale(reader: &mut ByteReader<'_>) -> Result<u8, ManifestError> {
    match reader.u8()? {
        scale if scale <= NUMERIC_PRECISION_MAX => Ok(scale),
        scale => Err(reader.malformed(format!("numerics have the scale {scale}, more than {NUMERIC_PRECISION_MAX}"))),
    }
}
