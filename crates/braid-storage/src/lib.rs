//! Braid's bytes on disk: column segments and their codecs, zone maps, the catalog and the manifest.
//!
//! | module | what lives there |
//! |---|---|
//! | [`segment`] | column segments: encoding, validation, filters and gathers on encoded data |
//! | [`codec`] | the encodings segments are made of |
//! | [`selection`] | which rows of a vector are still wanted |
//! | [`checksum`](mod@checksum) | XXH3 of everything written |
//! | [`types`] | the SQL types a column can have, and their Arrow and physical forms |
//! | [`scalar`] | one value in physical form: what zone maps and predicates are made of |
//! | [`predicate`] | what a scan may ask of one column without decoding it |
//! | [`zone_map`] | smallest and largest value of a segment, and which predicates they refute |
//! | [`distinct_sketch`] | how many different values a column has |
//! | [`table`] | table definitions and the immutable versions scans read |
//! | [`catalog`] | all tables of one state of the database |
//! | [`manifest`] | the file that names all tables, chunks and data files of one state |
//! | [`store`] | a data directory: its lock, its data files, its commits |
//! | [`table_appender`] | rows on their way into a table |
//! | [`check`] | whether everything on disk is as it was written |
//! | [`store_error`] | what can go wrong in a store |

pub mod catalog;
pub mod check;
pub mod checksum;
mod chunk_reader;
pub mod codec;
pub mod distinct_sketch;
pub mod manifest;
pub mod predicate;
pub mod scalar;
pub mod segment;
pub mod selection;
pub mod store;
pub mod store_error;
pub mod table;
pub mod table_appender;
pub mod types;
pub mod zone_map;

pub use catalog::{Catalog, NewTable};
pub use check::{CheckProgress, CheckReport, Fault, FaultKind};
pub use checksum::checksum;
pub use codec::Codec;
pub use distinct_sketch::{DistinctCount, DistinctSketch};
pub use manifest::{Manifest, ManifestError};
pub use predicate::ColumnPredicate;
pub use scalar::Scalar;
pub use segment::{EncodedSegment, PreparedPredicate, SEGMENT_BYTES_MAX, Segment, SegmentError, encode_segment};
pub use selection::Selection;
pub use store::{Store, StoreOptions};
pub use store_error::StoreError;
pub use table::{ChunkMeta, ColumnDef, DataFile, SegmentMeta, TableDef, TableVersion};
pub use table_appender::TableAppender;
pub use types::{ColumnType, PhysicalType, SQL_TYPE_KEY};
pub use zone_map::{Verdict, ZoneMap};
