//! The specification of a sort.

use std::fmt;

/// One column of ORDER BY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Column of the rows.
    pub column: usize,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

/// The order of a sort, and its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortSpec {
    /// Most significant first.
    pub keys: Vec<SortKey>,
    /// The number of rows that are needed, including those that an OFFSET skips.
    pub limit: Option<usize>,
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (order, nulls) = (["", " DESC"], [" NULLS LAST", " NULLS FIRST"]);
        let (order, nulls) = (order[usize::from(self.descending)], nulls[usize::from(self.nulls_first)]);
        write!(f, "#{}{order}{nulls}", self.column)
    }
}
