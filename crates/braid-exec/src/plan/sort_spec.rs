//! What a sort is to do.

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

/// What is sorted, and how much of it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortSpec {
    /// Most significant first.
    pub keys: Vec<SortKey>,
    /// Rows wanted, with those that an OFFSET skips.
    pub limit: Option<usize>,
}
