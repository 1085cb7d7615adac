//! Common tables: rows that a plan makes once and reads any number of times.

use std::fmt;

use super::{Plan, SharedOperator};

/// The number of a common table in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CteId(pub u32);

impl fmt::Display for CteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "common table {}", self.0)
    }
}

impl Plan {
    /// Whether the order of its rows matters: they are those of a sort, with operators above it that keep the order. `is_sorted` tells
    /// it of a common table.
    pub(crate) fn is_in_order(&self, is_sorted: &dyn Fn(CteId) -> bool) -> bool {
        match self {
            Self::Sort { .. } => true,
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Expand { input, .. }
            | Self::Limit { input, .. }
            | Self::WithScalars { input, .. } => input.is_in_order(is_sorted),
            Self::Join { probe, condition, .. } => condition.kind.columns().probe && probe.is_in_order(is_sorted),
            Self::With { cte, definition, body } => {
                let is_own_sorted = definition.is_in_order(is_sorted);
                body.is_in_order(&|other| if other == *cte { is_own_sorted } else { is_sorted(other) })
            }
            Self::CteScan { cte, .. } => is_sorted(*cte),
            Self::Shared(operator) => match &**operator {
                SharedOperator::Step { input, .. } => input.is_in_order(is_sorted),
                SharedOperator::Sort { .. } | SharedOperator::Limit { .. } => true,
                SharedOperator::Join { .. } | SharedOperator::Aggregate { .. } => false,
            },
            _ => false,
        }
    }
}
