//! The requirements on a plan's rows, which are passed down to the sources.

use crate::runtime::pipeline::RowFilter;

/// The requirements on a plan's rows.
#[derive(Clone)]
pub(super) struct Wanted {
    /// Whether each column is read.
    pub(super) columns: Vec<bool>,
    /// Key filters. Rows that they exclude need not be produced.
    pub(super) filters: Vec<RowFilter>,
    /// Whether the consumer is a join that may be reordered with the joins directly below it.
    pub(super) is_among_joins: bool,
    /// Whether the consumer of the rows can restart.
    pub(super) may_restart: bool,
}

impl Wanted {
    /// Requires these columns of all rows.
    pub(super) fn columns(columns: Vec<bool>) -> Self {
        Self { columns, filters: Vec::new(), is_among_joins: false, may_restart: false }
    }

    /// The requirements on the input of an operator that reads these columns. `origin` returns the input column of one of the
    /// operator's columns.
    pub(super) fn of_input(&self, columns: Vec<bool>, from: impl Fn(usize) -> Option<usize>) -> Self {
        let below = |filter: &RowFilter| {
            let columns: Option<Vec<usize>> = filter.columns.iter().map(|column| from(*column)).collect();
            Some(RowFilter { columns: columns?, keys: filter.keys.clone() })
        };
        let filters = self.filters.iter().filter_map(below).collect();
        Self { columns, filters, is_among_joins: false, may_restart: self.may_restart }
    }

    /// The same requirements on rows that are not the result of a join directly below.
    pub(super) fn apart(self) -> Self {
        Self { is_among_joins: false, ..self }
    }

    /// The requirements on rows that are replaced by nulls if they are missing. A filter that accepts nulls is removed, because
    /// it would accept the nulls that it has caused.
    pub(super) fn where_missing_is_null(mut self) -> Self {
        self.filters.retain(|filter| filter.keys.drops_nulls());
        self
    }
}
