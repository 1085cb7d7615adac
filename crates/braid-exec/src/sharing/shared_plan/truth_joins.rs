//! Joins whose mark is the value of a condition ([`JoinKind::ProbeTruth`](crate::plan::JoinKind::ProbeTruth)), where partners depend on the
//! query.
//!
//! The rows of both sides are those of each query by itself, and the query is one more key, so that the join is one for a single query. What
//! the condition knows of the query are further columns of the sides: parameters, and texts that match a pattern of the query.

use std::sync::Arc;

use super::{Shared, Sharing, Side, has_parameters};
use crate::plan::{JoinCondition, Plan};
use crate::sharing::apart_step::ApartStep;
use crate::{ExecError, Expression};

/// Numbers that stand for the columns of a condition that depend on the query, until all of these are known.
const OF_PROBE: usize = 1 << 30;
const OF_BUILD: usize = 1 << 31;

/// The columns of the sides that depend on the query.
#[derive(Default)]
struct OwnColumns {
    probe: Vec<Expression>,
    build: Vec<Expression>,
}

impl Sharing<'_> {
    /// The join of these sides. `condition` is that of sides without sets.
    pub(super) fn truth_join(&self, build: Side, probe: Side, condition: &JoinCondition) -> Result<Shared, ExecError> {
        let (probe_count, build_count) = (probe.count, build.count);
        let (mut condition, mut own) = (condition.clone(), OwnColumns::default());
        if let Some(residual) = &mut condition.residual {
            own.take(residual, probe_count)?;
        }
        let set = probe_count + own.probe.len();
        let place = |column: usize| match column {
            OF_BUILD.. => set + 1 + build_count + (column - OF_BUILD),
            OF_PROBE.. => probe_count + (column - OF_PROBE),
            _ if column < probe_count => column,
            _ => set + 1 + (column - probe_count),
        };
        condition.residual.iter_mut().for_each(|residual| residual.map_columns(&mut { place }));
        condition.probe_keys.push(set);
        condition.build_keys.push(build_count + own.build.len());
        let probe = self.apart(self.with_columns(self.with_set(probe.shared), own.probe)?)?;
        let build = self.apart(self.with_columns(self.with_set(build.shared), own.build)?)?;
        let joined = Plan::join(build.plan, probe.plan, condition);
        let expressions = (0..probe_count).chain([set + 1, set]).map(Expression::Column).collect();
        let plan = Plan::Project { input: joined.into(), expressions };
        Ok(Shared { plan, set: Some(probe_count + 1) })
    }

    /// The rows of each query by themselves. They have sets.
    pub(super) fn apart(&self, Shared { plan, set }: Shared) -> Result<Shared, ExecError> {
        assert_eq!(set, plan.column_count().checked_sub(1), "the set is the last column");
        let step = ApartStep::new(self.store(), plan.column_count())?;
        Ok(self.step(plan, Arc::new(step)))
    }

    /// Rows with sets, and further columns before the set.
    fn with_columns(&self, shared: Shared, added: Vec<Expression>) -> Result<Shared, ExecError> {
        let Some(set) = shared.set.filter(|_| !added.is_empty()) else { return Ok(shared) };
        let columns: Vec<Expression> = (0..set).map(Expression::Column).chain(added).collect();
        self.project(shared, &columns)
    }
}

impl OwnColumns {
    /// Takes what depends on the query out of a condition on pairs, and puts columns in its place. Patterns of LIKE must be constants when
    /// they are searched for, so that these searches are columns as a whole.
    fn take(&mut self, part: &mut Expression, probe_count: usize) -> Result<(), ExecError> {
        match part {
            Expression::Parameter(_) => {
                *part = of_probe(&mut self.probe, part.clone());
                Ok(())
            }
            Expression::Like { pattern, .. } if has_parameters(pattern) => self.take_search(part, probe_count),
            _ => part.children_mut().into_iter().try_for_each(|part| self.take(part, probe_count)),
        }
    }

    fn take_search(&mut self, search: &mut Expression, probe_count: usize) -> Result<(), ExecError> {
        let mut columns = Vec::new();
        search.columns(&mut columns);
        if columns.iter().all(|column| *column < probe_count) {
            *search = of_probe(&mut self.probe, search.clone());
            return Ok(());
        }
        if columns.iter().any(|column| *column < probe_count) {
            return Err(ExecError::Foreign("queries cannot share marks of patterns that depend on the query".into()));
        }
        let place = OF_BUILD + self.build.len();
        let mut taken = std::mem::replace(search, Expression::Column(place));
        taken.map_columns(&mut |column| column - probe_count);
        self.build.push(taken);
        Ok(())
    }
}

fn of_probe(columns: &mut Vec<Expression>, expression: Expression) -> Expression {
    columns.push(expression);
    Expression::Column(OF_PROBE + columns.len() - 1)
}
