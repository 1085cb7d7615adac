//! The distinct values of an argument in each group, for `count(DISTINCT x)` and similar aggregates.
//!
//! The pairs of outer group and value are groups themselves. Aggregation starts after all pairs are known, so that pairs of
//! several workers are merged like other groups.

use std::sync::Arc;

use crate::ExecError;
use crate::aggregation::MERGED_ROWS;
use crate::aggregation::groups::group_table::{GroupTable, KeyOrder};
use crate::aggregation::states::sums::RowGroups;
use crate::tuning::AggregationTuning;
use crate::values::vector::{Values, Vector};

/// Pairs of group and value, each once.
#[derive(Debug)]
pub(crate) struct DistinctValues {
    /// Key columns: the group, unless there is only one, and the value.
    pairs: GroupTable,
    has_groups: bool,
    scratch: Vec<u32>,
}

impl DistinctValues {
    /// No values, of any number of groups. `order` is that of the values.
    pub(crate) fn of_groups(order: KeyOrder, tuning: AggregationTuning) -> Self {
        Self { pairs: GroupTable::new(2, order, tuning), has_groups: true, scratch: Vec::new() }
    }

    /// No values, of one group. `order` is that of the values.
    pub(crate) fn of_one_group(order: KeyOrder, tuning: AggregationTuning) -> Self {
        Self { pairs: GroupTable::new(1, order, tuning), has_groups: false, scratch: Vec::new() }
    }

    /// Whether groups other than 0 are possible.
    pub(crate) fn has_groups(&self) -> bool {
        self.has_groups
    }

    /// Adds the values that are not null to the groups of their rows.
    ///
    /// # Errors
    /// When the numbers of pairs are used up.
    pub(crate) fn add(&mut self, groups: &[u32], values: &Arc<Vector>) -> Result<(), ExecError> {
        match values.valid().filter(|valid| valid.contains(&false)) {
            None => self.add_valid(groups, values.clone()),
            Some(valid) => {
                let rows: Vec<u32> = (0..valid.len() as u32).filter(|row| valid[*row as usize]).collect();
                let groups: Vec<u32> = rows.iter().map(|row| groups[*row as usize]).collect();
                self.add_valid(&groups, Arc::new(values.take(&rows)))
            }
        }
    }

    fn add_valid(&mut self, groups: &[u32], values: Arc<Vector>) -> Result<(), ExecError> {
        if groups.is_empty() {
            return Ok(());
        }
        if self.has_groups {
            let groups_column = Vector::integers(groups.iter().map(|group| i64::from(*group)).collect());
            self.pairs.find(&[Arc::new(groups_column), values], groups.len(), &mut self.scratch)
        } else {
            self.pairs.find(&[values], groups.len(), &mut self.scratch)
        }
    }

    /// Number of pairs.
    pub(crate) fn count(&self) -> usize {
        self.pairs.group_count()
    }

    /// The group of each pair.
    pub(crate) fn groups(&self) -> Vec<u32> {
        (0..self.count()).map(|pair| self.group(pair)).collect()
    }

    /// The groups of some pairs.
    pub(crate) fn groups_at<'a>(&'a self, pairs: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        pairs.iter().map(|pair| self.group(*pair as usize))
    }

    fn group(&self, pair: usize) -> u32 {
        match self.pairs.keys()[0].values() {
            _ if !self.has_groups => 0,
            Values::Int(groups) => groups[pair] as u32,
            _ => unreachable!("groups were added as integers"),
        }
    }

    /// Adds pairs of another worker: the values at these rows, with the groups of the rows.
    ///
    /// # Errors
    /// When the numbers of pairs are used up.
    pub(crate) fn merge(
        &mut self,
        values: &Vector,
        RowGroups { rows, groups }: RowGroups<'_>,
    ) -> Result<(), ExecError> {
        for (groups, rows) in groups.chunks(MERGED_ROWS).zip(rows.chunks(MERGED_ROWS)) {
            self.add_valid(groups, Arc::new(values.take(rows)))?;
        }
        Ok(())
    }

    /// The value of each pair.
    pub(crate) fn values(&self) -> &Vector {
        &self.pairs.keys()[usize::from(self.has_groups)]
    }

    /// Ends the collection of values.
    pub(crate) fn finish(&mut self) {
        self.pairs.finish();
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.pairs.bytes()
    }
}
