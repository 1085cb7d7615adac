//! The order of joins in common tables, and what is thought of their rows.

use braid_exec::plan::{CteId, Plan, RecursionSpec};

use super::estimate::{Estimate, TableEstimate};
use super::join_ordering::{Ordering, is_groups};
use super::row_rules::unknown;

/// Assumed steps of a recursion, as PostgreSQL assumes: most recursions follow a hierarchy of a few levels, and the right order of a join
/// with some times the rows of the start is the right one for other counts, too.
pub(super) const STEPS: f64 = 10.0;

impl Ordering<'_> {
    /// A plan that reads a common table. Its scans have the rows of the definition.
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> (Plan, Estimate) {
        let (definition, of_definition) = self.plan(definition);
        let table = self.of_definition(&definition, &of_definition);
        let (body, of_body) = self.with_rows(cte, table, || self.plan(body));
        let plan = Plan::With { cte, definition: definition.into(), body: body.into() };
        let estimate = self.of_operator(&plan, vec![of_definition, of_body]);
        (plan, estimate)
    }

    /// What is thought of a common table with this definition.
    pub(super) fn of_definition(&self, definition: &Plan, estimate: &Estimate) -> TableEstimate {
        TableEstimate { rows: estimate.clone(), is_groups: self.is_groups(definition) }
    }

    /// A plan that reads a recursion. A step is thought to read as many rows as the start makes.
    pub(super) fn with_recursion(
        &self,
        spec: &RecursionSpec,
        [start, step]: [&Plan; 2],
        body: &Plan,
    ) -> (Plan, Estimate) {
        let (start, of_start) = self.plan(start);
        let (step, of_step) = self.with_rows(spec.cte, of_last_step(spec, &of_start), || self.plan(step));
        let all = TableEstimate { rows: of_recursion(spec, of_start.clone(), &of_step), is_groups: false };
        let (body, of_body) = self.with_rows(spec.cte, all, || self.plan(body));
        let plan = Plan::Recursion { spec: spec.clone(), start: start.into(), step: step.into(), body: body.into() };
        let estimate = self.of_operator(&plan, vec![of_start, of_step, of_body]);
        (plan, estimate)
    }

    /// What is said of a plan whose scans of a common table return these rows.
    pub(super) fn with_rows<T>(&self, cte: CteId, rows: TableEstimate, of_plan: impl FnOnce() -> T) -> T {
        let around = self.tables.borrow_mut().insert(cte, rows);
        let said = of_plan();
        if let Some(around) = around {
            self.tables.borrow_mut().insert(cte, around);
        }
        said
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

/// The rows that a step of a recursion reads: as many as the start makes.
pub(super) fn of_last_step(spec: &RecursionSpec, start: &Estimate) -> TableEstimate {
    let mut rows = start.clone();
    rows.distinct.truncate(spec.column_count);
    TableEstimate { rows, is_groups: false }
}

/// All rows of a recursion.
pub(super) fn of_recursion(spec: &RecursionSpec, start: Estimate, step: &Estimate) -> Estimate {
    let mut all = start;
    all.distinct.truncate(spec.column_count);
    all.rows += STEPS * step.rows;
    all.explodes |= step.explodes;
    for (distinct, of_step) in all.distinct.iter_mut().zip(&step.distinct) {
        *distinct += STEPS * of_step;
    }
    all
}
