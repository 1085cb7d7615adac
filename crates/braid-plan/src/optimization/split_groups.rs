//! Which groups of a pass are made in two steps, with the conditions that depend on the query in the second
//! ([`ParametrisedGroups`]).
//!
//! Two steps are an advantage where the partial groups are far fewer than the rows: in one step, each row is there once for each
//! value of the parameters. A query alone has no parameters left, and makes its groups in one step.

use braid_exec::Expression;
use braid_exec::plan::Plan;
use braid_exec::plan::parameters_above_groups::ParametrisedGroups;
use braid_storage::scalar::ScalarKey;

use super::estimate::Estimate;
use super::join_ordering::Ordering;

/// Rows that a partial group must have on average.
const ROWS_OF_GROUP_MIN: f64 = 4.0;

impl Ordering<'_> {
    /// The plan of an aggregation in two steps, if that is exact and an advantage.
    pub(super) fn split_groups(&self, plan: &Plan) -> Option<(Plan, Estimate)> {
        if self.queries.len() < 2 {
            return None;
        }
        let groups = ParametrisedGroups::of(plan, &|parameter| self.varies(parameter))?;
        if !self.may_look() {
            return None;
        }
        let (input, of_input) = self.plan(&groups.input);
        let of_keys: Vec<f64> = groups.keys.iter().map(|key| distinct_of(key, &groups.input, &of_input)).collect();
        let partial_count = of_keys.iter().product::<f64>();
        if partial_count * ROWS_OF_GROUP_MIN > of_input.rows {
            return None;
        }
        let of_groups = &of_keys[..groups.key_count()];
        let rows = (of_groups.iter().product::<f64>() * self.queries.len() as f64).min(of_input.rows);
        let distinct = of_groups.iter().copied().chain((0..groups.aggregate_count()).map(|_| rows)).collect();
        let estimate = Estimate { rows, distinct, explodes: of_input.explodes };
        Some((groups.in_two_steps(input), estimate.limited(rows.max(1.0))))
    }

    /// Whether the queries have several values for a parameter.
    fn varies(&self, parameter: usize) -> bool {
        let value = |row: &'_ Vec<_>| ScalarKey::of(&row[parameter]) != ScalarKey::of(&self.queries[0][parameter]);
        self.queries.iter().any(value)
    }
}

/// Distinct values of an expression over a plan's rows: at most the combinations of its columns, and at most the integers between
/// its bounds.
fn distinct_of(expression: &Expression, plan: &Plan, estimate: &Estimate) -> f64 {
    let mut columns = Vec::new();
    expression.columns(&mut columns);
    columns.sort_unstable();
    columns.dedup();
    let combinations = estimate.distinct_of(&columns);
    let bounds = expression.integer_bounds(&|column| plan.integer_bounds(column));
    bounds.map_or(combinations, |bounds| combinations.min((bounds.high - bounds.low) as f64 + 1.0))
}
