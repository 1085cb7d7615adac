//! Whether a value of a plan may be impossible to compute for some rows.

use super::{AggregateFunction, AggregationSpec, JoinKind, Plan};
use crate::Expression;

impl Plan {
    /// Whether some rows can make it fail: a number is out of range, a foreign expression fails, or a scalar subquery has
    /// several rows. Errors of memory and of the disk can happen to every plan.
    pub fn may_fail(&self) -> bool {
        let may_fail = match self {
            Self::Filter { condition, .. } => condition.may_fail(),
            Self::Project { expressions, .. } => expressions.iter().any(Expression::may_fail),
            Self::Join { condition, .. } => {
                condition.kind == JoinKind::ProbeSingle || condition.residual.as_ref().is_some_and(Expression::may_fail)
            }
            Self::Aggregate { spec, .. } => adds_up(spec),
            Self::Window { spec, .. } => spec.calls.iter().any(|call| call.function.may_fail()),
            // Of their parts, only the inputs are known; of foreign functions, nothing.
            Self::WithScalars { .. } | Self::Accumulate { .. } | Self::ProjectSet { .. } | Self::Shared(_) => true,
            Self::Source { .. }
            | Self::Expand { .. }
            | Self::Sort { .. }
            | Self::Peers { .. }
            | Self::Limit { .. }
            | Self::Union(_) => false,
            Self::With { .. } | Self::Recursion { .. } | Self::CteScan { .. } => false,
        };
        may_fail || self.inputs().into_iter().any(Self::may_fail)
    }
}

/// Whether a sum may be out of range.
fn adds_up(spec: &AggregationSpec) -> bool {
    use AggregateFunction as F;
    spec.aggregates.iter().any(|call| matches!(call.function, F::Sum | F::Average(_)))
}
