//! Braid's bytes on disk: column segments and their codecs, zone maps, the catalog and the manifest.
//!
//! | module | what lives there |
//! |---|---|
//! | [`types`] | the SQL types a column can have, and their Arrow and physical forms |
//! | [`scalar`] | one value in physical form: what zone maps and predicates are made of |
//! | [`predicate`] | what a scan may ask of one column without decoding it |
//! | [`zone_map`] | smallest and largest value of a segment, and which predicates they refute |
//! | [`table`] | table definitions and the immutable versions scans read |

pub mod predicate;
pub mod scalar;
pub mod table;
pub mod types;
pub mod zone_map;

pub use predicate::ColumnPredicate;
pub use scalar::Scalar;
pub use table::{ChunkMeta, ColumnDef, DataFile, SegmentMeta, TableDef, TableVersion};
pub use types::{ColumnType, PhysicalType};
pub use zone_map::{Verdict, ZoneMap};
