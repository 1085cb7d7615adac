//! Common tables of queries that share a plan. If the rows of a common table belong to some queries only, they are kept with their sets,
//! which its scans return.

use super::{Shared, Sharing};
use crate::ExecError;
use crate::plan::{CteId, Plan, RecursionSpec};

impl Sharing<'_> {
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> Result<Shared, ExecError> {
        let definition = self.plan(definition)?;
        let Shared { plan, set } = self.body(cte, definition.set.is_some(), body)?;
        Ok(Shared { plan: Plan::With { cte, definition: definition.plan.into(), body: plan.into() }, set })
    }

    /// A recursion that is the same for all queries. The steps of several would end at different times.
    pub(super) fn with_recursion(
        &self,
        spec: &RecursionSpec,
        [start, step]: [&Plan; 2],
        body: &Plan,
    ) -> Result<Shared, ExecError> {
        if [start, step].into_iter().any(|part| part.has_parameters() || self.scans_sets(part)) {
            return Err(ExecError::Foreign("queries cannot share recursions that have parameters".into()));
        }
        let Shared { plan, set } = self.body(spec.cte, false, body)?;
        let (start, step) = (start.clone().into(), step.clone().into());
        Ok(Shared { plan: Plan::Recursion { spec: spec.clone(), start, step, body: plan.into() }, set })
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
