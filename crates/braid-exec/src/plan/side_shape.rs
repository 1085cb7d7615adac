//! The known properties of a join's side before it runs: whether it is a table, and the row counts of its tables.

use super::{JoinKind, Plan, SharedOperator};

/// The known properties of a side before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SideShape {
    /// Row count of the largest table that it reads; `None` if a source does not know its row count.
    pub(crate) table_rows_max: Option<u64>,
    /// Whether it consists of rows of one table, and therefore has at most as many rows as the table.
    pub(crate) is_chain: bool,
    /// Whether it visibly drops rows, by a filter or a predicate.
    pub(crate) is_narrowed: bool,
    /// Whether the order of its rows matters.
    pub(crate) is_ordered: bool,
}

impl SideShape {
    pub(crate) fn of(plan: &Plan) -> Self {
        let inner = |input: &Plan| Self { is_chain: false, ..Self::of(input) };
        match plan {
            Plan::Source { source, .. } => Self {
                table_rows_max: source.row_count_max(),
                is_chain: true,
                is_narrowed: source.is_narrowed(),
                is_ordered: false,
            },
            Plan::Filter { input, .. } => Self { is_narrowed: true, ..Self::of(input) },
            Plan::Project { input, .. } => Self::of(input),
            Plan::Join { build, probe, condition, .. } => Self::of_join(build, probe, condition.kind),
            Plan::Aggregate { input, .. } | Plan::Accumulate { input, .. } | Plan::Expand { input, .. } => {
                Self { is_ordered: false, ..inner(input) }
            }
            Plan::Window { input, spec } => Self { is_ordered: spec.partition_by.is_empty(), ..inner(input) },
            // It may have any number of rows.
            Plan::ProjectSet { input, .. } => Self { table_rows_max: None, ..inner(input) },
            Plan::Sort { input, .. } | Plan::Peers { input, .. } => Self { is_ordered: true, ..inner(input) },
            Plan::Limit { input, .. } | Plan::WithScalars { input, .. } => inner(input),
            Plan::Union(plans) => Self { is_ordered: false, ..Self::of_all(plans.iter().map(Self::of)) },
            Plan::With { body, .. } | Plan::Recursion { body, .. } => inner(body),
            Plan::CteScan { .. } => {
                Self { table_rows_max: None, is_chain: false, is_narrowed: false, is_ordered: false }
            }
            Plan::Shared(operator) => Self::of_shared(operator),
        }
    }

    fn of_shared(operator: &SharedOperator) -> Self {
        match operator {
            SharedOperator::Step { input, .. } => Self { is_chain: false, ..Self::of(input) },
            SharedOperator::Join { build, probe, condition, .. } => Self::of_join(build, probe, condition.kind),
            SharedOperator::Aggregate { input, .. } | SharedOperator::Accumulate { input, .. } => {
                Self { is_chain: false, is_ordered: false, ..Self::of(input) }
            }
            SharedOperator::Scalars { input, .. } => Self { is_chain: false, ..Self::of(input) },
            SharedOperator::Window { input, spec, .. } => {
                Self { is_chain: false, is_ordered: spec.partition_by.is_empty(), ..Self::of(input) }
            }
            SharedOperator::Peers { input, .. }
            | SharedOperator::Sort { input, .. }
            | SharedOperator::Limit { input, .. } => Self { is_chain: false, is_ordered: true, ..Self::of(input) },
        }
    }

    /// Looks at each side once: in a chain of joins, looking twice doubles the time at every join.
    fn of_join(build: &Plan, probe: &Plan, kind: JoinKind) -> Self {
        let (build, probe) = (Self::of(build), Self::of(probe));
        let is_ordered = kind.columns().probe && probe.is_ordered;
        Self { is_ordered, ..Self::of_all([build, probe].into_iter()) }
    }

    fn of_all(shapes: impl Iterator<Item = Self>) -> Self {
        let shapes: Vec<Self> = shapes.collect();
        let rows: Option<Vec<u64>> = shapes.iter().map(|shape| shape.table_rows_max).collect();
        let table_rows_max = rows.and_then(|rows| rows.into_iter().max());
        let is_narrowed = shapes.iter().any(|shape| shape.is_narrowed);
        Self { table_rows_max, is_chain: false, is_narrowed, is_ordered: false }
    }
}
