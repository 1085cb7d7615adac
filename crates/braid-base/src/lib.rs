//! What every room of Braid shares: ids, units, limits, the clock, a hash and randomness.
//!
//! | module | what lives there |
//! |---|---|
//! | `ids` | newtypes for what could be swapped by mistake: tables, chunks, columns, segments, scans |
//! | `limits` | the sizes the on-disk format and the vectors are built on |
//! | `units` | byte sizes as people write them (`64MB`, `1GiB`) |
//! | `nan` | the one NaN of SQL |
//! | `clock` | the only source of time, so that everything can run in virtual time |
//! | `manual_clock` | that virtual time: only in tests (the feature `testing`) |
//! | [`enum_types`] | the enumerated types of the databases that are open |
//! | [`domain_types`] | their domains |
//! | `type_registry` | the types of the process, by number |
//! | `multiplicative_hasher` | a fast hash for keys that no client chooses |
//! | [`random`] | the only source of randomness, so that everything can be replayed from a seed |
//!
//! This crate knows nothing but the standard library: no I/O, no threads, no Arrow.

mod clock;
pub mod domain_types;
pub mod enum_types;
mod ids;
mod limits;
#[cfg(any(test, feature = "testing"))]
mod manual_clock;
mod multiplicative_hasher;
mod nan;
pub mod random;
mod time_sum;
mod type_registry;
mod units;

pub use clock::{Clock, SystemClock};
pub use domain_types::{DomainBase, DomainCheck, DomainType, DomainTypeId};
pub use enum_types::{EnumLabel, EnumType, EnumTypeId, EnumTypeRef};
pub use ids::{ChunkId, ColumnId, ScanId, SchemaId, SegmentId, TableId};
pub use limits::{BATCH_BYTES_MAX, CHUNK_ROWS, SEGMENT_ALIGN_BYTES, VALUE_BYTES_MAX, VECTOR_ROWS};
#[cfg(any(test, feature = "testing"))]
pub use manual_clock::ManualClock;
pub use multiplicative_hasher::MultiplicativeHasher;
pub use nan::{one_nan, one_nan_real};
pub use random::{Random, SeededRandom};
pub use time_sum::{MeasuredTime, TimeSum};
pub use units::{ByteSize, ParseByteSizeError};
