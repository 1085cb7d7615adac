//! Cooperative scans: chunks in any order, late decoding, predicates on encoded data.
//!
//! A scan leaves out the chunks its predicates refute by zone map, registers the rest with the Active Buffer Manager
//! as one set, and takes them in the order the manager likes best. Any number of consumers (one per core) pull batches
//! from one scan; each chunk goes to exactly one of them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`spec`] | what a scan is asked for: columns, predicates, limit, order |
//! | [`prune`] | which chunks a scan needs at all, and which predicates still say something about them |
//! | `cooperative_scan` | the registered scan that its consumers share |
//! | `consumer` | one core's stream of batches |
//! | `chunk_consumer` | one core's stream of chunks with the selected rows of their vectors, still encoded |
//! | `chunk_cursor` | one chunk: predicates vector by vector, then late decoding |
//! | `live_predicates` | predicates that get narrower while the scan runs |
//! | `row_limit` | LIMIT across consumers |
//! | `metrics` | what a scan did |
//!
//! This crate does not know SQL or expressions: predicates arrive as [`braid_storage::ColumnPredicate`].

mod chunk_consumer;
mod chunk_cursor;
mod consumer;
mod cooperative_scan;
mod error;
mod live_predicates;
mod metrics;
pub mod prune;
mod row_limit;
pub mod spec;

pub use chunk_consumer::{ChunkConsumer, FilteredChunk, ScanChunk};
pub use consumer::ScanConsumer;
pub use cooperative_scan::CooperativeScan;
pub use error::ScanError;
pub use live_predicates::LivePredicates;
pub use metrics::ScanMetrics;
pub use prune::prune;
pub use spec::ScanSpec;
