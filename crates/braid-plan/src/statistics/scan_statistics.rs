//! Statistics of the rows that a scan returns: those of its chunks that satisfy its predicates.
//!
//! Without predicates, row counts are exact. With predicates, the rows are estimated chunk by chunk, taking values as spread evenly
//! between a chunk's bounds and columns as independent (System R, section 4), and distinct counts are scaled down to the rows that
//! are left. Join order and build sides depend on these numbers.

use braid_base::ColumnId;
use braid_storage::{ChunkMeta, ColumnPredicate, TableVersion};

use super::column_statistics::{ColumnStatistics, Count, counted, distinct_left, scaled};
use super::selectivity::{ConditionOn, selectivity};

/// What is known of the rows of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanStatistics {
    /// Rows.
    pub row_count: Count,
    /// About how many bytes the rows have, decoded.
    pub decoded_bytes: u64,
    /// One for each column that is asked for, in that order.
    pub columns: Vec<ColumnStatistics>,
}

impl ScanStatistics {
    /// Of the rows of `chunks` (indices into the version) that satisfy all `predicates`, projected to `columns`.
    pub fn of(version: &TableVersion, columns: &[ColumnId], chunks: &[usize], predicates: &[ConditionOn]) -> Self {
        let chunks: Vec<&ChunkMeta> = chunks.iter().map(|index| version.chunks[*index].as_ref()).collect();
        let row_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.live_row_count())).sum();
        let of_columns: Vec<ColumnStatistics> =
            columns.iter().map(|column| ColumnStatistics::of(version, *column, &chunks)).collect();
        let decoded_bytes = of_columns.iter().map(|column| column.decoded_bytes).sum();
        let mut statistics = Self { row_count: Count::Exact(row_count), decoded_bytes, columns: of_columns };
        if predicates.is_empty() || row_count == 0 {
            return statistics;
        }
        let selected = SelectedRows { version, chunks: &chunks, predicates };
        let rows_left = selected.all();
        for (column, statistics) in columns.iter().zip(&mut statistics.columns) {
            statistics.distinct_count = selected.distinct_count(*column, statistics, rows_left);
        }
        statistics.scaled(columns, predicates, rows_left / row_count as f64)
    }

    /// These with `share` of the rows left, which distinct counts know of already.
    fn scaled(mut self, columns: &[ColumnId], predicates: &[ConditionOn], share: f64) -> Self {
        self.row_count = self.row_count.scaled(share);
        self.decoded_bytes = scaled(self.decoded_bytes, share);
        for (column, statistics) in columns.iter().zip(&mut self.columns) {
            statistics.decoded_bytes = scaled(statistics.decoded_bytes, share);
            if let Some(bounds) = &mut statistics.bounds {
                bounds.is_exact = false;
            }
            let mut on_column = predicates.iter().filter(|(other, _)| other == column);
            // Every predicate but IS NULL drops the nulls.
            statistics.null_count = match on_column.next() {
                Some((_, ColumnPredicate::IsNull)) => self.row_count,
                Some(_) => Count::Exact(0),
                None => statistics.null_count.scaled(share),
            };
        }
        self
    }
}

/// The rows of some chunks that satisfy predicates.
struct SelectedRows<'a> {
    version: &'a TableVersion,
    chunks: &'a [&'a ChunkMeta],
    predicates: &'a [ConditionOn],
}

impl SelectedRows<'_> {
    /// How many there are.
    fn all(&self) -> f64 {
        self.count(&self.predicates.iter().collect::<Vec<_>>())
    }

    /// How many satisfy `predicates`.
    fn count(&self, predicates: &[&ConditionOn]) -> f64 {
        let of_chunk =
            |chunk: &&ChunkMeta| f64::from(chunk.live_row_count()) * selectivity(self.version, chunk, predicates);
        self.chunks.iter().map(of_chunk).sum()
    }

    /// Distinct values of a column in the `rows_left` that there are, from its statistics in all rows.
    fn distinct_count(&self, column: ColumnId, all: &ColumnStatistics, rows_left: f64) -> Option<u64> {
        let own: Vec<&ConditionOn> = self.predicates.iter().filter(|(other, _)| *other == column).collect();
        let is_null = own.iter().any(|(_, predicate)| matches!(predicate, ColumnPredicate::IsNull));
        let distinct = all.distinct_count.filter(|_| !is_null)? as f64;
        let row_count: f64 = self.chunks.iter().map(|chunk| f64::from(chunk.live_row_count())).sum();
        let values = row_count - all.null_count.value() as f64;
        if own.is_empty() {
            return Some(counted(distinct_left(distinct, values, values * rows_left / row_count)));
        }
        // What is asked of the column itself removes values; what is asked of others, rows.
        let values_left = if own.len() == self.predicates.len() { rows_left } else { self.count(&own) };
        Some(counted(distinct_left(distinct * values_left / values, values_left, rows_left)))
    }
}
