//! Query sets as bitmaps over the queries of the pass. An intersection is one instruction per 64 queries. A row takes one bit
//! for each query of the pass.

use super::representation::{Bucket, KeptRows, QuerySets, check_row_count};
use braid_exec::query_sets::query_bitmap::{queries_of, words_for};
use braid_exec::query_sets::query_number::{PASS_QUERIES_MAX, QueryNumber};
use braid_exec::{ClassSets, RowClass};

/// The representation. It shares nothing between rows.
#[derive(Debug)]
pub struct BitmapSets {
    words_per_set: usize,
}

/// The bitmaps of some rows.
#[derive(Debug)]
pub struct BitmapColumn {
    words: Vec<u64>,
}

impl QuerySets for BitmapSets {
    type Column = BitmapColumn;

    fn new(query_count: usize) -> Self {
        assert!(query_count <= PASS_QUERIES_MAX, "{query_count} queries in a pass of at most {PASS_QUERIES_MAX}");
        Self { words_per_set: words_for(query_count).max(1) }
    }

    fn begin(&mut self, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) -> BitmapColumn {
        check_row_count(classes.len());
        kept.clear();
        let mut words = Vec::new();
        for (row, class) in classes.iter().enumerate() {
            if *class != RowClass::EMPTY {
                words.extend_from_slice(sets.bitmap(*class).words());
                kept.push(row as u16);
            }
        }
        BitmapColumn { words }
    }

    fn narrow(&mut self, column: &mut BitmapColumn, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) {
        assert_eq!(classes.len(), self.row_count(column), "a class for each row");
        kept.clear();
        let width = self.words_per_set;
        for (row, class) in classes.iter().enumerate() {
            let (from, to) = (row * width, kept.len() * width);
            let mut any = 0;
            for (at, wanted) in sets.bitmap(*class).words().iter().enumerate() {
                // `to` is not above `from`: a row is read before its place is written.
                let word = column.words[from + at] & wanted;
                column.words[to + at] = word;
                any |= word;
            }
            if any != 0 {
                kept.push(row as u16);
            }
        }
        column.words.truncate(kept.len() * width);
    }

    fn row_count(&self, column: &BitmapColumn) -> usize {
        column.words.len() / self.words_per_set
    }

    fn for_each_query(&self, column: &BitmapColumn, row: usize, visit: impl FnMut(QueryNumber)) {
        let first = row * self.words_per_set;
        queries_of(&column.words[first..first + self.words_per_set]).for_each(visit);
    }

    fn for_each_bucket(&self, column: &BitmapColumn, row: usize, mut visit: impl FnMut(Bucket)) {
        self.for_each_query(column, row, |query| visit(Bucket(u32::from(query.0))));
    }

    fn for_each_query_of(&self, bucket: Bucket, mut visit: impl FnMut(QueryNumber)) {
        visit(QueryNumber::at(bucket.0 as usize));
    }
}
