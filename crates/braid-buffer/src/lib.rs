//! The Active Buffer Manager: which segment to read, keep and evict, for all scans at once.
//!
//! Implements *Cooperative Scans: Dynamic Bandwidth Sharing in a DBMS* (Zukowski, Héman, Nes, Boncz, VLDB 2007) for
//! column storage. Scans announce what they will read; the buffer decides in which order, so that as many scans as
//! possible use each segment while it is in memory.
//!
//! The outside:
//!
//! | module | what lives there |
//! |---|---|
//! | `buffer_manager` | [`BufferManager`]: the asynchronous shell around the state machine |
//! | `cooperative_scan` | [`ScanRequest`], [`CooperativeScanHandle`], [`PinnedChunk`]: a scan's side of it |
//! | `scan_policy` | [`ScanPolicy`]: the four policies by name |
//! | `statistics`, `error` | what one can see of it, and what can go wrong |
//!
//! The state machine, without I/O, threads or clock:
//!
//! | module | what lives there |
//! |---|---|
//! | `active_buffer_manager` | [`ActiveBufferManager`]: events in, actions out; the rules and why nothing deadlocks |
//! | `policy` | the questions that a policy answers |
//! | `normal`, `attach`, `elevator`, `relevance` | one file per policy, to be read beside the paper |
//! | `lending` | rule 7: clients that stop reading |
//! | `sequence`, `eviction` | what policies share: fixed sequences of chunks, LRU |
//! | `buffer_state` | the books that policies read: who wants, awaits and uses what |
//! | `table_state`, `chunk_state`, `scan_state` | the parts of the books |
//! | `keys` | where the books keep a table, a scan, a chunk |
//! | `loads` | from a chosen chunk to reads: column order, joined reads |
//! | `table_shape` | what it needs to know of a table |
//! | `bit_set` | sets of chunks, scans and columns |
//! | `simulation` | the same machine in virtual time, for tests: the paper's tables 2 and 3 |
//!
//! `stored_table` and `segment_load` connect the two: a store's tables as the machine sees them, and one read from the
//! device to verified segments. This crate knows nothing of predicates, rows or vectors, and does not decode.

mod active_buffer_manager;
mod buffer_manager;
mod cooperative_scan;
mod error;
mod loads;
mod scan_policy;
mod statistics;
mod table_shape;

mod attach;
mod bit_set;
mod buffer_state;
mod chunk_state;
mod elevator;
mod eviction;
mod keys;
mod lending;
mod normal;
mod policy;
mod relevance;
mod scan_state;
mod segment_load;
mod sequence;
#[cfg(test)]
mod simulation;
mod stored_table;
mod table_state;

#[cfg(test)]
mod tests;

pub use buffer_manager::{BufferManager, BufferOptions};
pub use cooperative_scan::{CooperativeScanHandle, PinnedChunk, ScanRequest};
pub use error::BufferError;
pub use scan_policy::{ParseScanPolicyError, ScanPolicy};
pub use statistics::BufferStats;
