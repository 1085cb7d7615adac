//! The thresholds of operators, which decide between methods, as data.
//!
//! The executor passes one value to every operator. Production uses [`Tuning::default`]. Tests also run with [`Tuning::small`],
//! so that few rows reach every method. No constant differs between tests and production.

use braid_base::VECTOR_ROWS;

/// The thresholds of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// The thresholds of joins.
    pub joins: JoinTuning,
    /// Those of sorts.
    pub sorting: SortTuning,
    /// Those of groupings.
    pub aggregation: AggregationTuning,
    /// Those of kept rows.
    pub spools: SpoolTuning,
}

/// The thresholds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinTuning {
    /// Maximum rows of a side that is built without regard to the other side, in about a millisecond.
    pub small_side_rows: u64,
    /// The ratio of the build side's table to the probe side from which the sides are swapped at once.
    pub far_larger: u64,
    /// Maximum rows that are collected of a side to find out which side is small.
    pub trial_rows: u64,
    /// The ratio of pairs to rows from which keys are known to repeat on both sides. If they are unique on one side, there are
    /// at most as many pairs as the other side has rows.
    pub many_pairs: u64,
    /// Minimum number of pairs for a restart.
    pub pairs_min: u64,
    /// Number of rows that a worker reports to the others at a time.
    pub reported_rows: u64,
    /// Number of addresses up to which an array is small for any number of rows: 256 KiB.
    pub small_addresses: u64,
    /// Number of bits up to which a bitmap is small for any number of rows: 1 MiB, which stays in a core's cache.
    pub small_filter_bits: u64,
    /// Rows of one piece of a build side. A build side that spills is partitioned piece by piece.
    pub piece_rows: usize,
}

/// The thresholds of sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortTuning {
    /// Minimum rows at which a sort with a limit drops rows beyond the limit. It also waits for several times the limit.
    pub cut_rows_min: usize,
    /// Rows of one run, which are sorted in some milliseconds.
    pub run_rows: usize,
}

/// The thresholds of groupings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationTuning {
    /// Bits of an index of ids: 2^16 groups of 4 bytes lie in the second-level cache.
    pub dense_index_bits: u32,
    /// Slots of a table by address that need no groups: 2^21 of 4 bytes are 8 MiB.
    pub direct_slots: usize,
    /// Groups that are merged by one thread at a time, on average.
    pub groups_per_partition: usize,
    /// Groups of one generation in a hash table: 2^17 groups take a few megabytes with their states.
    pub generation_groups: usize,
    /// Slots of the smallest hash table: 2^10 of 8 bytes are 8 KiB.
    pub hash_slots_min: usize,
    /// Bytes of replaced strings are given up when they are more than the others, and than these.
    pub unused_bytes_min: usize,
}

/// The thresholds of rows that are kept for several readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolTuning {
    /// Rows of one piece, which is written and read as a whole.
    pub piece_rows: usize,
    /// Bytes at which a piece of long rows is complete.
    pub piece_bytes: usize,
}

impl Default for JoinTuning {
    fn default() -> Self {
        Self {
            small_side_rows: 64 << 10,
            far_larger: 4,
            trial_rows: 256 << 10,
            many_pairs: 4,
            pairs_min: 512 << 10,
            reported_rows: 8 << 10,
            small_addresses: 1 << 16,
            small_filter_bits: 1 << 23,
            piece_rows: 64 * VECTOR_ROWS,
        }
    }
}

impl Default for SortTuning {
    fn default() -> Self {
        Self { cut_rows_min: 8 * VECTOR_ROWS, run_rows: 64 * VECTOR_ROWS }
    }
}

impl Default for AggregationTuning {
    fn default() -> Self {
        Self {
            dense_index_bits: 16,
            direct_slots: 1 << 21,
            groups_per_partition: 1 << 14,
            generation_groups: 1 << 17,
            hash_slots_min: 1 << 10,
            unused_bytes_min: 64 << 10,
        }
    }
}

impl Default for SpoolTuning {
    fn default() -> Self {
        Self { piece_rows: 16 * VECTOR_ROWS, piece_bytes: 1 << 20 }
    }
}

#[cfg(test)]
impl Tuning {
    /// Thresholds that a few dozen rows pass.
    pub(crate) fn small() -> Self {
        Self {
            joins: JoinTuning {
                small_side_rows: 4,
                far_larger: 2,
                trial_rows: 6,
                many_pairs: 1,
                pairs_min: 4,
                reported_rows: 1,
                small_addresses: 1 << 4,
                small_filter_bits: 1 << 6,
                piece_rows: 8,
            },
            sorting: SortTuning { cut_rows_min: 16, run_rows: 16 },
            aggregation: AggregationTuning {
                hash_slots_min: 1 << 4,
                unused_bytes_min: 16,
                ..AggregationTuning::default()
            },
            spools: SpoolTuning { piece_rows: 8, piece_bytes: 256 },
        }
    }
}
