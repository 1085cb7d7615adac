//! What can go wrong in the store, by cause, with the names, values and limits that a person needs to act on it.

use std::path::{Path, PathBuf};

use arrow::array::ArrayRef;
use braid_base::{ChunkId, SchemaId};
use braid_io::{IoError, is_space_used_up};

use crate::ColumnType;
use crate::RowConflict;
use crate::column_change_error::ColumnChangeError;
use crate::key_index::KEY_BYTES_MAX;
use crate::log_file::LogFault;
use crate::manifest_error::ManifestError;
use crate::segment_error::SegmentError;

/// A member of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMemberName {
    /// The name of a column.
    Column(String),
    /// The text of an expression.
    Expression(String),
}

/// The key that two rows would have.
#[derive(Debug)]
pub struct DuplicateKey {
    /// The schema of the table.
    pub schema: SchemaId,
    /// The table.
    pub table: String,
    /// The name of the key.
    pub key: String,
    /// Its members.
    pub members: Vec<KeyMemberName>,
    /// The types of its members.
    pub types: Vec<ColumnType>,
    /// A row of each member. Numerics without a precision are their shortest texts.
    pub values: Vec<ArrayRef>,
    /// Whether the table has these rows, so that it cannot get the key.
    pub is_of_table: bool,
}

/// A foreign key that rows violate.
#[derive(Debug)]
pub struct ViolatedReference {
    /// Its name.
    pub constraint: String,
    /// The schema of the table that has it.
    pub schema: SchemaId,
    /// The table that has it.
    pub table: String,
    /// The table that it refers to.
    pub referenced: String,
    /// The names of the columns of the key, on the side that violates it.
    pub columns: Vec<String>,
    /// Their types.
    pub types: Vec<ColumnType>,
    /// A row of each column: the key. Numerics without a precision are their shortest texts.
    pub values: Vec<ArrayRef>,
    /// Which change violates it.
    pub side: ViolatingSide,
}

/// Which change violates a foreign key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolatingSide {
    /// Rows that refer to no row were added, or are there.
    Referencing,
    /// A row that others refer to is gone.
    Referenced,
    /// A row has some nulls in a key of MATCH FULL.
    MixedNulls,
}

/// Why an operation of the store failed. Unless a variant says otherwise, the tables are as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process, or another store of this process, has the data directory open.
    #[error("data directory \"{}\" is in use by {}", dir.display(), holder(*pid))]
    InUse {
        /// The data directory.
        dir: PathBuf,
        /// Process id of the holder; `None` while it has not written it yet.
        pid: Option<u32>,
    },
    /// There are data files but no manifest: it was deleted, or this is not a data directory.
    #[error(
        "data directory \"{}\" has {data_files} data files but no manifest; restore the manifest or use another directory",
        dir.display()
    )]
    ManifestMissing {
        /// The data directory.
        dir: PathBuf,
        /// Data files in it, which are left as they are.
        data_files: usize,
    },
    /// The manifest cannot be trusted.
    #[error("manifest \"{}\": {source}", path.display())]
    Manifest {
        /// The manifest file.
        path: PathBuf,
        /// What is wrong with it.
        source: ManifestError,
    },
    /// A log of commits cannot be trusted, or is missing.
    #[error("log \"{}\": {source}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        source: LogFault,
    },
    /// CREATE TABLE of a name that is taken.
    #[error("table \"{table}\" already exists")]
    TableExists {
        /// The name.
        table: String,
    },
    /// No such table, or it was dropped in the meantime.
    #[error("table \"{table}\" does not exist")]
    UnknownTable {
        /// The name.
        table: String,
    },
    /// The columns of a table cannot be changed so.
    #[error(transparent)]
    Columns(#[from] ColumnChangeError),
    /// CREATE TABLE of a name that a type has.
    #[error("type \"{name}\" already exists")]
    TypeExists {
        /// The name.
        name: String,
    },
    /// CREATE SCHEMA of a name that is taken.
    #[error("schema \"{schema}\" already exists")]
    SchemaExists {
        /// The name.
        schema: String,
    },
    /// No such schema, or it was dropped in the meantime.
    #[error("schema \"{schema}\" does not exist")]
    UnknownSchema {
        /// The name.
        schema: String,
    },
    /// CREATE TABLE with a column of a type that was dropped in the meantime.
    #[error("type \"{name}\" does not exist")]
    UnknownType {
        /// The name.
        name: String,
    },
    /// A transaction changes what another one has changed and committed since it began.
    #[error("could not serialize access to {what} due to concurrent update")]
    Conflict {
        /// What both have changed.
        what: String,
    },
    /// A name is empty or too long.
    #[error("the name \"{name}\" has {} bytes; names have 1 to {bytes_max} bytes", name.len())]
    InvalidName {
        /// The name.
        name: String,
        /// Most bytes of a name.
        bytes_max: usize,
    },
    /// Two rows would have the same key.
    #[error("duplicate key value violates unique constraint \"{}\"", .0.key)]
    DuplicateKey(Box<DuplicateKey>),
    /// Rows refer to no row.
    #[error("table \"{}\" violates foreign key constraint \"{}\"", .0.table, .0.constraint)]
    ForeignKey(Box<ViolatedReference>),
    /// A transaction refers to a row that its snapshot shows and that is gone.
    #[error("could not serialize access due to concurrent update")]
    KeyGone,
    /// A table is to be changed of which something is yet to be compared at the end of the transaction.
    #[error("cannot {operation} \"{table}\" because it has pending trigger events")]
    PendingChecks {
        /// The change, as SQL says it.
        operation: &'static str,
        /// The table.
        table: String,
    },
    /// A key is too long to be indexed.
    #[error("a key of table \"{table}\" has {bytes} bytes; keys have at most {KEY_BYTES_MAX} bytes")]
    KeyTooLong {
        /// The table.
        table: String,
        /// Bytes of the key as it is encoded.
        bytes: usize,
    },
    /// The expression of an index has failed.
    #[error("an index of table \"{table}\": {source}")]
    KeyExpression {
        /// The table.
        table: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Transactions wait for each other's rows; this one was chosen to fail.
    #[error("deadlock detected")]
    Deadlock,
    /// A wait for the lock of another transaction was too long.
    #[error("canceling statement due to lock timeout")]
    LockTimeout,
    /// Another transaction holds a row that a statement wants to lock without waiting.
    #[error("could not obtain lock on row in relation \"{table}\"")]
    LockNotAvailable {
        /// The table.
        table: String,
    },
    /// A serializable transaction has read what another one has changed and committed since.
    #[error("could not serialize access due to read/write dependencies among transactions")]
    ReadsChanged,
    /// No oids are left for types and their labels: 2^30 have been given out.
    #[error("no object ids are left for types and labels")]
    TooManyTypes,
    /// The last number of a sequence was given out.
    #[error("nextval: reached {end} value of sequence \"{sequence}\" ({limit})")]
    SequenceExhausted {
        /// The sequence.
        sequence: String,
        /// `maximum`, or `minimum` of a descending sequence.
        end: &'static str,
        /// That number.
        limit: i64,
    },
    /// A sequence was to be put to a number that it does not have.
    #[error("setval: value {value} is out of bounds for sequence \"{sequence}\" ({min}..{max})")]
    NumberOutOfBounds {
        /// The sequence.
        sequence: String,
        /// The number.
        value: i64,
        /// Its smallest number.
        min: i64,
        /// Its largest number.
        max: i64,
    },
    /// CREATE TABLE with a definition that makes no sense.
    #[error("table \"{table}\" cannot be created: {reason}")]
    InvalidTable {
        /// The name.
        table: String,
        /// What is wrong, with the limit.
        reason: String,
    },
    /// A type with a definition that makes no sense.
    #[error("type \"{name}\" cannot be defined so: {reason}")]
    InvalidType {
        /// The name.
        name: String,
        /// What is wrong, with the limit.
        reason: String,
    },
    /// A batch whose columns are not the table's.
    #[error("rows for table \"{table}\" have columns ({found}), but the table has ({expected})")]
    SchemaMismatch {
        /// The table.
        table: String,
        /// Names and types of the table's columns.
        expected: String,
        /// Names and types of the batch's columns.
        found: String,
    },
    /// A null in a NOT NULL column.
    #[error("null value in column \"{column}\" of table \"{table}\" violates its NOT NULL constraint")]
    NullViolation {
        /// The schema of the table.
        schema: SchemaId,
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A string above the limit of its `varchar(n)` or `char(n)`.
    #[error(
        "value of {found} characters is too long for column \"{column}\" of table \"{table}\", type {column_type}: \"{value}\""
    )]
    TooLong {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its type, with the limit in characters.
        column_type: ColumnType,
        /// Characters of the value.
        found: usize,
        /// The value, or its beginning and an ellipsis.
        value: String,
    },
    /// A numeric with more digits than its column's precision.
    #[error("value {value} (unscaled) does not fit column \"{column}\" of table \"{table}\", type {column_type}")]
    NumericOverflow {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its type.
        column_type: ColumnType,
        /// The value times ten to the scale.
        value: i128,
    },
    /// A row that another commit has deleted or moved.
    #[error("could not serialize access to table \"{table}\" due to concurrent update: {conflict}")]
    RowConflict {
        /// The table.
        table: String,
        /// What has become of the row.
        conflict: RowConflict,
    },
    /// `commit` after an `append` that failed or was abandoned half-way.
    #[error("an earlier batch for table \"{table}\" was appended only in part")]
    IncompleteAppend {
        /// The table.
        table: String,
    },
    /// A column could not be encoded.
    #[error("column \"{column}\" of table \"{table}\" cannot be encoded: {source}")]
    Encode {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Why.
        source: Box<SegmentError>,
    },
    /// A segment on disk is damaged.
    #[error(
        "column \"{column}\" of table \"{table}\", chunk {chunk}: checksum {found:#018x} instead of {expected:#018x} at \
         offset {offset} of \"{}\"", file.display()
    )]
    Corrupt {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The chunk.
        chunk: ChunkId,
        /// The data file.
        file: PathBuf,
        /// Where in the file, in bytes.
        offset: u64,
        /// Checksum in the manifest.
        expected: u64,
        /// Checksum of the bytes read.
        found: u64,
    },
    /// A segment whose checksum holds and whose contents make no sense.
    #[error("column \"{column}\" of table \"{table}\", chunk {chunk}: {reason}")]
    Malformed {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The chunk.
        chunk: ChunkId,
        /// What is wrong.
        reason: String,
    },
    /// The disk, or the user's quota, is full. What the operation wrote has been removed.
    #[error("no space left in \"{}\": {reason}", dir.display())]
    DiskFull {
        /// The data directory.
        dir: PathBuf,
        /// The operating system's words, with the file.
        reason: String,
    },
    /// Reading or writing a data file failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// An operation on the data directory failed.
    #[error("cannot {operation} \"{}\": {source}", path.display())]
    Directory {
        /// What was tried, as a verb.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The disk failed while the log was written: after a restart the commit may be there or not, whole in either
    /// case. The store takes no further commits.
    #[error("the commit may or may not have become durable: {reason}")]
    Uncertain {
        /// What failed.
        reason: String,
    },
    /// A commit after one that was [uncertain](Self::Uncertain). This one is not made.
    #[error("commits are refused until a restart, because an earlier commit is in doubt: {reason}")]
    Halted {
        /// What failed then.
        reason: String,
    },
    /// The work was abandoned: the runtime is shutting down, or the encoder panicked.
    #[error("the storage work did not finish: {reason}")]
    Stopped {
        /// What happened.
        reason: String,
    },
}

// Errors travel in every `Result` of the store and of the rooms above; large ones slow the good case down.
const _: () = assert!(size_of::<StoreError>() < 128);

impl StoreError {
    /// The error of `operation` on `path` within the data directory `dir`.
    pub(crate) fn directory(dir: &Path, operation: &'static str, path: &Path, source: std::io::Error) -> Self {
        if is_space_used_up(&source) {
            let reason = format!("cannot {operation} \"{}\": {source}", path.display());
            return Self::DiskFull { dir: dir.to_owned(), reason };
        }
        Self::Directory { operation, path: path.to_owned(), source }
    }

    /// The error of a data file operation within the data directory `dir`.
    pub(crate) fn io(dir: &Path, error: IoError) -> Self {
        if error.is_disk_full() {
            return Self::DiskFull { dir: dir.to_owned(), reason: error.to_string() };
        }
        Self::Io(error)
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
