//! What a check found.

use std::path::{Path, PathBuf};

use braid_base::ChunkId;
use braid_io::IoError;

use crate::Scalar;
use crate::data_file_header::HeaderFault;
use crate::log_file::LogFault;
use crate::manifest_error::ManifestError;

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Segments verified.
    pub segments: usize,
    /// Segments to verify in all.
    pub segments_total: usize,
    /// Bytes read.
    pub bytes: u64,
}

/// What a check looked at, and what was wrong with it.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Tables verified.
    pub tables: usize,
    /// Chunks verified.
    pub chunks: usize,
    /// Segments verified.
    pub segments: usize,
    /// Data files verified.
    pub files: usize,
    /// Bytes read, headers and manifest included.
    pub bytes: u64,
    /// Everything that was wrong, by table, chunk and column.
    pub faults: Vec<Fault>,
    /// Data files that nothing names; the next open deletes them. Not a fault.
    pub orphans: Vec<PathBuf>,
}

impl CheckReport {
    /// Whether everything is as it should be.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Puts the faults in an order that does not depend on which segment was read first.
    pub(crate) fn sort(&mut self) {
        self.faults.sort_by(|a, b| {
            let key = |f: &Fault| (f.table.clone(), f.file.clone(), f.offset);
            key(a).cmp(&key(b))
        });
    }
}

/// Something wrong, and where.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The table, if the place belongs to one.
    pub table: Option<String>,
    /// The column, if the place is a segment.
    pub column: Option<String>,
    /// The chunk, if the place is a segment.
    pub chunk: Option<ChunkId>,
    /// The file.
    pub file: PathBuf,
    /// Where in the file, in bytes, if it is not about the whole of it.
    pub offset: Option<u64>,
    /// What is wrong.
    pub kind: FaultKind,
}

impl Fault {
    /// A fault of a file that belongs to no table.
    pub(crate) fn of_path(path: &Path, kind: FaultKind) -> Self {
        Self { table: None, column: None, chunk: None, file: path.to_owned(), offset: None, kind }
    }
}

impl std::fmt::Display for Fault {
    /// `table "t", column "c", chunk k0: … ("data/….seg", offset 4096)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut place = Vec::new();
        place.extend(self.table.as_ref().map(|table| format!("table \"{table}\"")));
        place.extend(self.column.as_ref().map(|column| format!("column \"{column}\"")));
        place.extend(self.chunk.map(|chunk| format!("chunk {chunk}")));
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        write!(f, "{} (\"{}\"", self.kind, self.file.display())?;
        match self.offset {
            Some(offset) => write!(f, ", offset {offset})"),
            None => f.write_str(")"),
        }
    }
}

/// What is wrong with a place.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The manifest names a file that is not there.
    #[error("the file is missing")]
    Missing,
    /// A data file is shorter or longer than its segments.
    #[error("the file has {found} bytes instead of {expected}")]
    Length {
        /// Bytes by the manifest.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A data file's header is wrong.
    #[error("the header is wrong: {0}")]
    Header(HeaderFault),
    /// The disk failed, or the file ends too early.
    #[error("{0}")]
    Read(IoError),
    /// A segment's bytes are not those that were written.
    #[error("the checksum is {found:#018x} instead of {expected:#018x}")]
    Checksum {
        /// Checksum in the manifest.
        expected: u64,
        /// Checksum of the bytes read.
        found: u64,
    },
    /// The bytes between a segment's end and the next boundary are not zero.
    #[error("the padding after the segment is not zero")]
    Padding,
    /// The checksum holds and the segment does not open or decode: a bug.
    #[error("the segment cannot be decoded: {0}")]
    Structure(String),
    /// A segment has another number of rows than its chunk.
    #[error("the segment has {found} rows instead of {expected}")]
    RowCount {
        /// Rows by the manifest.
        expected: u64,
        /// Rows in the segment.
        found: u64,
    },
    /// A segment has another number of nulls than its zone map says.
    #[error("the segment has {found} nulls, but its zone map says {expected}")]
    NullCount {
        /// Nulls by the zone map.
        expected: u64,
        /// Nulls in the segment.
        found: u64,
    },
    /// A value lies outside its zone map, or the zone map claims to be exact and is not.
    #[error("{0}")]
    Bounds(Box<BoundsFault>),
    /// The manifest on disk is damaged.
    #[error("the manifest is damaged: {0}")]
    Manifest(ManifestError),
    /// A log is damaged or missing.
    #[error("the log of commits: {0}")]
    Log(LogFault),
    /// The manifest and the logs are not the state of this process.
    #[error("the newest state has number {found} instead of {expected}")]
    Sequence {
        /// Number of the state in memory.
        expected: u64,
        /// Number on disk.
        found: u64,
    },
    /// A chunk has other deleted rows in memory than on disk, all its rows, or rows that it does not have: a bug.
    #[error("{in_memory} of {row_count} rows are deleted, and {on_disk} by the manifest and the log")]
    DeletedRows {
        /// Rows of the chunk.
        row_count: u32,
        /// Deleted rows in memory.
        in_memory: u32,
        /// Deleted rows on disk.
        on_disk: u32,
    },
    /// Two rows of a table have the same key.
    #[error("two rows have the same value of key \"{key}\"")]
    RepeatedKey {
        /// The name of the key.
        key: String,
    },
    /// A key tree is not what its chunks say. No row is wrong: without the file the keys are indexed again.
    #[error("the key tree is wrong: {0}")]
    KeyTree(String),
    /// A row of a table refers to no row.
    #[error("a row satisfies foreign key \"{key}\" not")]
    MissingKey {
        /// The name of the key.
        key: String,
    },
    /// The directory or the manifest could not be read.
    #[error("{0}")]
    Store(String),
}

/// A segment's extremes and what its zone map says of them.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the segment has values from {min:?} to {max:?}, but its zone map says {zone_min:?} to {zone_max:?}")]
pub struct BoundsFault {
    /// The smallest value.
    pub min: Scalar,
    /// The largest value.
    pub max: Scalar,
    /// The zone map's lower bound.
    pub zone_min: Option<Scalar>,
    /// The zone map's upper bound.
    pub zone_max: Option<Scalar>,
}
