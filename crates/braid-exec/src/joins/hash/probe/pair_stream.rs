//! The pairs of a batch of the probe side, as row numbers, one vector at a time, for joins with a test of pairs of their own.
//!
//! A batch has at most a vector of rows. With unique keys, all its pairs are therefore one vector.

use crate::joins::hash::JoinTable;
use crate::joins::hash::probe::candidates::{Candidates, Pairs};

/// The remaining pairs.
pub(crate) enum PairStream {
    /// At most one pair per probe row; `None` after they were returned.
    Unique(Option<Pairs>),
    /// Positions in the lists of groups.
    Listed(Candidates),
    /// Positions among the rows with a null key.
    NullKeys(Candidates),
    /// Positions are row numbers.
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

    /// Each of these rows with all build rows that have a null key.
    pub(crate) fn with_null_keys(table: &JoinTable, probe_rows: impl Iterator<Item = u32>) -> Self {
        Self::NullKeys(Candidates::of_all(probe_rows, table.null_key_rows.len()))
    }

    /// Each of these rows with all build rows.
    pub(crate) fn with_all(table: &JoinTable, probe_rows: impl Iterator<Item = u32>) -> Self {
        Self::All(Candidates::of_all(probe_rows, table.row_count))
    }

    /// The next pairs, `None` at the end. Settled probe rows are skipped, and so are unwanted build rows if that saves work.
    /// The vector may be empty.
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
