//! The scans of common tables in a plan.

use super::{CteId, Plan, SharedOperator};

impl Plan {
    /// How often it scans a common table. A scan in the step of a recursion counts as several, because it is repeated.
    pub(crate) fn scan_count(&self, wanted: CteId) -> usize {
        match self {
            Self::CteScan { cte, .. } => usize::from(*cte == wanted),
            // Another table of the same number.
            Self::With { cte, definition, .. } if *cte == wanted => definition.scan_count(wanted),
            Self::Recursion { spec, start, .. } if spec.cte == wanted => start.scan_count(wanted),
            Self::Recursion { start, step, body, .. } => {
                start.scan_count(wanted) + 2 * step.scan_count(wanted) + body.scan_count(wanted)
            }
            other => other.inputs().into_iter().map(|input| input.scan_count(wanted)).sum(),
        }
    }

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
            Self::Recursion { spec, body, .. } => body.is_in_order(&|other| other != spec.cte && is_sorted(other)),
            Self::CteScan { cte, .. } => is_sorted(*cte),
            Self::Shared(operator) => match &**operator {
                SharedOperator::Step { input, .. } | SharedOperator::Scalars { input, .. } => {
                    input.is_in_order(is_sorted)
                }
                SharedOperator::Sort { .. } | SharedOperator::Limit { .. } | SharedOperator::Peers { .. } => true,
                _ => false,
            },
            _ => false,
        }
    }
}
