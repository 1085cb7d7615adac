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

/// A recursion: the rows of its start, and those that its step makes of the rows of the step before, again and again until it makes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecursionSpec {
    /// Its number. A scan of it in the step returns the rows of the step before, one in the body all rows.
    pub cte: CteId,
    /// Number of columns that scans return: the first ones of the start's and the step's.
    pub column_count: usize,
    /// UNION instead of UNION ALL: rows that equal an earlier one in these columns of the start and of the step are dropped.
    pub distinct_by: Option<Vec<usize>>,
}

impl fmt::Display for RecursionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cte)?;
        let Some(keys) = &self.distinct_by else { return Ok(()) };
        let keys: Vec<String> = keys.iter().map(|key| format!("#{key}")).collect();
        write!(f, ", distinct by {}", keys.join(", "))
    }
}

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
                SharedOperator::Step { input, .. } => input.is_in_order(is_sorted),
                SharedOperator::Sort { .. } | SharedOperator::Limit { .. } => true,
                SharedOperator::Join { .. } | SharedOperator::Aggregate { .. } => false,
            },
            _ => false,
        }
    }
}
