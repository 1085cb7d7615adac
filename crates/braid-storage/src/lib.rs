//! Braid's bytes on disk: column segments and their codecs, zone maps, the catalog and the manifest.
//!
//! | module | what lives there |
//! |---|---|
//! | `segment` | column segments: encoding, validation, filters and gathers on encoded data |
//! | `codec` | the encodings segments are made of |
//! | `sections`, `segment_error` | checked reading of segments' bytes, and what it finds |
//! | `selection` | which rows of a vector are still wanted |
//! | [`checksum`](mod@checksum) | XXH3 of everything written |
//! | `types` | the SQL types a column can have, and their Arrow and physical forms |
//! | [`scalar`] | one value in physical form: what zone maps and predicates are made of |
//! | `predicate` | what a scan may ask of one column without decoding it |
//! | `zone_map` | smallest and largest value of a segment, and which predicates they refute |
//! | `deleted_rows` | which rows of a chunk are deleted; the identity of a row |
//! | `moved_rows`, `seen_rows` | where rows are that a commit has written again; rows of older versions, found in newer ones |
//! | `row_conflict` | why rows cannot be deleted |
//! | `key_evaluator` | what computes the keys of indexes of expressions |
//! | `key_index` | UNIQUE and PRIMARY KEY: sorted runs of keys and rows, trees of many of them, and the keys that transactions are about to add |
//! | `key_search` | which rows of a version have a key |
//! | `foreign_keys`, `foreign_key_checks` | FOREIGN KEY: what a constraint says; whether it makes sense |
//! | `references` | the foreign keys that refer to a table |
//! | `row_deletion` | table versions without some rows |
//! | `row_locks` | the rows that transactions have locked, and who waits for whom |
//! | `distinct_sketch` | how many different values a column has |
//! | `data_file`, `data_file_header` | an immutable file of segments: its life, its first bytes |
//! | `data_directory` | what lies where in the data directory, its lock, its names |
//! | `table` | table definitions and the immutable versions scans read |
//! | `catalog` | all tables of one state of the database |
//! | [`manifest`], `manifest_error` | the file that names all tables, chunks and data files of one state; the record of a commit |
//! | `catalog_changes` | what one state has that the state before has not |
//! | `log_file` | the bytes of a log of commits |
//! | `commit_log` | the log of commits, and recovery from it |
//! | `store_shared` | what a store and its appenders have in common: the newest catalog, commits |
//! | `memory_segment` | a segment that is in memory instead of a file |
//! | `missing_segments`, `missing_values` | the values of a column in rows that were there before it |
//! | `store` | a data directory that is open: its tables |
//! | `generated_columns` | columns whose values are computed of other columns |
//! | `column_changes`, `column_change_error` | ALTER TABLE of columns |
//! | `type_changes` | CREATE, ALTER and DROP TYPE |
//! | `domains` | the domains of a state |
//! | `schemas`, `schema_names` | schemas; those of a state, by name and by id |
//! | `sequences` | sequences: definitions, and where they stand |
//! | `sequence_numbers`, `sequence_changes` | numbers given out; CREATE, ALTER and DROP SEQUENCE |
//! | `views`, `view_set` | what a view is; all of a state |
//! | `view_checks` | whether what views read is there |
//! | `view_changes` | CREATE, ALTER and DROP VIEW |
//! | `name_checks` | whether names are free |
//! | `comments`, `comment_subjects` | COMMENT ON: what comments are about; those of a state |
//! | `access`, `access_subjects` | roles, owners and privileges; those of a state |
//! | `table_appender` | rows on their way into a table |
//! | `write_set` | what a transaction changes, what its statements see of it, and its commit |
//! | `compaction` | chunks written again without their deleted rows |
//! | `live_snapshots`, `space` | the states that somebody reads; what they keep, and what tables take |
//! | `check` | whether everything on disk is as it was written |
//! | `store_error` | what can go wrong in a store |
//! | `chunk_reader` | whole chunks read back, to be merged or checked |

mod access;
mod access_subjects;
mod catalog;
mod catalog_changes;
mod check;
pub mod checksum;
mod chunk_reader;
mod codec;
mod column_change_error;
mod column_changes;
mod comment_subjects;
mod comments;
mod commit_log;
mod common_scale;
mod compaction;
mod data_directory;
mod data_file;
mod data_file_header;
mod deleted_rows;
mod distinct_sketch;
mod domains;
mod foreign_key_checks;
mod foreign_keys;
mod generated_columns;
mod key_evaluator;
mod key_index;
mod key_search;
mod live_snapshots;
mod log_file;
pub mod manifest;
mod manifest_error;
mod memory_segment;
mod missing_segments;
mod missing_values;
mod moved_rows;
mod name_checks;
mod predicate;
mod references;
mod row_conflict;
mod row_deletion;
mod row_locks;
pub mod scalar;
mod schema_names;
mod schemas;
mod sections;
mod seen_rows;
mod segment;
mod segment_error;
mod selection;
mod sequence_changes;
mod sequence_numbers;
mod sequences;
mod space;
mod store;
mod store_error;
mod store_shared;
mod table;
mod table_appender;
mod type_changes;
mod types;
mod view_changes;
mod view_checks;
mod view_set;
mod views;
mod write_set;
mod zone_map;

pub use access::{
    AccessControl, AccessEntry, AccessKey, AccessObject, Acl, AclItem, DefaultsKind, DefaultsSubject, Membership,
    Privileges, RoleAttributes, RoleDef, RoleId, SettingsSubject,
};
pub use catalog::{Catalog, CatalogDomain, CatalogSequence, CatalogType, NewTable};
pub use check::{CheckProgress, CheckReport, Fault, FaultKind};
pub use checksum::checksum;
pub use codec::Codec;
pub use column_change_error::{ColumnChangeError, check_column_name};
pub use column_changes::ColumnChange;
pub use comments::CommentSubject;
pub use common_scale::CommonScale;
pub use compaction::Compaction;
pub use data_file::DataFile;
pub use data_file_header::{DataFileId, HeaderFault};
pub use deleted_rows::{DeletedRows, PRIVATE_CHUNKS, RowDeletes, RowId};
pub use distinct_sketch::{DistinctCount, DistinctSketch};
pub use foreign_keys::{Deferral, FOREIGN_KEYS_MAX, ForeignKeyDef, MatchType, ReferentialAction};
pub use key_evaluator::{ComputedKeys, KeyEvaluator};
pub use key_index::{
    ChunkMark, HeaderFault as TreeHeaderFault, PAGE_BYTES as TREE_PAGE_BYTES, PageFault as TreePageFault, ShapeId,
    TreeChunk, TreeHeader, TreePage, TreePlace,
};
pub use key_index::{
    KEY_COLUMNS_MAX, KEYS_MAX, KeyDef, KeyForm, KeyKind, KeyMember, KeyNulls, MemberSource, is_key_type,
    is_same_key_type,
};
pub use log_file::{LogContents, LogFault, encode_batch, encode_empty_log, read_log};
pub use manifest::Manifest;
pub use manifest_error::ManifestError;
pub use memory_segment::MemorySegment;
pub use missing_values::missing_value_of;
pub use moved_rows::Successor;
pub use predicate::ColumnPredicate;
pub use references::Reference;
pub use row_conflict::RowConflict;
pub use row_locks::{LockWaits, Locked, LockingTransaction, OtherWaits, RowLockMode};
pub use scalar::Scalar;
pub use schemas::{PUBLIC_SCHEMA, SchemaDef, TableRef};
pub use seen_rows::SeenRows;
pub use segment::{EncodedSegment, NUMERIC_TAG, PreparedPredicate, Segment, encode_segment, encoded_numerics};
pub use segment_error::SegmentError;
pub use selection::Selection;
pub use sequence_changes::SequenceChanges;
pub use sequences::{
    CounterState, Numbers, SequenceCounter, SequenceDef, SequenceOwner, SequenceScope, SequenceState, SequenceType,
    SequenceUse,
};
pub use space::{LiveSnapshot, Space};
pub use store::{Store, StoreOptions};
pub use store_error::{DuplicateKey, KeyMemberName, StoreError, ViolatedReference, ViolatingSide};
pub use store_shared::PRIVATE_SEQUENCE;
pub use table::{
    CHECKS_MAX, CheckDef, ChunkMeta, ColumnDef, ColumnDomain, FileRange, GenerationDef, SegmentMeta, SegmentPlace,
    TableDef, TableVersion,
};
pub use table_appender::{AppendedRows, TableAppender};
pub use type_changes::TypeChanges;
pub use types::{ColumnType, NUMERIC_OID, PhysicalType, SQL_TYPE_KEY};
pub use view_changes::ViewChanges;
pub use view_set::Views;
pub use views::{
    SourceColumn, SourceRelation, VIEW_TEXT_BYTES_MAX, ViewColumn, ViewDef, ViewKind, ViewSize, ViewSource,
};
pub use write_set::{
    AlteredRows, CheckTime, Constraints, KeyLookup, NewObject, OWN_TABLE, Redefinition, ReferenceKeys, ReferringRows,
    RemovedRows, RowCheck, RowEvent, RowLocking, RowState, WriteSet,
};
pub use zone_map::{Verdict, ZoneMap};
