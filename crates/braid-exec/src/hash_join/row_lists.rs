//! The rows of each group, next to each other: a counting sort of row numbers by group.
//!
//! Probing a key that repeats reads its rows in one place, where a chain would jump from one to the next.

use crate::vector::NO_ROW;

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

    /// Sorts rows. `each_row` calls what it is given with the group of every row, [`NO_ROW`] for none, from the first
    /// row to the last, in vectors; it runs twice.
    pub(crate) fn new(group_count: usize, mut each_row: impl FnMut(&mut dyn FnMut(&[u32]))) -> Self {
        // Counts stand two places up, so that the sums are where groups begin one place up; filling moves those to where
        // the groups end, which is where the next begin.
        let mut offsets = vec![0u32; group_count + 2];
        each_row(&mut |groups| {
            for group in groups.iter().filter(|group| **group != NO_ROW) {
                offsets[*group as usize + 2] += 1;
            }
        });
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut rows = vec![0; sum as usize];
        let mut row = 0;
        each_row(&mut |groups| {
            for group in groups {
                if *group != NO_ROW {
                    let end = &mut offsets[*group as usize + 1];
                    rows[*end as usize] = row;
                    *end += 1;
                }
                row += 1;
            }
        });
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
