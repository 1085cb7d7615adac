//! Table definitions and the immutable versions that scans read.
//!
//! A [`TableVersion`] never changes: a load or INSERT makes a new one that shares the unchanged chunks. A scan keeps
//! its version (and through it the [`DataFile`]s) alive for as long as it reads; a file that the newest manifest no
//! longer names is deleted when its last version goes.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use braid_base::{ChunkId, ColumnId, SchemaId, SegmentId, TableId};

use crate::column_change_error::COLUMNS_MAX;
use crate::data_file::DataFile;
use crate::deleted_rows::PRIVATE_CHUNKS;
use crate::key_index::ChunkKeys;
use crate::memory_segment::MemorySegment;
use crate::missing_values::why_unfit;
use crate::moved_rows::{GoneChunk, Successor};
use crate::{
    ColumnType, CommonScale, DeletedRows, DistinctCount, EncodedSegment, ForeignKeyDef, KeyDef, PhysicalType, Scalar,
    SegmentError, ZoneMap,
};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// Identity within the table, not given out twice. A column that is yet to be part of a table has any: it gets its own
    /// when it is added.
    pub id: ColumnId,
    /// Name as stored: folded to lower case unless it was quoted.
    pub name: String,
    /// Type.
    pub column_type: ColumnType,
    /// Whether nulls are allowed.
    pub nullable: bool,
    /// `DEFAULT` as SQL text, evaluated at each INSERT that leaves the column out.
    pub default: Option<String>,
    /// The value in rows that were there before the column: in chunks without a segment of it. `None` is null.
    pub missing: Option<Scalar>,
    /// How its values are computed, if they are: it has no default then.
    pub generated: Option<GenerationDef>,
    /// The domain that it is of, if it is of one: its type is the domain's base type then.
    pub domain: Option<ColumnDomain>,
}

/// The domain of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDomain {
    /// `pg_type.oid`
    pub oid: u32,
    /// [`braid_base::DomainType::revision`] of the constraints that the rows were checked against.
    pub revision: u32,
}

impl ColumnDef {
    /// A column to be added to a table: nullable, without a default, not generated, of no domain, null in rows that are there.
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> Self {
        let (id, name) = (ColumnId(0), name.into());
        let (default, missing, generated, domain) = (None, None, None, None);
        Self { id, name, column_type, nullable: true, default, missing, generated, domain }
    }
}

/// How the values of a generated column are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationDef {
    /// The expression as SQL text over the names of the table's columns.
    pub expression: String,
    /// The columns that it reads, ascending. None of them is generated.
    pub columns: Vec<ColumnId>,
}

/// A condition that is false for no row of a table: CHECK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDef {
    /// Name as stored, unique in the table.
    pub name: String,
    /// The condition as SQL text over the names of the table's columns.
    pub condition: String,
    /// The columns that it reads, ascending.
    pub columns: Vec<ColumnId>,
    /// Whether the rows that were there when it was added are known to satisfy it, too.
    pub validated: bool,
    /// The comment on it.
    pub comment: Option<String>,
}

/// Longest name of a table or column, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// Longest `DEFAULT` or condition, in bytes of SQL text.
pub const DEFAULT_BYTES_MAX: usize = 65_536;

/// Most check constraints of a table: they have object ids beside those of the defaults of its columns.
pub const CHECKS_MAX: usize = 2048 - COLUMNS_MAX;

/// A table: name, columns, primary key, conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Identity, not given out twice.
    pub id: TableId,
    /// The schema that it is in.
    pub schema: SchemaId,
    /// Name as stored, unique in the schema.
    pub name: String,
    /// Columns in order. Columns are added behind the others, so their ids ascend.
    pub columns: Vec<ColumnDef>,
    /// Columns declared PRIMARY KEY. Their values differ only if the key is among `keys`: NOT ENFORCED.
    pub primary_key: Vec<ColumnId>,
    /// The id that the next column gets; ids of dropped columns are below it. At most [`COLUMNS_MAX`].
    pub next_column_id: u16,
    /// Conditions of its rows, in the order in which they were added. What they mean is for the front end.
    pub checks: Vec<CheckDef>,
    /// Columns whose values differ in all rows, in the order in which they were declared.
    pub keys: Vec<KeyDef>,
    /// Columns whose values are in rows of other tables, in the order in which they were declared.
    pub foreign_keys: Vec<Arc<ForeignKeyDef>>,
}

impl TableDef {
    /// The Arrow schema of the table's rows.
    pub fn arrow_schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|c| c.column_type.field(&c.name, c.nullable));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The place of a column in the definition; `None` if the table has no such column (any more).
    pub fn position(&self, column: ColumnId) -> Option<usize> {
        self.columns.binary_search_by_key(&column, |column| column.id).ok()
    }

    /// The column with this id, if the table has it.
    pub fn column_by_id(&self, column: ColumnId) -> Option<&ColumnDef> {
        self.position(column).map(|at| &self.columns[at])
    }

    /// Whether the definition makes sense; if not, a sentence that says what does not, with the limit.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if !(1..=COLUMNS_MAX).contains(&self.columns.len()) {
            return Err(format!("it has {} columns; a table has 1 to {COLUMNS_MAX} columns", self.columns.len()));
        }
        self.validate_ids()?;
        self.validate_checks()?;
        self.validate_generated()?;
        self.validate_keys()?;
        self.validate_foreign_keys()?;
        let mut names = HashSet::new();
        for name in self.columns.iter().map(|c| &c.name).chain([&self.name]) {
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
                return Err(format!("a name has {} bytes; names have 1 to {NAME_BYTES_MAX} bytes", name.len()));
            }
        }
        for column in &self.columns {
            if !names.insert(column.name.as_str()) {
                return Err(format!("column \"{}\" is specified more than once", column.name));
            }
            let default_bytes = column.default.as_ref().map_or(0, String::len);
            if default_bytes > DEFAULT_BYTES_MAX {
                return Err(format!(
                    "a default has {default_bytes} bytes; defaults have at most {DEFAULT_BYTES_MAX} bytes"
                ));
            }
            if let Some(reason) = column.missing.as_ref().and_then(|value| why_unfit(value, column.column_type)) {
                return Err(format!("the value of column \"{}\" in rows before it {reason}", column.name));
            }
            let key = self.primary_key.iter().filter(|key| **key == column.id).count();
            if key > 1 || (key == 1 && column.nullable) {
                return Err(format!("column \"{}\" is in the primary key twice or nullable", column.name));
            }
        }
        match self.primary_key.iter().find(|key| self.position(**key).is_none()) {
            Some(key) => Err(format!("primary key column {key} is none of the {} columns", self.columns.len())),
            None => Ok(()),
        }
    }

    fn validate_checks(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        for CheckDef { name, condition, columns, .. } in &self.checks {
            let is_own = |column: &ColumnId| self.position(*column).is_some();
            if !columns.is_sorted_by(|a, b| a < b) || !columns.iter().all(is_own) {
                return Err(format!(
                    "the columns of check constraint \"{name}\" do not ascend, or are none of the table"
                ));
            }
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !names.insert(name) {
                return Err(format!("the name of check constraint \"{name}\" is too long, empty, or not its own"));
            }
            if condition.len() > DEFAULT_BYTES_MAX {
                let bytes = condition.len();
                return Err(format!(
                    "a condition has {bytes} bytes; conditions have at most {DEFAULT_BYTES_MAX} bytes"
                ));
            }
        }
        if self.checks.len() > CHECKS_MAX {
            return Err(format!("it has {} check constraints; a table has at most {CHECKS_MAX}", self.checks.len()));
        }
        Ok(())
    }

    fn validate_ids(&self) -> Result<(), String> {
        let next = self.next_column_id;
        if usize::from(next) > COLUMNS_MAX {
            return Err(format!(
                "its next column id is {next}; a table has at most {COLUMNS_MAX} columns, dropped ones included"
            ));
        }
        let ascend = self.columns.is_sorted_by(|a, b| a.id < b.id);
        match self.columns.last() {
            Some(last) if ascend && last.id.0 < next => Ok(()),
            _ => Err(format!("its column ids do not ascend, or not to below {next}")),
        }
    }

    /// The column called `name`, with its id.
    pub fn column(&self, name: &str) -> Option<(ColumnId, &ColumnDef)> {
        let column = self.columns.iter().find(|column| column.name == name)?;
        Some((column.id, column))
    }
}

/// Where the bytes of a segment are. They are those of an ordinary segment in either case, and never move: a segment of a
/// chunk that was in memory once is in no file later, nor the other way.
#[derive(Clone, Debug, PartialEq)]
pub enum SegmentPlace {
    /// In the data file of its chunk.
    InFile(FileRange),
    /// In memory: reading it is no I/O.
    InMemory(Arc<MemorySegment>),
}

/// A part of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// Offset in the file, in bytes; a multiple of [`braid_base::SEGMENT_ALIGN_BYTES`].
    pub offset: u64,
    /// Bytes on disk, padding included; a multiple of [`braid_base::SEGMENT_ALIGN_BYTES`].
    pub stored_bytes: u32,
}

impl FileRange {
    /// Where it ends in the file, in bytes.
    pub fn end(self) -> u64 {
        self.offset + u64::from(self.stored_bytes)
    }
}

/// Where a segment lies and what is known of it without reading it.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentMeta {
    /// The column.
    pub column: ColumnId,
    /// Where its bytes are.
    pub place: SegmentPlace,
    /// Bytes of the segment itself, without padding.
    pub segment_bytes: u32,
    /// XXH3-64 of the segment's bytes (without padding).
    pub checksum: u64,
    /// Bounds and null count.
    pub zone_map: ZoneMap,
    /// The scale of a column of encoded numerics that this segment holds as integers; `None` where it holds bytes, and for
    /// any other column.
    pub scale: Option<u8>,
}

impl SegmentMeta {
    /// A segment in memory of a column that is declared so.
    ///
    /// # Errors
    /// When the bytes are no segment of such a column.
    pub fn in_memory(column: ColumnId, encoded: EncodedSegment, declared: ColumnType) -> Result<Self, SegmentError> {
        let EncodedSegment { bytes, zone_map, checksum, scale, .. } = encoded;
        let segment_bytes = u32::try_from(bytes.len()).expect("segments are below 2 GiB");
        let stored_type = scale.map_or(declared, CommonScale::stored_type);
        let place = SegmentPlace::InMemory(Arc::new(MemorySegment::open(bytes, stored_type)?));
        Ok(Self { column, place, segment_bytes, checksum, zone_map, scale })
    }

    /// The segment in a column of this type, whose values have the same form. One in memory is opened as such.
    pub(crate) fn declared(&self, declared: ColumnType) -> Self {
        let stored_type = self.stored_type(declared);
        match self.memory().filter(|memory| memory.segment().column_type() != stored_type) {
            Some(memory) => {
                let opened = MemorySegment::open(memory.bytes().to_vec(), stored_type);
                // Values of another form fail their readers, as those in files do.
                opened.map_or_else(
                    |_| self.clone(),
                    |memory| Self { place: SegmentPlace::InMemory(Arc::new(memory)), ..self.clone() },
                )
            }
            None => self.clone(),
        }
    }

    /// The part of its chunk's data file that is to be read; `None` if it is in memory.
    pub fn file_range(&self) -> Option<FileRange> {
        match self.place {
            SegmentPlace::InFile(range) => Some(range),
            SegmentPlace::InMemory(_) => None,
        }
    }

    /// The segment, if it is in memory.
    pub fn memory(&self) -> Option<&MemorySegment> {
        match &self.place {
            SegmentPlace::InFile(_) => None,
            SegmentPlace::InMemory(segment) => Some(segment),
        }
    }

    /// Bytes on disk, padding included; 0 if it is in memory.
    pub fn stored_bytes(&self) -> u32 {
        self.file_range().map_or(0, |range| range.stored_bytes)
    }

    /// The type of the segment's values, in a column that is declared so.
    pub fn stored_type(&self, declared: ColumnType) -> ColumnType {
        self.scale.map_or(declared, CommonScale::stored_type)
    }
}

/// A chunk: rows, and a segment for each column.
#[derive(Clone, Debug)]
pub struct ChunkMeta {
    /// Identity within the table.
    pub id: ChunkId,
    /// Rows of its segments, deleted ones included, `1..=CHUNK_ROWS`. Zone maps are about these.
    pub row_count: u32,
    /// The deleted ones among them: some, not all; `None` if there are none.
    pub deleted: Option<Arc<DeletedRows>>,
    /// The file that holds the segments of this chunk, but those of missing values; `None` if all are in memory.
    pub file: Option<Arc<DataFile>>,
    /// One for each column of the definition, in its order.
    pub segments: Vec<SegmentMeta>,
    /// What is known of its keys.
    pub keys: Arc<ChunkKeys>,
    /// Where its rows are after a commit has written them again; one for all versions of the chunk.
    pub successor: Successor,
}

impl ChunkMeta {
    /// Rows that are not deleted, at least 1.
    pub fn live_row_count(&self) -> u32 {
        self.row_count - self.deleted.as_ref().map_or(0, |deleted| deleted.count())
    }

    /// What is known of it when its rows are written again.
    pub(crate) fn gone(&self) -> GoneChunk {
        let Self { id, row_count, deleted, successor, .. } = self;
        GoneChunk { id: *id, row_count: *row_count, deleted: deleted.clone(), successor: successor.clone() }
    }

    /// The file of a segment that is in one. Panics for a chunk in memory.
    pub fn data_file(&self) -> &Arc<DataFile> {
        self.file.as_ref().expect("a segment in a file is of a chunk that has one")
    }

    /// The segment of a column. Panics if the chunk is of a version without the column.
    pub fn segment(&self, column: ColumnId) -> &SegmentMeta {
        self.find_segment(column).expect("a chunk has a segment for each column of its version")
    }

    /// The segment of a column, if the chunk has it.
    pub fn find_segment(&self, column: ColumnId) -> Option<&SegmentMeta> {
        let found = self.segments.binary_search_by_key(&column, |segment| segment.column);
        found.ok().map(|at| &self.segments[at])
    }
}

/// A table as one snapshot sees it.
#[derive(Clone, Debug)]
pub struct TableVersion {
    /// Definition.
    pub def: Arc<TableDef>,
    /// Chunks in row order.
    pub chunks: Arc<[Arc<ChunkMeta>]>,
    /// The manifest sequence number that made this version.
    pub sequence: u64,
    /// That of the version that had other rows, or another definition, than the one before: compaction changes neither.
    pub content: u64,
    /// For each column how many different values its chunks have; `None` where they were not counted: rows were there before
    /// manifests had sketches. Too high after values are gone. Too low by the sketch's error, and where numerics without a precision have
    /// several scales: integers are counted without theirs.
    pub distinct: Arc<[Option<DistinctCount>]>,
    common_scales: Arc<[Option<CommonScale>]>,
}

impl TableVersion {
    /// A version with these chunks, made by the manifest with this number.
    pub(crate) fn new(
        def: Arc<TableDef>,
        chunks: Arc<[Arc<ChunkMeta>]>,
        sequence: u64,
        distinct: Arc<[Option<DistinctCount>]>,
    ) -> Self {
        let common_scale = |(at, column): (usize, &ColumnDef)| {
            let segments = chunks.iter().map(|chunk| (&chunk.segments[at], chunk.row_count));
            let parts = segments.map(|(segment, row_count)| (segment.scale, &segment.zone_map, row_count));
            column.column_type.is_encoded_numeric().then(|| CommonScale::of(parts)).flatten()
        };
        let common_scales = def.columns.iter().enumerate().map(common_scale).collect();
        Self { def, chunks, sequence, content: sequence, distinct, common_scales }
    }

    /// The version, of the same rows and definition as one with this number.
    pub(crate) fn with_content(self, content: u64) -> Self {
        Self { content, ..self }
    }

    /// The version without its chunks: what plans depend on, and nothing that holds memory or files.
    pub fn without_chunks(&self) -> Self {
        Self { chunks: Arc::from([]), ..self.clone() }
    }

    /// What the values of each column of numerics without a precision have in common. A plan is right for versions in which
    /// this is the same for its columns.
    pub fn common_scales(&self) -> &Arc<[Option<CommonScale>]> {
        &self.common_scales
    }

    /// The place of a column in the definition. Panics if the version does not have the column.
    pub fn position(&self, column: ColumnId) -> usize {
        self.def.position(column).expect("the version has the column")
    }

    /// What the values of a column of numerics without a precision have in common.
    pub fn common_scale(&self, column: ColumnId) -> Option<CommonScale> {
        self.common_scales[self.position(column)]
    }

    /// The type of the values that a scan returns of a column: its own, or a narrower one that all values have.
    pub fn value_type(&self, column: ColumnId) -> ColumnType {
        let at = self.position(column);
        self.common_scales[at].map_or(self.def.columns[at].column_type, CommonScale::value_type)
    }

    /// The form of these values in segments, zone maps and predicates. The integers of encoded numerics are 128 bits wide,
    /// whatever their digits.
    pub fn physical(&self, column: ColumnId) -> PhysicalType {
        let at = self.position(column);
        self.common_scales[at].map_or(self.def.columns[at].column_type.physical(), |_| PhysicalType::Int128)
    }

    /// Rows in all chunks that are not deleted.
    pub fn row_count(&self) -> u64 {
        self.chunks.iter().map(|c| u64::from(c.live_row_count())).sum()
    }

    /// About how many different values a column has, nulls aside.
    pub fn distinct_count(&self, column: ColumnId) -> Option<f64> {
        self.distinct[self.position(column)].as_ref().map(DistinctCount::estimate)
    }

    /// A chunk, by its number.
    pub fn chunk(&self, id: ChunkId) -> Option<&Arc<ChunkMeta>> {
        if id.0 >= PRIVATE_CHUNKS {
            // A transaction's own are in no order.
            return self.chunks.iter().rev().find(|chunk| chunk.id == id);
        }
        let at = self.chunks.binary_search_by_key(&id, |chunk| chunk.id).ok()?;
        Some(&self.chunks[at])
    }

    /// The identity of a segment of this table.
    pub fn segment_id(&self, chunk: ChunkId, column: ColumnId) -> SegmentId {
        SegmentId { table: self.def.id, chunk, column }
    }
}
