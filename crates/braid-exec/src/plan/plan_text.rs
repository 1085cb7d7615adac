//! A plan as EXPLAIN shows it: a text for each operator.

use std::fmt;

use super::Plan;

/// An operator and its inputs, as EXPLAIN shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanText {
    /// The operator: its name, and what it does behind a colon and a blank.
    pub operator: String,
    /// Its inputs.
    pub inputs: Vec<PlanText>,
}

impl Plan {
    /// The plan as texts.
    pub fn text(&self) -> PlanText {
        let mut operator = String::new();
        // Writing to a string does not fail.
        let _ = self.describe_operator(&mut operator);
        PlanText { operator, inputs: self.inputs().into_iter().map(Self::text).collect() }
    }
}

impl PlanText {
    /// Writes the tree with one operator per line, each input indented by two blanks more.
    pub fn write_lines(&self, depth: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{:1$}{2}", "", 2 * depth, self.operator)?;
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
}
