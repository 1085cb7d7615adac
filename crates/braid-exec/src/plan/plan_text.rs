//! A plan as EXPLAIN shows it: a text for each operator.

use std::fmt;

use super::Plan;

/// An operator and its inputs, as EXPLAIN shows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanText {
    /// The operator: its name, and what it does behind a colon and a blank.
    pub operator: String,
    /// What the optimizer thinks of its rows, if it was asked.
    pub estimate: Option<OperatorEstimate>,
    /// Its inputs.
    pub inputs: Vec<PlanText>,
}

/// What the optimizer thinks of an operator's rows, in PostgreSQL's terms and units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatorEstimate {
    /// Cost up to the first row.
    pub startup_cost: f64,
    /// Cost of all rows.
    pub total_cost: f64,
    /// Rows.
    pub rows: f64,
    /// Bytes of a row.
    pub width_bytes: f64,
}

impl OperatorEstimate {
    /// Rows as a number that is shown: whole, and at least one.
    pub fn rows_shown(&self) -> f64 {
        self.rows.round().max(1.0)
    }
}

/// `(cost=0.00..1.25 rows=10 width=8)`, as PostgreSQL writes it.
impl fmt::Display for OperatorEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { startup_cost, total_cost, width_bytes, .. } = self;
        let rows = self.rows_shown();
        write!(f, "(cost={startup_cost:.2}..{total_cost:.2} rows={rows:.0} width={width_bytes:.0})")
    }
}

impl Plan {
    /// The plan as texts.
    pub fn text(&self) -> PlanText {
        let mut operator = String::new();
        // Writing to a string does not fail.
        let _ = self.describe_operator(&mut operator);
        PlanText { operator, estimate: None, inputs: self.inputs().into_iter().map(Self::text).collect() }
    }
}

impl PlanText {
    /// The same without estimates.
    pub fn without_estimates(self) -> Self {
        let inputs = self.inputs.into_iter().map(Self::without_estimates).collect();
        Self { operator: self.operator, estimate: None, inputs }
    }

    /// Writes the tree with one operator per line, each input indented by two blanks more, and behind an operator its estimate. Line ends
    /// within an operator are escaped.
    pub fn write_lines(&self, depth: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        let operator = self.operator.replace('\r', "\\r").replace('\n', "\\n");
        write!(out, "{:1$}{operator}", "", 2 * depth)?;
        self.estimate.iter().try_for_each(|estimate| write!(out, "  {estimate}"))?;
        writeln!(out)?;
        self.inputs.iter().try_for_each(|input| input.write_lines(depth + 1, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::CteId;

    #[test]
    fn texts_are_the_lines_of_the_plan() {
        let scan = || Plan::CteScan { cte: CteId(1), column_count: 1 };
        let limited = Plan::Limit { input: Box::new(scan()), offset: 2, limit: Some(5) };
        let plan = Plan::Union(vec![limited, scan()]);
        let (mut described, mut lines) = (String::new(), String::new());
        plan.describe(1, &mut described).unwrap();
        plan.text().write_lines(1, &mut lines).unwrap();
        assert_eq!(lines, described);
        assert_eq!(plan.text().inputs[0].operator, "Limit: 5 from 2");
    }

    #[test]
    fn an_estimate_stands_behind_its_operator() {
        let estimate = OperatorEstimate { startup_cost: 0.0, total_cost: 12.25, rows: 0.2, width_bytes: 4.6 };
        let text =
            PlanText { operator: "Filter: #0 = 'a\nb'".to_owned(), estimate: Some(estimate), inputs: Vec::new() };
        let mut lines = String::new();
        text.write_lines(1, &mut lines).unwrap();
        assert_eq!(lines, "  Filter: #0 = 'a\\nb'  (cost=0.00..12.25 rows=1 width=5)\n");
    }
}
