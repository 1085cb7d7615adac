//! The data-query model: every row carries the set of the queries that want it (SharedDB, section 3.1).
//!
//! A predicate index ([`crate::PredicateIndex`]) gives each row of a vector its class by one column: a small number that
//! stands for a set of queries. A row's own set is the intersection over the columns that the queries restrict. How that
//! set is represented decides what a pass costs, so the three representations are written behind one trait and
//! measured against each other (`braid bench query-sets`):
//!
//! | module | a row carries | an intersection costs |
//! |---|---|---|
//! | [`list`] | the numbers of its queries, ascending: the paper's choice | the lengths of both lists |
//! | [`bitmap`] | one bit for each query of the pass | queries / 64 |
//! | [`class`] | the number of an interned set | one look into a memo |
//!
//! All of them work on the rows of a vector at a time, and each keeps its rows' sets in the layout that suits it best.
//!
//! Invariant: the column of a representation holds non-empty sets only. A row that nobody wants is dropped where its set
//! becomes empty; there is nothing such a row could still be used for.

pub mod bitmap;
pub mod class;
pub mod list;

use std::fmt;

use braid_base::VECTOR_ROWS;

use crate::{ClassSets, RowClass};

/// Most queries of one pass: 16 bits are what a list spends on each.
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

/// What rows are aggregated into: a query where a row is added once for each that wants it, a whole set of queries where it
/// is added once for all of them and distributed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(pub u32);

/// Rows of a vector that are still wanted, ascending, as positions in that vector: what a step keeps of its input rows.
pub type KeptRows = Vec<u16>;

/// A representation of the sets that rows carry.
pub trait QuerySets {
    /// The sets of some rows, one after the other.
    type Column;

    /// A representation for a pass of so many queries. Panics above [`PASS_QUERIES_MAX`].
    fn new(query_count: usize) -> Self;

    /// The sets of rows of which only their classes by one column are known. Writes into `kept` the positions of the
    /// rows that anybody wants; the column that is returned has these rows.
    fn begin(&mut self, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) -> Self::Column;

    /// Intersects each row's set with that of its class by a further column. Writes into `kept` the positions, among the
    /// column's rows before, of the rows that are left; the column has these rows afterwards.
    ///
    /// Panics when `classes` has not as many entries as the column has rows.
    fn narrow(&mut self, column: &mut Self::Column, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows);

    /// Number of rows in a column.
    fn row_count(&self, column: &Self::Column) -> usize;

    /// Calls `visit` with each query that wants the row, ascending.
    fn for_each_query(&self, column: &Self::Column, row: usize, visit: impl FnMut(QueryNumber));

    /// Calls `visit` with each bucket that the row's values are to be added to.
    fn for_each_bucket(&self, column: &Self::Column, row: usize, visit: impl FnMut(Bucket));

    /// Calls `visit` with each query that what was added to the bucket belongs to, ascending.
    fn for_each_query_of(&self, bucket: Bucket, visit: impl FnMut(QueryNumber));
}

/// Panics unless a vector may have that many rows: positions are 16 bits wide.
pub(crate) fn check_row_count(rows: usize) {
    assert!(rows <= VECTOR_ROWS, "{rows} rows in a vector of at most {VECTOR_ROWS}");
}

#[cfg(test)]
mod tests;
