//! What every room of Braid shares: ids, units, limits, the clock and randomness.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ids`] | newtypes for what could be swapped by mistake: tables, chunks, columns, segments, scans |
//! | [`limits`] | the sizes the on-disk format and the vectors are built on |
//! | [`units`] | byte sizes as people write them (`64MB`, `1GiB`) |
//! | [`clock`] | the only source of time, so that everything can run in virtual time |
//! | [`random`] | the only source of randomness, so that everything can be replayed from a seed |
//!
//! This crate knows nothing but the standard library: no I/O, no threads, no Arrow.

pub mod clock;
pub mod ids;
pub mod limits;
pub mod random;
pub mod units;

pub use clock::{Clock, ManualClock, SystemClock};
pub use ids::{ChunkId, ColumnId, QueryId, ScanId, SegmentId, TableId};
pub use limits::{CHUNK_ROWS, SEGMENT_ALIGN_BYTES, VECTOR_ROWS};
pub use random::{Random, SeededRandom};
pub use units::{ByteSize, ParseByteSizeError};
