//! A scan's part of a pass: computes the query set of each row of a vector, and drops rows with an empty set (the query-data
//! join of ClockScan: SharedDB, VLDB 2012, section 4.4).
//!
//! The scan processes one column after the other, on encoded data. It drops a row with an empty set before it processes the
//! next column, so that a pass of one query is the ordinary late-materialised filter. The column that has dropped most rows
//! so far is first (the rank of Hellerstein, Predicate Migration, 1993; here all columns cost about the same).

use std::sync::Arc;

use braid_base::VECTOR_ROWS;
use braid_storage::{Segment, Selection};

use crate::query_sets::set_calculator::{SetCalculator, SetOperation};
use crate::runtime::pipeline::SetFilter;
use crate::scan::segment_classes::SegmentClasses;
use crate::{ExecError, SetNumber};

/// One worker's part of a scan.
pub(crate) struct SetScan {
    filters: Vec<RankedFilter>,
    calculator: SetCalculator,
    /// The sets of one column, a buffer that is reused for each vector.
    found: Vec<SetNumber>,
}

/// A filter and the number of rows it has dropped so far.
struct RankedFilter {
    filter: SetFilter,
    rows_seen: usize,
    rows_dropped: usize,
}

/// The filters on the segments of one chunk. The filter that drops most rows is first.
pub(crate) struct ChunkSets {
    columns: Vec<ColumnSets>,
}

struct ColumnSets {
    /// Position among the filters.
    filter: usize,
    segment: Arc<Segment>,
    classes: SegmentClasses,
}

impl SetScan {
    /// One worker's state. Panics without filters.
    pub(crate) fn new(filters: &[SetFilter]) -> Self {
        let store = filters.first().expect("sets come from filters").predicates.store().clone();
        let ranked = |filter: &SetFilter| {
            // The initial drop rate is one half.
            RankedFilter { filter: filter.clone(), rows_seen: VECTOR_ROWS, rows_dropped: VECTOR_ROWS / 2 }
        };
        let filters = filters.iter().map(ranked).collect();
        Self { filters, calculator: SetCalculator::new(store), found: Vec::new() }
    }

    /// Prepares a chunk. `segment` returns the segment of a column of the source.
    pub(crate) fn open(&self, segment: impl Fn(usize) -> Arc<Segment>) -> ChunkSets {
        let column = |at: usize| {
            let SetFilter { column, predicates } = &self.filters[at].filter;
            let segment = segment(*column);
            ColumnSets { filter: at, classes: SegmentClasses::new(predicates.index(), &segment), segment }
        };
        let mut order: Vec<usize> = (0..self.filters.len()).collect();
        order.sort_by(|a, b| self.filters[*b].drop_rate().total_cmp(&self.filters[*a].drop_rate()));
        ChunkSets { columns: order.into_iter().map(column).collect() }
    }

    /// Removes the rows with an empty set from `rows`, and returns the sets of the others.
    ///
    /// # Errors
    /// When memory for the sets is refused.
    pub(crate) fn narrow(
        &mut self,
        chunk: &mut ChunkSets,
        vector: usize,
        rows: &mut Selection,
    ) -> Result<Vec<SetNumber>, ExecError> {
        let mut sets: Option<Vec<SetNumber>> = None;
        for ColumnSets { filter, segment, classes } in &mut chunk.columns {
            let ranked = &mut self.filters[*filter];
            let predicates = &ranked.filter.predicates;
            classes.of_rows(
                predicates.index(),
                segment,
                vector,
                rows,
                |class| predicates.set_of(class),
                &mut self.found,
            );
            let narrowed = match sets.take() {
                None => std::mem::take(&mut self.found),
                Some(mut sets) => {
                    self.calculator.apply(SetOperation::Intersect, &mut sets, &self.found)?;
                    sets
                }
            };
            ranked.rows_seen += narrowed.len();
            let narrowed = sets.insert(narrowed);
            ranked.rows_dropped += drop_unwanted(rows, narrowed);
            if narrowed.is_empty() {
                break;
            }
        }
        Ok(sets.unwrap_or_else(|| vec![SetNumber::ALL; rows.count()]))
    }
}

/// Drops the rows with an empty set. Returns their number.
fn drop_unwanted(rows: &mut Selection, sets: &mut Vec<SetNumber>) -> usize {
    let before = sets.len();
    if !sets.contains(&SetNumber::EMPTY) {
        return 0;
    }
    let keep: Vec<bool> = sets.iter().map(|set| *set != SetNumber::EMPTY).collect();
    rows.retain_where(&keep);
    // The loop has no branch per row, because empty sets occur in no pattern.
    let mut count = 0;
    for row in 0..before {
        sets[count] = sets[row];
        count += usize::from(keep[row]);
    }
    sets.truncate(count);
    before - count
}

impl RankedFilter {
    /// The share of rows that the filter has dropped so far.
    fn drop_rate(&self) -> f64 {
        self.rows_dropped as f64 / self.rows_seen as f64
    }
}

#[cfg(test)]
mod tests;
