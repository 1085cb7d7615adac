//! What an EXPLAIN says, as lines and as a tree.

use std::time::Duration;

use braid_exec::plan::{OperatorEstimate, PlanText};

use super::json::Json;
use super::request::TreeFormat;
use super::{xml, yaml};

/// What an EXPLAIN says.
pub(super) struct Explanation {
    /// Names and values: which template the query has, in which pass it ran.
    pub facts: Vec<(&'static str, String)>,
    /// The rewritten query, if it is wanted.
    pub relation: Option<String>,
    /// How the operators run, if they are those of the query alone.
    pub course: Option<String>,
    /// The operators, with their estimates if these are wanted.
    pub plan: PlanText,
    /// Rows of the query, if it ran.
    pub row_count: Option<usize>,
    /// How long it was planned, if that is wanted.
    pub planning: Option<Duration>,
    /// How long it ran, if it did and that is wanted.
    pub execution: Option<Duration>,
}

impl Explanation {
    /// One line for each operator and fact. Clients read the cost of a query in the first line, as `postgres_fdw` does.
    pub fn lines(&self) -> Vec<String> {
        let mut operators = String::new();
        // Writing to a string does not fail.
        let _ = self.plan.write_lines(0, &mut operators);
        let mut lines: Vec<String> = operators.lines().map(str::to_owned).collect();
        lines.extend(self.facts.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.extend(self.course.iter().map(|course| format!("Operators: {course}")));
        if let Some(relation) = &self.relation {
            lines.extend(["Query:"].into_iter().chain(relation.lines()).map(str::to_owned));
        }
        lines.extend(self.row_count.map(|rows| format!("Rows: {rows}")));
        lines.extend(self.planning.map(|time| format!("Planning Time: {} ms", milliseconds(time))));
        lines.extend(self.execution.map(|time| format!("Execution Time: {} ms", milliseconds(time))));
        lines
    }

    /// In one of the formats of a tree.
    pub fn tree_in(&self, format: TreeFormat) -> String {
        let queries = vec![self.tree()];
        match format {
            TreeFormat::Json => Json::List(queries).laid_out(),
            TreeFormat::Xml => xml::laid_out(&queries),
            TreeFormat::Yaml => yaml::laid_out(&queries),
        }
    }

    /// PostgreSQL's shape: an object whose member `Plan` is the tree of operators.
    fn tree(&self) -> Json {
        let text = |text: &String| Json::Text(text.clone());
        let mut plan = node(&self.plan);
        if let Some(rows) = self.row_count {
            let actual = [("Actual Rows", rows), ("Actual Loops", 1)];
            let at = plan.iter().position(|(name, _)| name == "Plans").unwrap_or(plan.len());
            plan.splice(at..at, actual.map(|(name, value)| (name.to_owned(), Json::Number(value.to_string()))));
        }
        let mut members = vec![("Plan".to_owned(), Json::Object(plan))];
        members.extend(self.facts.iter().map(|(name, value)| ((*name).to_owned(), text(value))));
        members.extend(self.relation.iter().map(|relation| ("Query".to_owned(), text(relation))));
        members.extend(self.course.iter().map(|course| ("Operators".to_owned(), text(course))));
        let times = [("Planning Time", self.planning), ("Execution Time", self.execution)];
        let known = times.into_iter().filter_map(|(name, time)| Some((name.to_owned(), time?)));
        members.extend(known.map(|(name, time)| (name, Json::Number(milliseconds(time)))));
        Json::Object(members)
    }
}

/// An operator as an object: its name, what it does, and its inputs.
fn node(plan: &PlanText) -> Vec<(String, Json)> {
    let (name, details) = match plan.operator.split_once(": ") {
        Some((name, details)) => (name, Some(details)),
        None => (plan.operator.as_str(), None),
    };
    let mut members = vec![("Node Type".to_owned(), Json::Text(name.to_owned()))];
    members.extend(details.map(|details| ("Details".to_owned(), Json::Text(details.to_owned()))));
    members.extend(plan.estimate.iter().flat_map(estimate_members));
    if !plan.inputs.is_empty() {
        let inputs = plan.inputs.iter().map(|input| Json::Object(node(input))).collect();
        members.push(("Plans".to_owned(), Json::List(inputs)));
    }
    members
}

/// An estimate by PostgreSQL's names.
fn estimate_members(estimate: &OperatorEstimate) -> [(String, Json); 4] {
    [
        ("Startup Cost", format!("{:.2}", estimate.startup_cost)),
        ("Total Cost", format!("{:.2}", estimate.total_cost)),
        ("Plan Rows", format!("{:.0}", estimate.rows_shown())),
        ("Plan Width", format!("{:.0}", estimate.width_bytes)),
    ]
    .map(|(name, number)| (name.to_owned(), Json::Number(number)))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation() -> Explanation {
        let leaf = |operator: &str| PlanText { operator: operator.to_owned(), ..PlanText::default() };
        let estimate = OperatorEstimate { startup_cost: 0.0, total_cost: 1.5, rows: 3.2, width_bytes: 8.0 };
        let inputs = vec![leaf("Scan: table=t"), leaf("Scan: x: \"y\"")];
        let plan = PlanText { operator: "Union".to_owned(), estimate: Some(estimate), inputs };
        let (facts, relation, course) = (vec![("Template", "off".to_owned())], None, Some("workers=2".to_owned()));
        let (planning, execution) = (Some(Duration::from_micros(1500)), Some(Duration::from_millis(2)));
        Explanation { facts, relation, course, plan, row_count: Some(7), planning, execution }
    }

    #[test]
    fn lines_and_trees_show_the_same_tree() {
        let expected = "Union  (cost=0.00..1.50 rows=3 width=8)\n  Scan: table=t\n  Scan: x: \"y\"\n\
                        Template: off\nOperators: workers=2\nRows: 7\n\
                        Planning Time: 1.500 ms\nExecution Time: 2.000 ms";
        assert_eq!(explanation().lines().join("\n"), expected);
        let json = explanation().tree_in(TreeFormat::Json);
        let flat = json.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "[ { \"Plan\": { \"Node Type\": \"Union\", \"Startup Cost\": 0.00, \"Total Cost\": 1.50, \
                        \"Plan Rows\": 3, \"Plan Width\": 8, \"Actual Rows\": 7, \"Actual Loops\": 1, \"Plans\": [ \
                        { \"Node Type\": \"Scan\", \"Details\": \"table=t\" }, \
                        { \"Node Type\": \"Scan\", \"Details\": \"x: \\\"y\\\"\" } ] }, \"Template\": \"off\", \
                        \"Operators\": \"workers=2\", \"Planning Time\": 1.500, \"Execution Time\": 2.000 } ]";
        assert_eq!(flat, expected);
    }
}
