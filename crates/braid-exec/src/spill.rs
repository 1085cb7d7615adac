//! Spilling: rows that exceed a query's memory move to temporary files.
//!
//! | module | contents |
//! |---|---|
//! | `row_block` | the encoding of rows as bytes |
//! | `spill_space` | the directory of temporary files, and their limit |
//! | `query_spill` | one query's files: blocks written in the background, and read again |
//! | `block_ahead` | a block that is read while the previous one is processed |
//! | `operator_memory` | the share of an operator, and when its workers spill |
//! | `partitioned_rows` | rows partitioned by the hash of their keys, in memory or in a file |
//! | `spool` | rows that are kept for any number of readers |
//! | `stored_rows` | such a partition as a source |
//! | [`row_file`] | the rows of a result, for its readers |
//!
//! A sort writes runs and merges them (`sorting`). An aggregation writes groups by partitions of their keys
//! (`aggregation/merging/spilled_groups`). A join writes partitions of both sides (`joins/spilled`, `executor/join`). The rows of
//! a query whose reader is slower than its pass are a file of their own.
//!
//! A file has no name, so that it disappears with the process in any case. Its blocks have checksums like everything on disk.
//! They are never synced, because they are useless after a crash.

mod block_ahead;
#[cfg(any(test, feature = "testing"))]
mod fuzzing;
mod operator_memory;
mod partitioned_rows;
mod query_spill;
mod row_block;
pub mod row_file;
mod spill_space;
mod spool;
mod stored_rows;

pub(crate) use block_ahead::BlockAhead;
#[cfg(any(test, feature = "testing"))]
pub use fuzzing::fuzz_spill_block;
pub(crate) use operator_memory::{OperatorMemory, WorkerMemory};
pub(crate) use partitioned_rows::{Divided, Divider, PartitionedRows, SpilledRows};
pub(crate) use query_spill::{BlockPlace, QuerySpill, SpillFile};
pub use row_file::{RowBlock, RowFile, RowReader, RowWriter};
pub use spill_space::{SpillSettings, SpillSpace};
pub(crate) use spool::{Spool, SpoolSink, SpooledRows};
pub(crate) use stored_rows::StoredRowsSource;

/// Bits of the keys' hash per level of partitioning.
const PARTITION_BITS: u32 = 5;

/// Number of partitions per level.
pub(crate) const PARTITIONS: usize = 1 << PARTITION_BITS;

/// Maximum number of levels: `PARTITIONS` to this power are about 10^9 partitions. Tables of groups and keys use the upper half of
/// the hash.
pub(crate) const LEVELS_MAX: u32 = 6;

/// The partition of a key's hash at a level.
#[inline]
pub(crate) fn partition_of(hash: u64, level: u32) -> usize {
    (hash >> (level * PARTITION_BITS)) as usize & (PARTITIONS - 1)
}
