//! Common tables of queries that share a plan. If the rows of a common table belong to some queries only, they are kept with their sets,
//! which its scans return. So are the rows of a recursion between two steps.

use super::{Shared, Sharing};
use crate::plan::{CteId, Plan, RecursionSpec};
use crate::{ExecError, Expression};

impl Sharing<'_> {
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> Result<Shared, ExecError> {
        let definition = self.plan(definition)?;
        let Shared { plan, set } = self.body(cte, definition.set.is_some(), body)?;
        Ok(Shared { plan: Plan::With { cte, definition: definition.plan.into(), body: plan.into() }, set })
    }

    /// A recursion. If its rows depend on the query, each step makes those of all queries that have not ended.
    pub(super) fn with_recursion(
        &self,
        spec: &RecursionSpec,
        [start, step]: [&Plan; 2],
        body: &Plan,
    ) -> Result<Shared, ExecError> {
        let (start, common_step) = (self.plan(start)?, self.body(spec.cte, false, step)?);
        if start.set.is_none() && common_step.set.is_none() {
            let Shared { plan, set } = self.body(spec.cte, false, body)?;
            let (start, step) = (start.plan.into(), common_step.plan.into());
            return Ok(Shared { plan: Plan::Recursion { spec: spec.clone(), start, step, body: plan.into() }, set });
        }
        if has_constant_scalars(step, spec.cte) {
            return Err(ExecError::Foreign(
                "queries cannot share recursions whose steps have scalar subqueries".into(),
            ));
        }
        let start = self.recursive_rows(start, spec)?.into();
        let step = self.recursive_rows(self.body(spec.cte, true, step)?, spec)?.into();
        let Shared { plan, set } = self.body(spec.cte, true, body)?;
        let body = plan.into();
        Ok(Shared { plan: Plan::Recursion { spec: with_sets(spec), start, step, body }, set })
    }

    /// Rows of a recursion with the set behind the columns that scans return. Equal rows come once for each query, and are compared with
    /// those of the query alone.
    fn recursive_rows(&self, shared: Shared, spec: &RecursionSpec) -> Result<Plan, ExecError> {
        let shared = self.with_set(shared);
        let Shared { plan, set } = match spec.distinct_by {
            Some(_) => self.apart(shared)?,
            None => self.of_left_queries(shared),
        };
        let columns = (0..plan.column_count()).filter(|column| Some(*column) != set);
        let mut expressions: Vec<Expression> = columns.map(Expression::Column).collect();
        set.iter().for_each(|set| expressions.insert(spec.column_count, Expression::Column(*set)));
        Ok(Plan::Project { input: plan.into(), expressions })
    }

    /// What reads a common table, whose rows may have sets.
    fn body(&self, cte: CteId, has_set: bool, body: &Plan) -> Result<Shared, ExecError> {
        // A plan may contain another table of the same number further down.
        let around = self.tables.borrow_mut().insert(cte, has_set);
        let body = self.plan(body);
        let mut tables = self.tables.borrow_mut();
        match around {
            Some(has_set) => tables.insert(cte, has_set),
            None => tables.remove(&cte),
        };
        body
    }

    /// Whether a plan scans a common table whose rows have sets.
    pub(super) fn scans_sets(&self, plan: &Plan) -> bool {
        let is_scan = matches!(plan, Plan::CteScan { cte, .. } if self.tables.borrow().get(cte) == Some(&true));
        is_scan || plan.inputs().into_iter().any(|input| self.scans_sets(input))
    }

    pub(super) fn table_scan(&self, cte: CteId, column_count: usize) -> Shared {
        let has_set = self.tables.borrow().get(&cte).copied().unwrap_or(false);
        let plan = Plan::CteScan { cte, column_count: column_count + usize::from(has_set) };
        Shared { plan, set: has_set.then_some(column_count) }
    }
}

/// The recursion of rows with sets.
fn with_sets(spec: &RecursionSpec) -> RecursionSpec {
    let set = spec.column_count;
    let place = |column: &usize| if *column < set { *column } else { column + 1 };
    let keys = |keys: &Vec<usize>| keys.iter().map(place).chain([set]).collect();
    RecursionSpec { cte: spec.cte, column_count: set + 1, distinct_by: spec.distinct_by.as_ref().map(keys) }
}

/// Whether a step has scalar subqueries that do not read the recursion, and which are therefore computed once for all steps.
fn has_constant_scalars(step: &Plan, cte: CteId) -> bool {
    let are_constant = |subqueries: &[Plan]| subqueries.iter().all(|subquery| subquery.scan_count(cte) == 0);
    matches!(step, Plan::WithScalars { subqueries, .. } if are_constant(subqueries))
}
