//! The number of a query in its pass.

use std::fmt;

/// Maximum number of queries of a pass. Lists use 16 bits for each query.
pub const PASS_QUERIES_MAX: usize = 1 << 16;

/// A query's position among those of one pass, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryNumber(pub u16);

impl QueryNumber {
    /// The number of the query at `index` of a pass. Panics at [`PASS_QUERIES_MAX`] and above.
    pub fn at(index: usize) -> Self {
        Self(u16::try_from(index).expect("a pass has at most PASS_QUERIES_MAX queries"))
    }

    /// Its index in arrays with an entry for each query.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for QueryNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
