//! The order of joins in common tables, and what is thought of their rows.

use braid_exec::plan::{CteId, Plan};

use super::estimate::Estimate;
use super::join_ordering::{Ordering, unknown};

impl Ordering<'_> {
    /// A plan that reads a common table. Its scans have the rows of the definition.
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> (Plan, Estimate) {
        let (definition, of_definition) = self.plan(definition);
        let explodes = of_definition.explodes;
        let around = self.tables.borrow_mut().insert(cte, of_definition);
        let (body, mut estimate) = self.plan(body);
        if let Some(around) = around {
            self.tables.borrow_mut().insert(cte, around);
        }
        estimate.explodes |= explodes;
        (Plan::With { cte, definition: definition.into(), body: body.into() }, estimate)
    }

    pub(super) fn of_table_scan(&self, cte: CteId, column_count: usize) -> Estimate {
        let known = self.tables.borrow().get(&cte).cloned();
        // What explodes is counted where the rows are made.
        known.map_or_else(|| unknown(column_count), |estimate| Estimate { explodes: false, ..estimate })
    }
}
