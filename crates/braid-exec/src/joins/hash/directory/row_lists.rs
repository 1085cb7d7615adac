//! The rows of each group, next to each other: a counting sort of row numbers by group.
//!
//! Probing a key that repeats reads its rows in one place, where a chain would jump from one to the next.

use braid_base::VECTOR_ROWS;

use crate::ExecError;
use crate::joins::hash::build::build_tasks::Pace;
use crate::values::vector::NO_ROW;

/// Rows by group. Group `g` has `rows[offsets[g]..offsets[g + 1]]`, in order; the last offset stands twice, so that the
/// group after the last is empty.
pub(crate) struct RowLists {
    offsets: Vec<u32>,
    rows: Vec<u32>,
}

impl RowLists {
    /// Bytes that lists of so many groups and rows take.
    pub(crate) fn bytes(group_count: usize, row_count: usize) -> usize {
        (group_count + 2 + row_count) * 4
    }

    /// Lists that were sorted elsewhere. Panics unless the last offset stands twice and is the number of rows.
    pub(crate) fn of_sorted(offsets: Vec<u32>, rows: Vec<u32>) -> Self {
        assert!(offsets.iter().rev().take(2).eq([rows.len() as u32; 2].iter()), "all rows are in lists");
        Self { offsets, rows }
    }

    /// Where the group's rows begin and end; nowhere for [`NO_ROW`].
    #[inline]
    pub(crate) fn range(&self, group: u32) -> (u32, u32) {
        let group = (group as usize).min(self.offsets.len() - 2);
        (self.offsets[group], self.offsets[group + 1])
    }

    /// Number of groups, with those that have no rows.
    pub(crate) fn group_count(&self) -> usize {
        self.offsets.len() - 2
    }

    /// Rows, sorted by group.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }
}

/// Sorts rows: all are counted, then all are placed.
pub(crate) struct RowListsBuilder {
    /// Counts stand two places up, so that the sums are where groups begin one place up; placing moves those to where the
    /// groups end, which is where the next begin.
    offsets: Vec<u32>,
    rows: Vec<u32>,
    next_row: u32,
}

impl RowListsBuilder {
    /// No rows yet, of so many groups.
    pub(crate) fn new(group_count: usize) -> Self {
        Self { offsets: vec![0; group_count + 2], rows: Vec::new(), next_row: 0 }
    }

    /// Counts the rows of these groups, [`NO_ROW`] for none.
    pub(crate) fn count(&mut self, groups: &[u32]) {
        for group in groups.iter().filter(|group| **group != NO_ROW) {
            self.offsets[*group as usize + 2] += 1;
        }
    }

    /// All rows have been counted.
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

    /// Places the next rows, whose groups are these.
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

    /// All rows have been placed.
    pub(crate) fn finish(self) -> RowLists {
        RowLists::of_sorted(self.offsets, self.rows)
    }
}
