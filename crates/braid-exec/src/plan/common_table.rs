//! Common tables: rows that a plan makes once and reads any number of times.

use std::fmt;

/// The number of a common table in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CteId(pub u32);

impl fmt::Display for CteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "common table {}", self.0)
    }
}

/// A recursion: the rows of its start, and those that its step makes of the rows of the step before, again and again until it makes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecursionSpec {
    /// Its number. A scan of it in the step returns the rows of the step before, one in the body all rows.
    pub cte: CteId,
    /// Number of columns that scans return: the first ones of the start's and the step's.
    pub column_count: usize,
    /// UNION instead of UNION ALL: rows that equal an earlier one in these columns of the start and of the step are dropped.
    pub distinct_by: Option<Vec<usize>>,
}

impl fmt::Display for RecursionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cte)?;
        let Some(keys) = &self.distinct_by else { return Ok(()) };
        let keys: Vec<String> = keys.iter().map(|key| format!("#{key}")).collect();
        write!(f, ", distinct by {}", keys.join(", "))
    }
}
