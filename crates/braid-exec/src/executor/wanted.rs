//! What is asked of a plan's rows, on the way down to where they come from.

use crate::runtime::pipeline::RowFilter;

/// What is asked of a plan's rows.
#[derive(Clone)]
pub(super) struct Wanted {
    /// By column, whether anybody reads it.
    pub(super) columns: Vec<bool>,
    /// Rows that these do not let through are of no use to anybody, and need not be produced.
    pub(super) filters: Vec<RowFilter>,
    /// Whether they are for a join that may be reordered with those right below it.
    pub(super) is_among_joins: bool,
    /// Whether they are collected by somebody who can begin anew.
    pub(super) may_begin_anew: bool,
}

impl Wanted {
    /// These columns of all rows.
    pub(super) fn columns(columns: Vec<bool>) -> Self {
        Self { columns, filters: Vec::new(), is_among_joins: false, may_begin_anew: false }
    }

    /// What is asked of the input of an operator that reads these columns of it, given where each of the operator's own
    /// columns comes from.
    pub(super) fn of_input(&self, columns: Vec<bool>, from: impl Fn(usize) -> Option<usize>) -> Self {
        let below = |filter: &RowFilter| {
            let columns: Option<Vec<usize>> = filter.columns.iter().map(|column| from(*column)).collect();
            Some(RowFilter { columns: columns?, keys: filter.keys.clone() })
        };
        let filters = self.filters.iter().filter_map(below).collect();
        Self { columns, filters, is_among_joins: false, may_begin_anew: self.may_begin_anew }
    }

    /// The same of rows that do not come from a join right below.
    pub(super) fn apart(self) -> Self {
        Self { is_among_joins: false, ..self }
    }

    /// What is asked of rows in whose place others get nulls when they are missing: a filter that lets nulls through
    /// would let those through that it has caused itself.
    pub(super) fn where_missing_is_null(mut self) -> Self {
        self.filters.retain(|filter| filter.keys.drops_nulls());
        self
    }
}
