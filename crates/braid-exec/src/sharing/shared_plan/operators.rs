//! The operators with one input that queries share. Where rows have no sets, they are those of one query.
//!
//! Rows that an operator repeats keep their set. Operators whose rows depend on other rows of the same query have a shared form.

use std::sync::Arc;

use super::{Shared, Sharing};
use crate::plan::shared_operator::SharedOperator;
use crate::plan::{AggregationSpec, ForeignCall, Plan, SortSpec, WindowSpec};
use crate::runtime::expand::ColumnLists;
use crate::runtime::peers::KeptPeers;
use crate::runtime::set_functions::SetFunctionCall;
use crate::{ExecError, Expression};

impl Sharing<'_> {
    /// An operator above a plan: `common` for rows without sets, `shared` for rows with sets in a column.
    fn above(
        &self,
        input: &Plan,
        common: impl FnOnce(Box<Plan>) -> Plan,
        shared: impl FnOnce(Plan, usize) -> Result<Shared, ExecError>,
    ) -> Result<Shared, ExecError> {
        match self.plan(input)? {
            Shared { plan, set: None } => Ok(Shared { plan: common(plan.into()), set: None }),
            Shared { plan, set: Some(column) } => shared(plan, column),
        }
    }

    pub(super) fn aggregate(&self, input: &Plan, spec: &Arc<AggregationSpec>) -> Result<Shared, ExecError> {
        let common = |input| Plan::Aggregate { input, spec: spec.clone() };
        self.above(input, common, |input, set| {
            let (spec, sets) = (spec.clone(), self.set_column(set));
            Ok(self.shared(SharedOperator::Aggregate { input, spec, sets }))
        })
    }

    /// Groups with foreign aggregates. The states of a key's sets are merged into those of its atoms, as the states of several workers are.
    pub(super) fn accumulate(
        &self,
        input: &Plan,
        spec: &Arc<AggregationSpec>,
        foreign: &Arc<[ForeignCall]>,
    ) -> Result<Shared, ExecError> {
        let common = |input| Plan::Accumulate { input, spec: spec.clone(), foreign: foreign.clone() };
        self.above(input, common, |input, set| {
            let (spec, foreign, sets) = (spec.clone(), foreign.clone(), self.set_column(set));
            Ok(self.shared(SharedOperator::Accumulate { input, spec, foreign, sets }))
        })
    }

    pub(super) fn window(&self, input: &Plan, spec: &Arc<WindowSpec>) -> Result<Shared, ExecError> {
        let common = |input| Plan::Window { input, spec: spec.clone() };
        self.above(input, common, |input, set| {
            let operator = SharedOperator::Window { input, spec: spec.clone(), sets: self.set_column(set) };
            Ok(with_set_last(Plan::Shared(Box::new(operator)), set))
        })
    }

    pub(super) fn expand(&self, input: &Plan, lists: &ColumnLists) -> Result<Shared, ExecError> {
        let common = |input| Plan::Expand { input, lists: lists.clone() };
        self.above(input, common, |input, set| {
            let place = lists.first().map_or(0, Vec::len);
            let lists = lists.iter().map(|list| list.iter().copied().chain([Some(set)]).collect()).collect();
            Ok(with_set_last(Plan::Expand { input: input.into(), lists }, place))
        })
    }

    pub(super) fn project_set(&self, input: &Plan, call: &Arc<SetFunctionCall>) -> Result<Shared, ExecError> {
        let common = |input| Plan::ProjectSet { input, call: call.clone() };
        self.above(input, common, |input, set| {
            Ok(with_set_last(Plan::ProjectSet { input: input.into(), call: call.clone() }, set))
        })
    }

    /// DISTINCT ON and WITH TIES. The rows of all queries together must be in order, so that peers are neighbours.
    pub(super) fn peers(&self, input: &Plan, keys: &[usize], kept: KeptPeers) -> Result<Shared, ExecError> {
        let common = |input| Plan::Peers { input, keys: keys.to_vec(), kept };
        self.above(input, common, |input, set| {
            if !are_in_one_order(&input) {
                return Err(ExecError::Foreign("queries cannot share peers of rows in several orders".into()));
            }
            let (keys, sets) = (keys.to_vec(), self.set_column(set));
            Ok(self.shared(SharedOperator::Peers { input, keys, kept, sets }))
        })
    }

    pub(super) fn sort(&self, input: &Plan, spec: &Arc<SortSpec>) -> Result<Shared, ExecError> {
        let common = |input| Plan::Sort { input, spec: spec.clone() };
        self.above(input, common, |input, set| {
            Ok(match spec.limit {
                None => Shared { plan: common(input.into()), set: Some(set) },
                Some(_) => {
                    let (spec, sets) = (spec.clone(), self.set_column(set));
                    self.shared(SharedOperator::Sort { input, spec, sets })
                }
            })
        })
    }

    pub(super) fn limit(&self, input: &Plan, (offset, limit): (u64, Option<u64>)) -> Result<Shared, ExecError> {
        let common = |input| Plan::Limit { input, offset, limit };
        self.above(input, common, |input, set| {
            Ok(self.shared(SharedOperator::Limit { input, offset, limit, sets: self.set_column(set) }))
        })
    }
}

/// The rows of a plan with the set, which is in this column, behind all others.
pub(super) fn with_set_last(plan: Plan, set: usize) -> Shared {
    let others = (0..plan.column_count()).filter(|column| *column != set);
    let expressions: Vec<Expression> = others.chain([set]).map(Expression::Column).collect();
    let set = Some(expressions.len() - 1);
    Shared { plan: Plan::Project { input: plan.into(), expressions }, set }
}

/// Whether rows come in the order of a sort, those of different queries included. A projection with variants returns the rows of one variant
/// after the other.
fn are_in_one_order(plan: &Plan) -> bool {
    match plan {
        Plan::Sort { .. } => true,
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::ProjectSet { input, .. }
        | Plan::Limit { input, .. } => are_in_one_order(input),
        Plan::Shared(operator) => match &**operator {
            SharedOperator::Sort { .. } => true,
            SharedOperator::Step { input, step } => step.keeps_order() && are_in_one_order(input),
            SharedOperator::Limit { input, .. } | SharedOperator::Peers { input, .. } => are_in_one_order(input),
            _ => false,
        },
        _ => false,
    }
}
