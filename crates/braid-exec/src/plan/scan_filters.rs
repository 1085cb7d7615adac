//! Filters directly above a source: conditions that the source can evaluate move into it.
//!
//! A scan evaluates predicates on encoded data and leaves out chunks by their zone maps. The planner of a statement gives
//! predicates to scans itself. A plan with parameters has its conditions above the scans until it is bound.

use std::sync::Arc;

use super::Plan;
use crate::Expression;
use crate::runtime::pipeline::Source;

impl Plan {
    /// The same plan, in which sources evaluate the conditions on one of their columns that they support. Shared operators
    /// stay as they are.
    #[must_use]
    pub fn with_filters_in_scans(mut self) -> Self {
        self.move_filters();
        self
    }

    fn move_filters(&mut self) {
        if let Self::Shared(_) = self {
            return;
        }
        self.inputs_mut().into_iter().for_each(Self::move_filters);
        let Self::Filter { input, condition } = self else { return };
        let Self::Source { source, column_count } = &**input else { return };
        let (source, kept) = moved(source.clone(), condition.conjuncts());
        let input = Self::Source { source, column_count: *column_count };
        *self = match Expression::all(kept) {
            Some(condition) => Self::Filter { input: input.into(), condition },
            None => input,
        };
    }
}

/// The source with the conditions that it supports, and the other conditions.
fn moved(mut source: Arc<dyn Source>, conditions: Vec<Expression>) -> (Arc<dyn Source>, Vec<Expression>) {
    let mut kept = Vec::new();
    for condition in conditions {
        let predicate = condition.as_column_predicate();
        match predicate.and_then(|(column, predicate)| source.with_predicate(column, predicate)) {
            Some(narrowed) => source = narrowed,
            None => kept.push(condition),
        }
    }
    (source, kept)
}
