//! Sets as ascending lists of query numbers: SharedDB's choice (section 3.1), the NF² form of the data-query model.
//!
//! The lists of a column are contiguous in one allocation. Lists are efficient while rows belong to few queries, for any number
//! of queries in the pass.

use super::representation::{Bucket, KeptRows, QuerySets, check_row_count};
use braid_exec::query_sets::query_number::{PASS_QUERIES_MAX, QueryNumber};
use braid_exec::{ClassSets, RowClass};

/// The representation. It shares nothing between rows.
#[derive(Debug)]
pub struct ListSets;

/// The lists of some rows.
#[derive(Debug, Default)]
pub struct ListColumn {
    /// The end of each row's list in `queries`. A list starts at the end of the previous one.
    ends: Vec<u32>,
    queries: Vec<QueryNumber>,
}

impl ListColumn {
    fn list(&self, row: usize) -> &[QueryNumber] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.queries[start..self.ends[row] as usize]
    }

    /// Ends the current row's list. True if the list is not empty.
    fn end_row(&mut self) -> bool {
        let end = self.queries.len() as u32;
        let is_wanted = end > self.ends.last().copied().unwrap_or(0);
        if is_wanted {
            self.ends.push(end);
        }
        is_wanted
    }
}

impl QuerySets for ListSets {
    type Column = ListColumn;

    fn new(query_count: usize) -> Self {
        assert!(query_count <= PASS_QUERIES_MAX, "{query_count} queries in a pass of at most {PASS_QUERIES_MAX}");
        Self
    }

    fn begin(&mut self, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) -> ListColumn {
        check_row_count(classes.len());
        kept.clear();
        let mut column = ListColumn::default();
        for (row, class) in classes.iter().enumerate() {
            column.queries.extend_from_slice(sets.list(*class));
            if column.end_row() {
                kept.push(row as u16);
            }
        }
        column
    }

    fn narrow(&mut self, column: &mut ListColumn, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) {
        assert_eq!(classes.len(), column.ends.len(), "a class for each row");
        kept.clear();
        let mut narrowed = ListColumn::default();
        for (row, class) in classes.iter().enumerate() {
            intersect(column.list(row), sets.list(*class), &mut narrowed.queries);
            if narrowed.end_row() {
                kept.push(row as u16);
            }
        }
        *column = narrowed;
    }

    fn row_count(&self, column: &ListColumn) -> usize {
        column.ends.len()
    }

    fn for_each_query(&self, column: &ListColumn, row: usize, visit: impl FnMut(QueryNumber)) {
        column.list(row).iter().copied().for_each(visit);
    }

    fn for_each_bucket(&self, column: &ListColumn, row: usize, mut visit: impl FnMut(Bucket)) {
        self.for_each_query(column, row, |query| visit(Bucket(u32::from(query.0))));
    }

    fn for_each_query_of(&self, bucket: Bucket, mut visit: impl FnMut(QueryNumber)) {
        visit(QueryNumber::at(bucket.0 as usize));
    }
}

/// Appends the common elements of two ascending lists.
fn intersect(a: &[QueryNumber], b: &[QueryNumber], common: &mut Vec<QueryNumber>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        if x == y {
            common.push(x);
        }
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
}
