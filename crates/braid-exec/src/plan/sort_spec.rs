//! The specification of a sort.

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
