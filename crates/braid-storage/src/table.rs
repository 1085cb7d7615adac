//! Table definitions and the immutable versions that scans read.
//!
//! A [`TableVersion`] never changes: a load or INSERT makes a new one that shares the unchanged chunks. A scan keeps
//! its version (and through it the [`DataFile`]s) alive for as long as it reads; a file that the newest manifest no
//! longer names is deleted when its last version goes.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use braid_base::{ChunkId, ColumnId, SegmentId, TableId};

use crate::data_file::DataFile;
use crate::{ColumnType, CommonScale, DeletedRows, DistinctCount, PhysicalType, ZoneMap};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// Name as stored: folded to lower case unless it was quoted.
    pub name: String,
    /// Type.
    pub column_type: ColumnType,
    /// Whether nulls are allowed.
    pub nullable: bool,
    /// `DEFAULT` as SQL text, evaluated at each INSERT that leaves the column out.
    pub default: Option<String>,
}

/// Most columns of a table: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

/// Longest name of a table or column, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// Longest `DEFAULT`, in bytes of SQL text.
pub const DEFAULT_BYTES_MAX: usize = 65_536;

/// A table: name, columns, primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Identity, not given out twice.
    pub id: TableId,
    /// Name as stored.
    pub name: String,
    /// Columns in order; `ColumnId(i)` is the i-th.
    pub columns: Vec<ColumnDef>,
    /// Columns declared PRIMARY KEY (informational: it implies NOT NULL, uniqueness is not checked yet).
    pub primary_key: Vec<ColumnId>,
}

impl TableDef {
    /// The Arrow schema of the table's rows.
    pub fn arrow_schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|c| c.column_type.field(&c.name, c.nullable));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Whether the definition makes sense; if not, a sentence that says what does not, with the limit.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if !(1..=COLUMNS_MAX).contains(&self.columns.len()) {
            return Err(format!("it has {} columns; a table has 1 to {COLUMNS_MAX} columns", self.columns.len()));
        }
        let mut names = HashSet::new();
        for name in self.columns.iter().map(|c| &c.name).chain([&self.name]) {
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
                return Err(format!("a name has {} bytes; names have 1 to {NAME_BYTES_MAX} bytes", name.len()));
            }
        }
        for (at, column) in self.columns.iter().enumerate() {
            if !names.insert(column.name.as_str()) {
                return Err(format!("column \"{}\" is specified more than once", column.name));
            }
            let default_bytes = column.default.as_ref().map_or(0, String::len);
            if default_bytes > DEFAULT_BYTES_MAX {
                return Err(format!(
                    "a default has {default_bytes} bytes; defaults have at most {DEFAULT_BYTES_MAX} bytes"
                ));
            }
            let key = self.primary_key.iter().filter(|key| usize::from(key.0) == at).count();
            if key > 1 || (key == 1 && column.nullable) {
                return Err(format!("column \"{}\" is in the primary key twice or nullable", column.name));
            }
        }
        match self.primary_key.iter().find(|key| usize::from(key.0) >= self.columns.len()) {
            Some(key) => Err(format!("primary key column {key} is beyond the {} columns", self.columns.len())),
            None => Ok(()),
        }
    }

    /// The column called `name`, with its id.
    pub fn column(&self, name: &str) -> Option<(ColumnId, &ColumnDef)> {
        let at = self.columns.iter().position(|c| c.name == name)?;
        Some((ColumnId(at as u16), &self.columns[at]))
    }
}

/// Where a segment lies and what is known of it without reading it.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentMeta {
    /// Offset in the file, in bytes; a multiple of [`braid_base::SEGMENT_ALIGN_BYTES`].
    pub offset: u64,
    /// Bytes on disk, padding included; a multiple of [`braid_base::SEGMENT_ALIGN_BYTES`].
    pub stored_bytes: u32,
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
    /// The file that holds all segments of this chunk.
    pub file: Arc<DataFile>,
    /// One for each column, in column order.
    pub segments: Vec<SegmentMeta>,
}

impl ChunkMeta {
    /// Rows that are not deleted, at least 1.
    pub fn live_row_count(&self) -> u32 {
        self.row_count - self.deleted.as_ref().map_or(0, |deleted| deleted.count())
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
        Self { def, chunks, sequence, distinct, common_scales }
    }

    /// What the values of each column of numerics without a precision have in common. A plan is right for versions in which
    /// this is the same for its columns.
    pub fn common_scales(&self) -> &Arc<[Option<CommonScale>]> {
        &self.common_scales
    }

    /// The type of the values that a scan returns of a column: its own, or a narrower one that all values have.
    pub fn value_type(&self, column: ColumnId) -> ColumnType {
        let at = usize::from(column.0);
        self.common_scales[at].map_or(self.def.columns[at].column_type, CommonScale::value_type)
    }

    /// The form of these values in segments, zone maps and predicates. The integers of encoded numerics are 128 bits wide,
    /// whatever their digits.
    pub fn physical(&self, column: ColumnId) -> PhysicalType {
        let at = usize::from(column.0);
        self.common_scales[at].map_or(self.def.columns[at].column_type.physical(), |_| PhysicalType::Int128)
    }

    /// Rows in all chunks that are not deleted.
    pub fn row_count(&self) -> u64 {
        self.chunks.iter().map(|c| u64::from(c.live_row_count())).sum()
    }

    /// About how many different values a column has, nulls aside.
    pub fn distinct_count(&self, column: ColumnId) -> Option<f64> {
        self.distinct[usize::from(column.0)].as_ref().map(DistinctCount::estimate)
    }

    /// The identity of a segment of this table.
    pub fn segment_id(&self, chunk: ChunkId, column: ColumnId) -> SegmentId {
        SegmentId { table: self.def.id, chunk, column }
    }
}
