//! The hash join: the rows of the build side are collected in a hash table, and the rows of the probe side look for partners.
//!
//! The build side is finished before probing starts. Workers collect
//! [`CollectedRows`](crate::runtime::collected_rows::CollectedRows), and [`JoinTable`] combines them, with several workers if
//! there are many rows. Each worker probes the table with a [`JoinProbe`] of its own. After the probe, [`JoinTable::unmatched`]
//! returns the build rows without a partner.
//!
//! | module | contents |
//! |---|---|
//! | `build_tasks` | workers that process pieces of the build side, yield and stop |
//! | `directory` | the mapping of a key to its rows |
//! | `build` | the combination of collected rows, and the construction of the directory |
//! | `join_table` | columns and keys of the build side, marks of rows with partners, and the key filter |
//! | `probe` | from a batch of the probe side to pairs |
//!
//! The rows with one key form a *group*. With unique keys a group is its row, and a probe is one load per row. A join without
//! keys uses the same code, with one group of all rows.
//!
//! A build side that exceeds the budget is an error in this module. With temporary files, the build side is partitioned before
//! (`spilled`).

mod build;
mod build_tasks;
mod directory;
mod join_table;
#[cfg(test)]
mod measurements;
mod probe;
#[cfg(test)]
mod tests;

pub(crate) use build::shared_bloom::SharedBloom;
pub(crate) use build_tasks::Pace;
pub(crate) use join_table::Elsewhere;
pub use join_table::JoinTable;
pub(crate) use probe::candidates::Pairs;
pub use probe::join_probe::{JoinProbe, Residual};
pub(crate) use probe::pair_stream::PairStream;
pub use probe::unmatched_rows::UnmatchedRows;

use crate::keys::null_keys::NullKeys;
use crate::plan::JoinKind;
use crate::tuning::JoinTuning;

/// A join.
#[derive(Clone, Debug)]
pub struct JoinSpec {
    /// The kind of the join.
    pub kind: JoinKind,
    /// Key columns of the build side's batches. Each must equal the key of `probe_keys` at the same position. Without keys,
    /// every pair of rows has equal keys.
    pub build_keys: Vec<usize>,
    /// Key columns of the probe side's batches, as many as `build_keys`.
    pub probe_keys: Vec<usize>,
    /// How null keys compare. [`NullKeys::Unknown`] needs [`JoinKind::ProbeTruth`], or one key and [`JoinKind::ProbeAnti`] or
    /// [`JoinKind::ProbeMark`].
    pub null_keys: NullKeys,
    /// Whether there is a further condition on pairs, which each [`JoinProbe`] provides; always in [`JoinKind::ProbeTruth`].
    pub has_residual: bool,
    /// Thresholds.
    pub tuning: JoinTuning,
    /// Columns of the build side's batches.
    pub build_column_count: usize,
}

impl JoinSpec {
    /// Panics on a combination that a plan must not contain.
    pub(crate) fn check(&self) {
        assert_eq!(self.build_keys.len(), self.probe_keys.len(), "keys come in pairs");
        assert!(self.build_keys.iter().all(|key| *key < self.build_column_count), "keys are columns");
        let may_be_not_in =
            matches!(self.kind, JoinKind::ProbeAnti | JoinKind::ProbeMark) && self.build_keys.len() == 1;
        let is_truth = self.kind == JoinKind::ProbeTruth;
        assert!(may_be_not_in || is_truth || !self.null_keys.are_unknown(), "NOT IN has one key");
        assert!(self.has_residual || !is_truth, "truth values are of a condition");
    }

    /// Whether the join can be partitioned by key. A join without keys cannot. NOT IN with a further condition cannot, because
    /// each null needs all rows.
    pub(crate) fn can_be_divided(&self) -> bool {
        !(self.build_keys.is_empty() || self.null_keys.are_unknown() && self.has_residual)
    }

    /// Whether the join needs only the keys of the build side.
    pub(crate) fn needs_keys_only(&self) -> bool {
        self.kind.tests_probe_rows() && !self.has_residual
    }
}
