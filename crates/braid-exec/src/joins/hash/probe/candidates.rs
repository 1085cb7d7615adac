//! The pairs of probe rows with the rows of their groups, one vector at a time.
//!
//! At most one vector of pairs is in memory, also for a probe row with a million partners.

use braid_base::VECTOR_ROWS;

use crate::joins::hash::directory::row_lists::RowLists;
use crate::values::vector::NO_ROW;

/// Probe rows, each with the remaining positions of its build rows.
pub(crate) struct Candidates {
    ranges: Vec<PlaceRange>,
    /// The next position.
    next: usize,
}

struct PlaceRange {
    probe_row: u32,
    start: u32,
    end: u32,
}

/// Pairs of rows.
pub(crate) struct Pairs {
    pub(crate) probe_rows: Vec<u32>,
    pub(crate) build_rows: Vec<u32>,
}

impl Candidates {
    /// Each row of a batch with the rows of its group. Positions refer to the lists' rows; without lists they are row numbers.
    pub(crate) fn of_groups(groups: &[u32], lists: Option<&RowLists>) -> Self {
        let mut ranges = Vec::with_capacity(groups.len());
        for (probe_row, group) in (0..).zip(groups) {
            let (start, end) = match lists {
                Some(lists) => lists.range(*group),
                None if *group == NO_ROW => (0, 0),
                None => (*group, *group + 1),
            };
            if start < end {
                ranges.push(PlaceRange { probe_row, start, end });
            }
        }
        Self { ranges, next: 0 }
    }

    /// Each of these rows with all positions below `place_count`.
    pub(crate) fn of_all(probe_rows: impl Iterator<Item = u32>, place_count: usize) -> Self {
        let end = place_count as u32;
        let ranges = probe_rows.filter(|_| end > 0).map(|probe_row| PlaceRange { probe_row, start: 0, end });
        Self { ranges: ranges.collect(), next: 0 }
    }

    /// The next pairs, `None` at the end. `row_at` returns the build row at a position. Probe rows for which `settled` is true
    /// are skipped, and so are pairs whose build row is `unwanted`. The vector may therefore be empty.
    pub(crate) fn next(
        &mut self,
        row_at: impl Fn(u32) -> u32,
        settled: impl Fn(u32) -> bool,
        unwanted: impl Fn(u32) -> bool,
    ) -> Option<Pairs> {
        if self.next == self.ranges.len() {
            return None;
        }
        let mut pairs =
            Pairs { probe_rows: Vec::with_capacity(VECTOR_ROWS), build_rows: Vec::with_capacity(VECTOR_ROWS) };
        while let Some(range) = self.ranges.get_mut(self.next) {
            if settled(range.probe_row) {
                self.next += 1;
                continue;
            }
            let room = (VECTOR_ROWS - pairs.build_rows.len()) as u32;
            let end = range.end.min(range.start.saturating_add(room));
            for place in range.start..end {
                let row = row_at(place);
                if !unwanted(row) {
                    pairs.probe_rows.push(range.probe_row);
                    pairs.build_rows.push(row);
                }
            }
            range.start = end;
            if range.start < range.end {
                break;
            }
            self.next += 1;
        }
        Some(pairs)
    }
}

impl Pairs {
    /// Each row with its group, where each group has one row.
    pub(crate) fn of_unique(groups: &[u32]) -> Self {
        let (mut probe_rows, mut build_rows) = (vec![0; groups.len()], vec![0; groups.len()]);
        let mut count = 0;
        for (at, group) in groups.iter().enumerate() {
            probe_rows[count] = at as u32;
            build_rows[count] = *group;
            count += usize::from(*group != NO_ROW);
        }
        probe_rows.truncate(count);
        build_rows.truncate(count);
        Self { probe_rows, build_rows }
    }
}
