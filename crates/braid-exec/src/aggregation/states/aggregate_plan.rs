//! The plan of a query's states, which several aggregates may share.
//!
//! Aggregates of the same rows (all, or those of one filter, or the distinct values of one argument) share a count of
//! these rows; those of the same argument share its sum, its extremes and its nulls. `sum(x)`, `avg(x)` and `count(x)`
//! cost one addition a row.

use super::foreign_groups::ForeignCalls;
use crate::plan::{AggregateCall, AggregateFunction, AggregationSpec};
use crate::tuning::AggregationTuning;

/// The states, and the source of each aggregate's result.
#[derive(Debug)]
pub(crate) struct AggregatePlan {
    pub(crate) inputs: Vec<InputPlan>,
    pub(crate) results: Vec<ResultPlan>,
    /// Calls whose states another crate keeps.
    pub(crate) foreign: ForeignCalls,
    unused_bytes_min: usize,
}

/// A set of rows, with a count and the states of arguments.
#[derive(Debug)]
pub(crate) struct InputPlan {
    /// A filter: only rows for which this column is true.
    pub(crate) filter: Option<usize>,
    /// DISTINCT: only one row of each group for each value of the argument.
    pub(crate) distinct: bool,
    pub(crate) arguments: Vec<ArgumentPlan>,
}

/// The states of an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgumentPlan {
    pub(crate) column: usize,
    pub(crate) sum: bool,
    pub(crate) least: bool,
    pub(crate) greatest: bool,
    /// Replaced strings are given up from this many bytes on.
    pub(crate) unused_bytes_min: usize,
}

/// The source of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultPlan {
    pub(crate) function: AggregateFunction,
    pub(crate) input: usize,
    /// Position among the input's arguments.
    pub(crate) argument: usize,
}

impl ArgumentPlan {
    fn nothing(column: usize, unused_bytes_min: usize) -> Self {
        Self { column, sum: false, least: false, greatest: false, unused_bytes_min }
    }
}

impl AggregatePlan {
    /// The plan of a query. Panics when an aggregate lacks an argument that it needs.
    pub(crate) fn new(spec: &AggregationSpec, foreign: ForeignCalls, tuning: AggregationTuning) -> Self {
        let unused_bytes_min = tuning.unused_bytes_min;
        let mut plan = Self { inputs: Vec::new(), results: Vec::new(), foreign, unused_bytes_min };
        for call in &spec.aggregates {
            let result = plan.add(call);
            plan.results.push(result);
        }
        plan
    }

    fn add(&mut self, call: &AggregateCall) -> ResultPlan {
        use AggregateFunction as F;
        let function = call.function;
        let extreme = matches!(function, F::Minimum | F::Maximum | F::BoolAnd | F::BoolOr);
        if function == F::CountRows {
            return ResultPlan { function, input: self.input(call.filter, None), argument: 0 };
        }
        let column = call.argument.expect("the plan gives an argument to each aggregate but a count of rows");
        // An extreme of the distinct values is the extreme of all values.
        let input = self.input(call.filter, (call.distinct && !extreme).then_some(column));
        let unused_bytes_min = self.unused_bytes_min;
        let arguments = &mut self.inputs[input].arguments;
        let argument = arguments.iter().position(|argument| argument.column == column).unwrap_or_else(|| {
            arguments.push(ArgumentPlan::nothing(column, unused_bytes_min));
            arguments.len() - 1
        });
        let needs = &mut arguments[argument];
        needs.sum |= matches!(function, F::Sum | F::Average(_));
        needs.least |= matches!(function, F::Minimum | F::BoolAnd);
        needs.greatest |= matches!(function, F::Maximum | F::BoolOr);
        ResultPlan { function, input, argument }
    }

    /// The input of these rows, added if it is missing.
    fn input(&mut self, filter: Option<usize>, distinct: Option<usize>) -> usize {
        let same = |input: &InputPlan| {
            let values_of = input.distinct.then(|| input.arguments[0].column);
            input.filter == filter && values_of == distinct
        };
        self.inputs.iter().position(same).unwrap_or_else(|| {
            let argument = |column| ArgumentPlan::nothing(column, self.unused_bytes_min);
            let arguments = distinct.into_iter().map(argument).collect();
            self.inputs.push(InputPlan { filter, distinct: distinct.is_some(), arguments });
            self.inputs.len() - 1
        })
    }
}
