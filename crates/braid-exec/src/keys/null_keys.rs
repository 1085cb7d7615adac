//! How a join compares null keys.

/// How a join compares a null key with other keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullKeys {
    /// `=`: null equals nothing.
    EqualNothing,
    /// IS NOT DISTINCT FROM: null equals null.
    EqualNull,
    /// NOT IN: the comparison of null with any key is unknown.
    Unknown,
}

impl NullKeys {
    /// Whether null equals null.
    pub fn are_equal(self) -> bool {
        self == Self::EqualNull
    }

    /// Whether comparisons with null are unknown.
    pub fn are_unknown(self) -> bool {
        self == Self::Unknown
    }
}
