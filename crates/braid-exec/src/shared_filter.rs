//! The scan's part of a pass: from the rows of a vector to those that anybody wants, with the set of queries of each
//! (SharedDB, section 4.4: the query-data join of ClockScan).
//!
//! Column after column: a row whose set is empty is dropped before the next column is looked at, so that a pass of one
//! query is the ordinary late-materialised filter. The column that has dropped most rows for its cost goes first, as seen
//! so far (the rank of Hellerstein, Predicate Migration, 1993; here all columns cost about the same).

use std::sync::Arc;

use braid_base::VECTOR_ROWS;
use braid_storage::{Segment, Selection};

use crate::segment_classes::SegmentClasses;
use crate::{KeptRows, PredicateIndex, QuerySets, RowClass};

/// The indexed predicates of a pass on one table.
#[derive(Debug)]
pub struct SharedFilter {
    columns: Vec<FilterColumn>,
    /// Wants every row for every query: the beginning when nobody restricts any column.
    everybody: PredicateIndex,
}

/// One restricted column.
#[derive(Debug)]
struct FilterColumn {
    /// Position among a chunk's segments.
    segment: usize,
    index: Arc<PredicateIndex>,
    rows_seen: u64,
    rows_dropped: u64,
}

impl FilterColumn {
    /// Share of the rows that it dropped so far.
    fn drop_rate(&self) -> f64 {
        self.rows_dropped as f64 / self.rows_seen as f64
    }
}

/// The rows of a vector that anybody wants, with their sets.
#[derive(Debug)]
pub struct WantedRows<C> {
    /// The rows.
    pub selection: Selection,
    /// The set of each selected row.
    pub sets: C,
}

impl SharedFilter {
    /// A filter for a pass of `query_count` queries; each index with the position of its column among the segments of a
    /// chunk.
    pub fn new(query_count: usize, indexes: Vec<(usize, Arc<PredicateIndex>)>) -> Self {
        let everybody = PredicateIndex::new(query_count, &[]).expect("no constant is an interval");
        let column = |(segment, index)| {
            // Taken to drop half until seen to do otherwise.
            FilterColumn { segment, index, rows_seen: VECTOR_ROWS as u64, rows_dropped: VECTOR_ROWS as u64 / 2 }
        };
        Self { columns: indexes.into_iter().map(column).collect(), everybody }
    }

    /// Filters the vectors of a chunk one after the other, calling `visit` with the number of each that has wanted rows.
    /// Stops at the first error of `visit` and returns it.
    pub fn filter_chunk<S: QuerySets, E>(
        &mut self,
        segments: &[&Segment],
        row_count: usize,
        sets: &mut S,
        mut visit: impl FnMut(&S, usize, WantedRows<S::Column>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.columns.sort_by(|a, b| b.drop_rate().total_cmp(&a.drop_rate()));
        let mut seen = vec![(0, 0); self.columns.len()];
        let mut classes: Vec<SegmentClasses<'_>> =
            self.columns.iter().map(|column| SegmentClasses::new(&column.index, segments[column.segment])).collect();
        let mut scratch = Scratch::default();
        for vector in 0..row_count.div_ceil(VECTOR_ROWS) {
            let all = Selection::all(VECTOR_ROWS.min(row_count - vector * VECTOR_ROWS));
            let wanted = self.filter_vector(&mut classes, vector, all, sets, &mut seen, &mut scratch);
            if !wanted.selection.is_empty() {
                visit(sets, vector, wanted)?;
            }
        }
        drop(classes);
        for (column, (rows_seen, rows_dropped)) in self.columns.iter_mut().zip(seen) {
            column.rows_seen += rows_seen;
            column.rows_dropped += rows_dropped;
        }
        Ok(())
    }

    fn filter_vector<S: QuerySets>(
        &self,
        classes: &mut [SegmentClasses<'_>],
        vector: usize,
        all: Selection,
        sets: &mut S,
        seen: &mut [(u64, u64)],
        scratch: &mut Scratch,
    ) -> WantedRows<S::Column> {
        let mut selection = all;
        let mut column: Option<S::Column> = None;
        for (at, segment) in classes.iter_mut().enumerate() {
            segment.of_rows(vector, &selection, &mut scratch.classes);
            let class_sets = self.columns[at].index.sets();
            match &mut column {
                None => column = Some(sets.begin(class_sets, &scratch.classes, &mut scratch.kept)),
                Some(column) => sets.narrow(column, class_sets, &scratch.classes, &mut scratch.kept),
            }
            seen[at].0 += scratch.classes.len() as u64;
            seen[at].1 += (scratch.classes.len() - scratch.kept.len()) as u64;
            if scratch.kept.len() < scratch.classes.len() {
                selection = keep(&selection, &scratch.kept);
            }
            if scratch.kept.is_empty() {
                break;
            }
        }
        let sets = column.unwrap_or_else(|| {
            let everybody = vec![self.everybody.class_of_null(); all.len()];
            sets.begin(self.everybody.sets(), &everybody, &mut scratch.kept)
        });
        WantedRows { selection, sets }
    }
}

/// What a filter reuses from vector to vector.
#[derive(Debug, Default)]
struct Scratch {
    classes: Vec<RowClass>,
    kept: KeptRows,
}

/// The selected rows at the given positions among them.
fn keep(selection: &Selection, kept: &[u16]) -> Selection {
    let mut rows = [0; VECTOR_ROWS];
    let rows = selection.indices(&mut rows);
    let mut left = Selection::none(selection.len());
    kept.iter().for_each(|at| left.insert(usize::from(rows[usize::from(*at)])));
    left
}
