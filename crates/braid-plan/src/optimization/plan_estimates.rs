//! A plan as EXPLAIN shows it: each operator with its cost, its rows and their width.
//!
//! The rows are those of the optimizer's own rules ([`operator_rules`](super::operator_rules)), of the plan as it runs: bound, with its filters in
//! its scans. Costs ([`plan_costs`]) and widths ([`row_widths`]) follow from them, from the bottom to the top.

use std::cell::RefCell;
use std::collections::BTreeMap;

use braid_exec::plan::{CteId, OperatorEstimate, Plan, PlanText};

use super::common_tables::{of_last_step, of_recursion};
use super::estimate::{Estimate, TableEstimate};
use super::join_ordering::Ordering;
use super::plan_costs::{self, Cost, CostedRows};
use super::row_widths::{self, Widths};
use super::unique_keys::UniqueKeys;

/// The text of a plan that has the constants of its query, with estimates.
pub fn estimated_text(plan: &Plan) -> PlanText {
    let keys = UniqueKeys::default();
    let estimates = PlanEstimates { ordering: Ordering::of_bound_plan(&keys), widths: RefCell::default() };
    let mut text = plan.text();
    estimates.estimate(plan, &mut text);
    text
}

/// What is said of an operator.
struct Estimated {
    rows: Estimate,
    widths: Widths,
    cost: Cost,
}

struct PlanEstimates<'a> {
    ordering: Ordering<'a>,
    /// The columns of common tables.
    widths: RefCell<BTreeMap<CteId, Widths>>,
}

impl PlanEstimates<'_> {
    /// Estimates an operator and all below it, and notes that in its text.
    fn estimate(&self, plan: &Plan, text: &mut PlanText) -> Estimated {
        let inputs = self.inputs(plan, &mut text.inputs);
        let costed = |input: &Estimated| CostedRows { rows: input.rows.rows, cost: input.cost };
        let costed: Vec<CostedRows> = inputs.iter().map(costed).collect();
        let widths = match plan {
            Plan::CteScan { cte, .. } => self.widths.borrow().get(cte).cloned().unwrap_or_default(),
            _ => row_widths::of_operator(plan, &inputs.iter().map(|input| &input.widths[..]).collect::<Vec<_>>()),
        };
        let rows = self.ordering.of_operator(plan, inputs.into_iter().map(|input| input.rows).collect());
        let cost = plan_costs::of_operator(plan, rows.rows, &costed);
        text.estimate = Some(OperatorEstimate {
            startup_cost: cost.startup,
            total_cost: cost.total,
            rows: rows.rows,
            width_bytes: widths.iter().sum(),
        });
        Estimated { rows, widths, cost }
    }

    /// Estimates the inputs, in the order of [`Plan::inputs`].
    fn inputs(&self, plan: &Plan, texts: &mut [PlanText]) -> Vec<Estimated> {
        match (plan, texts) {
            (Plan::With { cte, definition, body }, [of_definition, of_body]) => {
                let made = self.estimate(definition, of_definition);
                let table = self.ordering.of_definition(definition, &made.rows);
                let body = self.with_table(*cte, table, &made.widths, || self.estimate(body, of_body));
                vec![made, body]
            }
            (Plan::Recursion { spec, start, step, body }, [of_start, of_step, of_body]) => {
                let first = self.estimate(start, of_start);
                let read = of_last_step(spec, &first.rows);
                let next = self.with_table(spec.cte, read, &first.widths, || self.estimate(step, of_step));
                let rows = of_recursion(spec, first.rows.clone(), &next.rows);
                let all = TableEstimate { rows, is_groups: false };
                let body = self.with_table(spec.cte, all, &first.widths, || self.estimate(body, of_body));
                vec![first, next, body]
            }
            (_, texts) => {
                let inputs = plan.inputs().into_iter().zip(texts);
                inputs.map(|(input, text)| self.estimate(input, text)).collect()
            }
        }
    }

    /// What is said of a plan that scans a common table with these rows and columns.
    fn with_table<T>(&self, cte: CteId, rows: TableEstimate, widths: &[f64], of_plan: impl FnOnce() -> T) -> T {
        self.widths.borrow_mut().insert(cte, widths.to_vec());
        self.ordering.with_rows(cte, rows, of_plan)
    }
}
