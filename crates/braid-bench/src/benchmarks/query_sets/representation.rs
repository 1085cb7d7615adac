//! The representations of query sets behind one trait: every row carries the set of the queries that want it (SharedDB,
//! section 3.1).
//!
//! A predicate index ([`PredicateIndex`](braid_exec::PredicateIndex)) gives each row of a vector its class by one column: a
//! small number that stands for a set of queries. A row's own set is the intersection over the columns that the queries
//! restrict. Each representation works on the rows of a vector at a time, and keeps their sets in the layout that suits it.
//!
//! Invariant: the column of a representation holds non-empty sets only. A row is dropped where its set becomes empty.

use braid_base::VECTOR_ROWS;
use braid_exec::query_sets::query_number::QueryNumber;
use braid_exec::{ClassSets, RowClass};

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

    /// A representation for a pass of `query_count` queries. Panics above
    /// [`PASS_QUERIES_MAX`](braid_exec::PASS_QUERIES_MAX).
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
pub fn check_row_count(rows: usize) {
    assert!(rows <= VECTOR_ROWS, "{rows} rows in a vector of at most {VECTOR_ROWS}");
}
