//! The data-query model: every row carries the set of the queries that it belongs to (SharedDB, section 3.1).
//!
//! A predicate index ([`crate::PredicateIndex`]) gives each row of a vector its class by one column: a small number that
//! stands for a set of queries. A row's own set is the intersection over the columns that the queries restrict. The
//! representation of the sets determines the cost of a pass. The three representations implement one trait and are
//! compared by `braid bench query-sets`:
//!
//! | module | a row carries | an intersection costs |
//! |---|---|---|
//! | [`list`] | the numbers of its queries, ascending: the paper's choice | the lengths of both lists |
//! | [`bitmap`] | one bit for each query of the pass | queries / 64 |
//! | [`class`] | the number of an interned set | one lookup in a memo |
//!
//! Each representation processes the rows of a vector at a time, and has a layout of its own for their sets.
//!
//! Invariant: the column of a representation holds only non-empty sets. A row is dropped as soon as its set becomes empty.

pub mod bitmap;
pub mod class;
pub mod list;

use std::fmt;

use braid_base::VECTOR_ROWS;

use crate::{ClassSets, RowClass};

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

/// The target of an aggregation. It is a query if a row is added once for each query of its set, or a query set if the row is
/// added once for all of them and the sums are distributed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(pub u32);

/// The rows that a step keeps of a vector: ascending positions in that vector.
pub type KeptRows = Vec<u16>;

/// A representation of the sets that rows carry.
pub trait QuerySets {
    /// The sets of rows.
    type Column;

    /// A representation for a pass of `query_count` queries. Panics above [`PASS_QUERIES_MAX`].
    fn new(query_count: usize) -> Self;

    /// The sets of rows by their classes of one column. Writes the positions of the rows with a non-empty set to `kept`. The
    /// returned column has these rows.
    fn begin(&mut self, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) -> Self::Column;

    /// Intersects each row's set with that of its class by a further column. Keeps the rows with a non-empty set, and writes
    /// their previous positions to `kept`.
    ///
    /// Panics unless `classes` has one entry per row of the column.
    fn narrow(&mut self, column: &mut Self::Column, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows);

    /// Number of rows in a column.
    fn row_count(&self, column: &Self::Column) -> usize;

    /// Calls `visit` with each query of the row's set, ascending.
    fn for_each_query(&self, column: &Self::Column, row: usize, visit: impl FnMut(QueryNumber));

    /// Calls `visit` with each bucket that the row's values are to be added to.
    fn for_each_bucket(&self, column: &Self::Column, row: usize, visit: impl FnMut(Bucket));

    /// Calls `visit` with each query of the bucket, ascending.
    fn for_each_query_of(&self, bucket: Bucket, visit: impl FnMut(QueryNumber));
}

/// Panics if a vector cannot have this number of rows, because positions are 16 bits wide.
pub(crate) fn check_row_count(rows: usize) {
    assert!(rows <= VECTOR_ROWS, "{rows} rows in a vector of at most {VECTOR_ROWS}");
}

#[cfg(test)]
mod tests;
