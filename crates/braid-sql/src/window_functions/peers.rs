//! Peers: rows of a partition that ORDER BY does not tell apart. Without ORDER BY all rows are.

use std::ops::Range;

use crate::functions::SessionFacts;
use crate::functions::ordering::{SortKey, compare_rows};
use crate::{SqlError, Value};

/// The groups of peers of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// The group of each row.
    groups: Vec<usize>,
    /// Where each group begins, and the number of rows at the end.
    starts: Vec<usize>,
}

impl Peers {
    /// The groups of rows whose values of the keys are these; the rows are in their order.
    pub fn of(rows: &[Vec<Value>], keys: &[SortKey], session: &dyn SessionFacts) -> Result<Self, SqlError> {
        let mut peers = Self { groups: Vec::with_capacity(rows.len()), starts: Vec::new() };
        for (at, row) in rows.iter().enumerate() {
            let is_first = at == 0 || compare_rows(keys, &rows[at - 1], row, session)?.is_ne();
            if is_first {
                peers.starts.push(at);
            }
            peers.groups.push(peers.starts.len() - 1);
        }
        peers.starts.push(rows.len());
        Ok(peers)
    }

    /// The groups that begin at these rows, the first at row 0.
    pub fn beginning_at(first_rows: impl IntoIterator<Item = usize>, row_count: usize) -> Self {
        let mut starts: Vec<usize> = first_rows.into_iter().collect();
        starts.push(row_count);
        let of_group = |(group, rows): (usize, &[usize])| std::iter::repeat_n(group, rows[1] - rows[0]);
        let groups = starts.windows(2).enumerate().flat_map(of_group).collect();
        Self { groups, starts }
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.groups.len()
    }

    /// How many groups there are.
    pub fn group_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of a row's group, from 0.
    pub fn group_of(&self, row: usize) -> usize {
        self.groups[row]
    }

    /// The rows of a group.
    pub fn rows_of(&self, group: usize) -> Range<usize> {
        self.starts[group]..self.starts[group + 1]
    }

    /// The peers of a row, and the row itself.
    pub fn peers_of(&self, row: usize) -> Range<usize> {
        self.rows_of(self.group_of(row))
    }
}
