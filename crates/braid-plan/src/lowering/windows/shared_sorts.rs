//! Windows that share a sort: those of a chain that have the same partitions, and whose orders are prefixes of one order.
//!
//! Windows only add columns, so that those that do not read each other's columns are computed in any order. Kohn, Leis, Neumann, "Building Advanced SQL
//! Analytics From Low-Level Plan Operators" (SIGMOD 2021) shares sorts among aggregates and windows; here only windows do.

use std::collections::BTreeSet;

use braid_sql::Expression;
use braid_sql::relation::{ColumnId, Relation, SortKey, Windowing};

/// Windows over one sort.
pub(super) struct SortedWindows<'a> {
    pub partition_by: &'a [Expression],
    /// The longest order.
    pub order_by: &'a [SortKey],
    pub windowings: Vec<&'a Windowing>,
}

/// The input of a chain of windows, and these in the order in which they are computed.
pub(super) fn sorted_windows(last: &Windowing) -> (&Relation, Vec<SortedWindows<'_>>) {
    let mut chain = vec![last];
    while let Some(Relation::Window(below)) = chain.last().map(|windowing| &windowing.input) {
        chain.push(below);
    }
    let input = chain.last().map_or(&last.input, |first| &first.input);
    let (mut all, mut made): (Vec<SortedWindows<'_>>, BTreeSet<ColumnId>) = (Vec::new(), BTreeSet::new());
    for windowing in chain.into_iter().rev() {
        let is_apart = is_volatile(windowing) || reads(windowing, &made);
        let shared = all.iter_mut().find(|sorted| !is_apart && sorted.has_sort_of(windowing));
        match shared {
            Some(sorted) => sorted.add(windowing),
            None => all.push(SortedWindows::of(windowing)),
        }
        made.extend(windowing.calls.iter().map(|(column, _)| *column));
    }
    (input, all)
}

impl<'a> SortedWindows<'a> {
    fn of(windowing: &'a Windowing) -> Self {
        let (partition_by, order_by) = (&windowing.partition_by[..], &windowing.order_by[..]);
        Self { partition_by, order_by, windowings: vec![windowing] }
    }

    fn add(&mut self, windowing: &'a Windowing) {
        if windowing.order_by.len() > self.order_by.len() {
            self.order_by = &windowing.order_by;
        }
        self.windowings.push(windowing);
    }

    /// Whether the rows are sorted for a window, too, or are if its longer order is theirs.
    fn has_sort_of(&self, windowing: &Windowing) -> bool {
        let is_each_among = |some: &[Expression], others: &[Expression]| some.iter().all(|key| others.contains(key));
        let common = self.order_by.len().min(windowing.order_by.len());
        !self.windowings.iter().any(|own| is_volatile(own))
            && is_each_among(self.partition_by, &windowing.partition_by)
            && is_each_among(&windowing.partition_by, self.partition_by)
            && self.order_by[..common] == windowing.order_by[..common]
    }
}

fn keys(windowing: &Windowing) -> impl Iterator<Item = &Expression> {
    windowing.partition_by.iter().chain(windowing.order_by.iter().map(|key| &key.expression))
}

/// Whether its keys differ each time they are computed.
fn is_volatile(windowing: &Windowing) -> bool {
    keys(windowing).any(Expression::is_volatile)
}

/// Whether a window reads one of these columns.
fn reads(windowing: &Windowing, columns: &BTreeSet<ColumnId>) -> bool {
    let of_calls = windowing.calls.iter().flat_map(|(_, call)| call.arguments.iter().chain(&call.filter));
    keys(windowing).chain(of_calls).any(|read| !read.free_columns().is_disjoint(columns))
}
