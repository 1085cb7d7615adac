//! The rows of each group, stored contiguously by a counting sort of row numbers by group.
//!
//! A probe of a repeated key reads contiguous rows, where a chain would jump from row to row.

use braid_base::VECTOR_ROWS;

use crate::ExecError;
use crate::joins::hash::build_tasks::Pace;
use crate::values::vector::NO_ROW;

/// Rows by group. Group `g` has `rows[offsets[g]..offsets[g + 1]]`, in order. The last offset is repeated, so that the
/// group after the last one is empty.
pub(crate) struct RowLists {
    offsets: Vec<u32>,
    rows: Vec<u32>,
}

impl RowLists {
    /// Bytes of the lists of `group_count` groups and `row_count` rows.
    pub(crate) fn bytes(group_count: usize, row_count: usize) -> usize {
        (group_count + 2 + row_count) * 4
    }

    /// Lists of sorted rows. Panics unless the last offset is repeated and is the number of rows.
    pub(crate) fn of_sorted(offsets: Vec<u32>, rows: Vec<u32>) -> Self {
        assert!(offsets.iter().rev().take(2).eq([rows.len() as u32; 2].iter()), "all rows are in lists");
        Self { offsets, rows }
    }

    /// The range of the group's rows; empty for [`NO_ROW`].
    #[inline]
    pub(crate) fn range(&self, group: u32) -> (u32, u32) {
        let group = (group as usize).min(self.offsets.len() - 2);
        (self.offsets[group], self.offsets[group + 1])
    }

    /// Number of groups, including empty ones.
    pub(crate) fn group_count(&self) -> usize {
        self.offsets.len() - 2
    }

    /// Rows, sorted by group.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }
}

/// Sorts rows in two passes: the first counts them, the second places them.
pub(crate) struct RowListsBuilder {
    /// Counts are stored two positions later, so that their sums are the groups' starts, one position later. Placing moves each
    /// start to the end of its group, which is the start of the next one.
    offsets: Vec<u32>,
    rows: Vec<u32>,
    next_row: u32,
}

impl RowListsBuilder {
    /// A builder for `group_count` groups.
    pub(crate) fn new(group_count: usize) -> Self {
        Self { offsets: vec![0; group_count + 2], rows: Vec::new(), next_row: 0 }
    }

    /// Counts rows by their groups; [`NO_ROW`] for a row without a group.
    pub(crate) fn count(&mut self, groups: &[u32]) {
        for group in groups.iter().filter(|group| **group != NO_ROW) {
            self.offsets[*group as usize + 2] += 1;
        }
    }

    /// Sums up the counts, after all rows are counted.
    pub(crate) async fn sum(&mut self, pace: &mut Pace) -> Result<(), ExecError> {
        let mut sum = 0;
        for offsets in self.offsets.chunks_mut(VECTOR_ROWS) {
            for offset in offsets.iter_mut() {
                sum += *offset;
                *offset = sum;
            }
            pace.step(offsets.len()).await?;
        }
        self.rows = vec![0; sum as usize];
        Ok(())
    }

    /// Places the next rows by their groups.
    pub(crate) fn place(&mut self, groups: &[u32]) {
        for group in groups {
            if *group != NO_ROW {
                let end = &mut self.offsets[*group as usize + 1];
                self.rows[*end as usize] = self.next_row;
                *end += 1;
            }
            self.next_row += 1;
        }
    }

    /// The lists, after all rows are placed.
    pub(crate) fn finish(self) -> RowLists {
        RowLists::of_sorted(self.offsets, self.rows)
    }
}
