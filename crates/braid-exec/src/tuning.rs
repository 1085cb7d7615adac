//! The thresholds of operators, as data: below them a cheaper way is taken, or something is not worth its cost.
//!
//! One value goes from the executor to every operator. [`Tuning::default`] is what ships. Tests also run with
//! [`Tuning::small`], so that few rows reach every way; no constant differs between tests and production.

use braid_base::VECTOR_ROWS;

/// The thresholds of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Those of joins.
    pub joins: JoinTuning,
    /// Those of sorts.
    pub sorting: SortTuning,
    /// Those of groupings.
    pub aggregation: AggregationTuning,
}

/// The thresholds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinTuning {
    /// A side of at most this many rows may be built whatever the other side is: that takes about a millisecond.
    pub small_side_rows: u64,
    /// By how many times a table must be larger than the probe side for the sides to be swapped at once.
    pub far_larger: u64,
    /// Rows up to which sides are collected to see which of them ends.
    pub trial_rows: u64,
    /// Keys that are unique on one side make no more pairs than the other side has rows. With this many times as many
    /// pairs, they are not unique.
    pub many_pairs: u64,
    /// Fewer pairs do not matter.
    pub pairs_min: u64,
    /// A worker reports this many rows at a time to the others.
    pub reported_rows: u64,
    /// An array of this many addresses is small whatever the number of rows: 256 KiB.
    pub small_addresses: u64,
    /// A bitmap of this many bits is small whatever the number of rows: 1 MiB, which stays in a core's cache.
    pub small_filter_bits: u64,
    /// Rows of a build side that are collected in one piece, and divided at once if the build side has to spill.
    pub piece_rows: usize,
}

/// The thresholds of sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortTuning {
    /// With a limit, rows are sorted and cut when there are several times as many as are wanted, and at least this many.
    pub cut_rows_min: usize,
    /// Rows that are sorted at once as one run: some milliseconds.
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
    /// Groups of one generation, where hashing finds them: 2^17 are a few megabytes, with what is accumulated.
    pub generation_groups: usize,
    /// Slots of the smallest hash table: 2^10 of 8 bytes are 8 KiB.
    pub hash_slots_min: usize,
    /// Bytes of replaced strings are given up when they are more than the others, and than these.
    pub unused_bytes_min: usize,
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
        }
    }
}
