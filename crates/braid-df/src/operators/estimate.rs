//! Estimates of a plan's rows and a column's distinct values, from row counts, zone maps and sketches, with the usual assumptions
//! for operators (System R, section 4). Join order and build sides depend on these numbers; answers do not.

use braid_scan::{ScanSpec, prune};
use braid_storage::TableVersion;
use datafusion::common::ColumnStatistics;

use crate::table_statistics::{integer_width, table_statistics};

/// Assumed share of rows that an unknown condition keeps.
pub(super) const SELECTIVITY_UNKNOWN: f64 = 1.0 / 3.0;

/// Assumed share of groups that HAVING keeps. It is lower than for other conditions, because HAVING usually selects few groups.
pub(super) const SELECTIVITY_OF_GROUPS: f64 = 0.1;

/// Assumed distinct values of an unknown column, as a share of the rows.
const DISTINCT_SHARE_UNKNOWN: f64 = 0.1;

/// The estimates for a plan.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    /// Rows.
    pub(super) rows: f64,
    /// Distinct values of each column.
    pub(super) distinct: Vec<f64>,
}

impl Estimate {
    /// Of a scan.
    pub(super) fn of_scan(version: &TableVersion, spec: &ScanSpec) -> Self {
        let chunks = prune(version, &spec.predicates);
        let statistics = table_statistics(version, &spec.projection, &chunks, &spec.predicates);
        let rows = statistics.num_rows.get_value().map_or(0.0, |rows| *rows as f64);
        let distinct = |column: &ColumnStatistics| {
            let counted = column.distinct_count.get_value().map(|count| *count as f64);
            let distinct = counted.or_else(|| integer_width(column)).unwrap_or(rows * DISTINCT_SHARE_UNKNOWN);
            distinct.min(rows).max(1.0)
        };
        Self { rows, distinct: statistics.column_statistics.iter().map(distinct).collect() }
    }

    /// A share of the rows, drawn evenly.
    pub(super) fn scaled(mut self, share: f64) -> Self {
        self.rows *= share;
        self.cap();
        self
    }

    /// At most `rows` rows.
    pub(super) fn limited(mut self, rows: f64) -> Self {
        self.rows = self.rows.min(rows);
        self.cap();
        self
    }

    /// No column has more values than there are rows.
    fn cap(&mut self) {
        let rows = self.rows.max(1.0);
        self.distinct.iter_mut().for_each(|distinct| *distinct = distinct.min(rows));
    }

    /// The rows beside those of another.
    pub(super) fn with_columns_of(mut self, other: &Self, rows: f64) -> Self {
        self.distinct.extend_from_slice(&other.distinct);
        self.rows = rows;
        self.cap();
        self
    }

    /// Distinct combinations of values in some columns.
    pub(super) fn distinct_of(&self, columns: &[usize]) -> f64 {
        columns.iter().map(|column| self.distinct[*column]).product::<f64>().min(self.rows.max(1.0))
    }

    /// Share of the pairs of two inputs' rows whose keys are equal.
    pub(super) fn equal_share(&self, keys: &[usize], other: &Self, other_keys: &[usize]) -> f64 {
        1.0 / self.distinct_of(keys).max(other.distinct_of(other_keys)).max(1.0)
    }
}
