//! The hash join: one side's rows are collected and found by their keys, the other side's rows look for partners.
//!
//! The build side is finished before probing starts. Workers collect [`CollectedRows`](crate::runtime::collected_rows::CollectedRows), a [`JoinTable`] brings them together,
//! by several workers if there are many rows, and each worker probes the table with a [`JoinProbe`] of its own. What only
//! the end of probing can tell (build rows without partner) comes from [`JoinTable::unmatched`].
//!
//! | module | what lives there |
//! |---|---|
//! | `build` | what workers collect, and how it is brought together |
//! | `directory` | from a key to the rows that have it |
//! | `join_table` | columns and keys of the build side, and which rows found partners |
//! | `probe` | from a batch of the probe side to pairs |
//!
//! Rows with one key make a *group*. Where keys are unique a group is its row, and probing is one load for each row. A
//! join without keys is the same code: all its rows have the only key there is.
//!
//! A build side that does not fit its budget is an error here; who has temporary files divides it before it comes to that
//! (`spilled_join`).

mod build;
mod directory;
mod join_table;
#[cfg(test)]
mod measurements;
mod probe;
#[cfg(test)]
mod tests;

pub(crate) use build::build_tasks::Pace;
pub(crate) use build::shared_bloom::SharedBloom;
pub(crate) use join_table::Elsewhere;
pub use join_table::JoinTable;
pub(crate) use probe::candidates::Pairs;
pub use probe::join_probe::{JoinProbe, Residual};
pub(crate) use probe::pair_stream::PairStream;
pub use probe::unmatched_rows::UnmatchedRows;

use crate::plan::JoinKind;
use crate::tuning::JoinTuning;

/// A join.
#[derive(Clone, Debug)]
pub struct JoinSpec {
    /// What becomes of rows.
    pub kind: JoinKind,
    /// Columns of the build side's batches; the first must equal the first of `probe_keys`, and so on. Without any,
    /// every pair of rows has equal keys.
    pub build_keys: Vec<usize>,
    /// Columns of the probe side's batches, as many.
    pub probe_keys: Vec<usize>,
    /// Whether null equals null: IS NOT DISTINCT FROM. Otherwise it equals nothing.
    pub nulls_equal: bool,
    /// NOT IN: a comparison with null may have been true. Only for [`JoinKind::ProbeAnti`] and [`JoinKind::ProbeMark`]
    /// with one key and without `nulls_equal`.
    pub null_aware: bool,
    /// Whether pairs count only if one more condition is true; each [`JoinProbe`] brings it.
    pub has_residual: bool,
    /// Thresholds.
    pub tuning: JoinTuning,
    /// Columns of the build side's batches.
    pub build_column_count: usize,
}

impl JoinSpec {
    /// Panics on what no plan may ask for.
    pub(crate) fn check(&self) {
        assert_eq!(self.build_keys.len(), self.probe_keys.len(), "keys come in pairs");
        assert!(self.build_keys.iter().all(|key| *key < self.build_column_count), "keys are columns");
        let may_be_null_aware = matches!(self.kind, JoinKind::ProbeAnti | JoinKind::ProbeMark);
        assert!(
            !self.null_aware || may_be_null_aware && self.build_keys.len() == 1 && !self.nulls_equal,
            "NOT IN has one key, whose nulls are unknown"
        );
    }

    /// Whether rows with different keys can be joined in tables of their own. Rows without keys are all alike, and where
    /// further conditions decide on pairs with a null, NOT IN needs all rows for each null.
    pub(crate) fn can_be_divided(&self) -> bool {
        !(self.build_keys.is_empty() || self.null_aware && self.has_residual)
    }

    /// Whether the build side's keys are all that matters of it.
    pub(crate) fn needs_keys_only(&self) -> bool {
        self.kind.tests_probe_rows() && !self.has_residual
    }
}
