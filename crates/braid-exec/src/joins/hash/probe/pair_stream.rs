//! The pairs that a batch of the probe side makes, as row numbers, a vector at a time: for a join that decides on pairs in
//! its own way.
//!
//! Batches have at most a vector of rows, so where keys are unique all pairs come at once.

use crate::joins::hash::JoinTable;
use crate::joins::hash::probe::candidates::{Candidates, Pairs};

/// Pairs that are still to come.
pub(crate) enum PairStream {
    /// At most one of each probe row; `None` when they came.
    Unique(Option<Pairs>),
    /// Places in the lists of groups.
    Listed(Candidates),
    /// Places among the rows whose keys are null.
    NullKeys(Candidates),
    /// Places are rows.
    All(Candidates),
}

impl PairStream {
    /// Each row of a batch with the rows of its group.
    pub(crate) fn of_groups(table: &JoinTable, groups: &[u32]) -> Self {
        match &table.lists {
            None => Self::Unique(Some(Pairs::of_unique(groups))),
            Some(lists) => Self::Listed(Candidates::of_groups(groups, Some(lists))),
        }
    }

    /// Each of some rows with all build rows whose key is null.
    pub(crate) fn with_null_keys(table: &JoinTable, probe_rows: impl Iterator<Item = u32>) -> Self {
        Self::NullKeys(Candidates::of_all(probe_rows, table.null_key_rows.len()))
    }

    /// Each of some rows with all build rows.
    pub(crate) fn with_all(table: &JoinTable, probe_rows: impl Iterator<Item = u32>) -> Self {
        Self::All(Candidates::of_all(probe_rows, table.row_count))
    }

    /// The next pairs, `None` at the end. Probe rows that are `settled` by now are passed over, and so are `unwanted` build
    /// rows, as far as that saves something; a vector may come out empty.
    pub(crate) fn next(
        &mut self,
        table: &JoinTable,
        settled: impl Fn(u32) -> bool,
        unwanted: impl Fn(u32) -> bool,
    ) -> Option<Pairs> {
        match self {
            Self::Unique(pairs) => pairs.take(),
            Self::Listed(candidates) => {
                let rows = table.lists.as_ref().expect("pairs came from lists").rows();
                candidates.next(|place| rows[place as usize], settled, unwanted)
            }
            Self::NullKeys(candidates) => {
                candidates.next(|place| table.null_key_rows[place as usize], settled, unwanted)
            }
            Self::All(candidates) => candidates.next(|row| row, settled, unwanted),
        }
    }
}
