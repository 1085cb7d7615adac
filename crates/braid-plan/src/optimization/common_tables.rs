//! The order of joins in common tables, and what is thought of their rows.

use braid_exec::plan::{CteId, Plan, RecursionSpec};

use super::estimate::Estimate;
use super::join_ordering::{Ordering, unknown};

/// Assumed steps of a recursion, as PostgreSQL assumes: most recursions follow a hierarchy of a few levels, and the right order of a join
/// with some times the rows of the start is the right one for other counts, too.
const STEPS: f64 = 10.0;

impl Ordering<'_> {
    /// A plan that reads a common table. Its scans have the rows of the definition.
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> (Plan, Estimate) {
        let (definition, of_definition) = self.plan(definition);
        let explodes = of_definition.explodes;
        let (body, mut estimate) = self.with_rows(cte, of_definition, body);
        estimate.explodes |= explodes;
        (Plan::With { cte, definition: definition.into(), body: body.into() }, estimate)
    }

    /// A plan that reads a recursion. A step is thought to read as many rows as the start makes.
    pub(super) fn with_recursion(
        &self,
        spec: &RecursionSpec,
        [start, step]: [&Plan; 2],
        body: &Plan,
    ) -> (Plan, Estimate) {
        let RecursionSpec { cte, column_count, .. } = *spec;
        let (start, mut of_all) = self.plan(start);
        of_all.distinct.truncate(column_count);
        let (step, of_step) = self.with_rows(cte, of_all.clone(), step);
        let explodes = of_all.explodes || of_step.explodes;
        of_all.rows += STEPS * of_step.rows;
        for (distinct, of_step) in of_all.distinct.iter_mut().zip(&of_step.distinct) {
            *distinct += STEPS * of_step;
        }
        let (body, mut estimate) = self.with_rows(cte, of_all, body);
        estimate.explodes |= explodes;
        (Plan::Recursion { spec: spec.clone(), start: start.into(), step: step.into(), body: body.into() }, estimate)
    }

    /// A plan whose scans of a common table return these rows.
    fn with_rows(&self, cte: CteId, rows: Estimate, plan: &Plan) -> (Plan, Estimate) {
        let around = self.tables.borrow_mut().insert(cte, rows);
        let planned = self.plan(plan);
        if let Some(around) = around {
            self.tables.borrow_mut().insert(cte, around);
        }
        planned
    }

    pub(super) fn of_table_scan(&self, cte: CteId, column_count: usize) -> Estimate {
        let known = self.tables.borrow().get(&cte).cloned();
        // What explodes is counted where the rows are made.
        known.map_or_else(|| unknown(column_count), |estimate| Estimate { explodes: false, ..estimate })
    }
}
