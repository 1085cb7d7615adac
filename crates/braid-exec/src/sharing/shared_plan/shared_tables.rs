//! Common tables of queries that share a plan. If the rows of a common table belong to some queries only, they are kept with their sets,
//! which its scans return.

use super::{Shared, Sharing};
use crate::ExecError;
use crate::plan::{CteId, Plan};

impl Sharing<'_> {
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> Result<Shared, ExecError> {
        let definition = self.plan(definition)?;
        // A plan may contain another table of the same number further down.
        let around = self.tables.borrow_mut().insert(cte, definition.set.is_some());
        let body = self.plan(body);
        let mut tables = self.tables.borrow_mut();
        match around {
            Some(has_set) => tables.insert(cte, has_set),
            None => tables.remove(&cte),
        };
        let Shared { plan, set } = body?;
        Ok(Shared { plan: Plan::With { cte, definition: definition.plan.into(), body: plan.into() }, set })
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
