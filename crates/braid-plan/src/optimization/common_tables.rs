//! The order of joins in common tables, and what is thought of their rows.

use braid_exec::plan::{CteId, Plan, RecursionSpec};

use super::estimate::{Estimate, TableEstimate};
use super::join_ordering::{Ordering, is_groups, unknown};

/// Assumed steps of a recursion, as PostgreSQL assumes: most recursions follow a hierarchy of a few levels, and the right order of a join
/// with some times the rows of the start is the right one for other counts, too.
const STEPS: f64 = 10.0;

impl Ordering<'_> {
    /// A plan that reads a common table. Its scans have the rows of the definition.
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> (Plan, Estimate) {
        let (definition, of_definition) = self.plan(definition);
        let explodes = of_definition.explodes;
        let is_groups = self.is_groups(&definition);
        let (body, mut estimate) = self.with_rows(cte, TableEstimate { rows: of_definition, is_groups }, body);
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
        let of_last = TableEstimate { rows: of_all.clone(), is_groups: false };
        let (step, of_step) = self.with_rows(cte, of_last, step);
        let explodes = of_all.explodes || of_step.explodes;
        of_all.rows += STEPS * of_step.rows;
        for (distinct, of_step) in of_all.distinct.iter_mut().zip(&of_step.distinct) {
            *distinct += STEPS * of_step;
        }
        let (body, mut estimate) = self.with_rows(cte, TableEstimate { rows: of_all, is_groups: false }, body);
        estimate.explodes |= explodes;
        (Plan::Recursion { spec: spec.clone(), start: start.into(), step: step.into(), body: body.into() }, estimate)
    }

    /// A plan whose scans of a common table return these rows.
    fn with_rows(&self, cte: CteId, rows: TableEstimate, plan: &Plan) -> (Plan, Estimate) {
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
        known.map_or_else(|| unknown(column_count), |known| Estimate { explodes: false, ..known.rows })
    }

    /// Whether a plan's rows are groups, which HAVING selects.
    pub(super) fn is_groups(&self, plan: &Plan) -> bool {
        match plan {
            Plan::Project { input, .. } => self.is_groups(input),
            Plan::CteScan { cte, .. } => self.tables.borrow().get(cte).is_some_and(|known| known.is_groups),
            other => is_groups(other),
        }
    }
}
