//! Estimates of a plan's rows and a column's distinct values, from row counts, zone maps and sketches, with the usual assumptions
//! for operators (System R, section 4). Join order and build sides depend on these numbers; answers do not.

use braid_scan::{ScanSpec, prune};
use braid_storage::TableVersion;

use crate::statistics::{ColumnStatistics, ScanStatistics};

/// Assumed share of rows that an unknown condition keeps.
pub const SELECTIVITY_UNKNOWN: f64 = 1.0 / 3.0;

/// Assumed share of groups that HAVING keeps. It is lower than for other conditions, because HAVING usually selects few groups.
pub const SELECTIVITY_OF_GROUPS: f64 = 0.1;

/// Assumed distinct values of an unknown column, as a share of the rows.
const DISTINCT_SHARE_UNKNOWN: f64 = 0.1;

/// A join explodes if its pairs are more than this multiple of the rows of both sides, and more than [`EXPLOSION_PAIRS_MIN`].
const EXPLOSION_FACTOR: f64 = 10.0;

/// Fewer pairs are no explosion: a core makes them within a second.
const EXPLOSION_PAIRS_MIN: f64 = 1e7;

/// The estimates for a plan.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Rows.
    pub rows: f64,
    /// Distinct values of each column.
    pub distinct: Vec<f64>,
    /// Whether one of its joins explodes.
    pub explodes: bool,
}

/// The estimates for a common table.
#[derive(Clone, Debug)]
pub struct TableEstimate {
    /// Its rows.
    pub rows: Estimate,
    /// Whether they are groups, which HAVING selects.
    pub is_groups: bool,
}

impl Estimate {
    /// Of a scan.
    pub fn of_scan(version: &TableVersion, spec: &ScanSpec) -> Self {
        let chunks = prune(version, &spec.predicates);
        let statistics = ScanStatistics::of(version, &spec.projection, &chunks, &spec.predicates);
        let rows = statistics.row_count.value() as f64;
        let distinct = |column: &ColumnStatistics| {
            let counted = column.distinct_count.map(|count| count as f64);
            let distinct = counted.or_else(|| column.integer_width()).unwrap_or(rows * DISTINCT_SHARE_UNKNOWN);
            distinct.min(rows).max(1.0)
        };
        Self { rows, distinct: statistics.columns.iter().map(distinct).collect(), explodes: false }
    }

    /// A share of the rows, drawn evenly.
    pub fn scaled(mut self, share: f64) -> Self {
        self.rows *= share;
        self.cap();
        self
    }

    /// At most `rows` rows.
    pub fn limited(mut self, rows: f64) -> Self {
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
    pub fn with_columns_of(mut self, other: &Self, rows: f64) -> Self {
        self.distinct.extend_from_slice(&other.distinct);
        self.explodes |= other.explodes;
        self.rows = rows;
        self.cap();
        self
    }

    /// The same after a join with another side that makes so many pairs.
    pub fn joined(mut self, pairs: f64, probe: &Self, build: &Self) -> Self {
        let is_explosion = pairs > (EXPLOSION_FACTOR * (probe.rows + build.rows)).max(EXPLOSION_PAIRS_MIN);
        self.explodes |= is_explosion || probe.explodes || build.explodes;
        self
    }

    /// Distinct combinations of values in some columns.
    pub fn distinct_of(&self, columns: &[usize]) -> f64 {
        columns.iter().map(|column| self.distinct[*column]).product::<f64>().min(self.rows.max(1.0))
    }

    /// Share of the pairs of two inputs' rows whose keys are equal.
    pub fn equal_share(&self, keys: &[usize], other: &Self, other_keys: &[usize]) -> f64 {
        1.0 / self.distinct_of(keys).max(other.distinct_of(other_keys)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_explodes_if_its_pairs_are_many_and_far_more_than_its_rows() {
        let side = |rows: f64| Estimate { rows, distinct: vec![1.0], explodes: false };
        for (probe, build, pairs, expected) in [
            (1e4, 1e4, 1.1e7, true),
            (1e4, 1e4, 0.9e7, false),
            (1e6, 1e6, 1.1e7, false),
            (1e6, 1e6, 1.9e7, false),
            (1e6, 1e6, 2.1e7, true),
        ] {
            let (probe, build) = (side(probe), side(build));
            let joined = probe.clone().with_columns_of(&build, pairs).joined(pairs, &probe, &build);
            assert_eq!(joined.explodes, expected, "{pairs} pairs of {probe:?} and {build:?}");
            // What comes later does not undo it.
            let above = side(1.0).joined(1.0, &joined, &side(1.0)).scaled(0.1).limited(1.0);
            assert_eq!(above.explodes, expected);
        }
    }
}
