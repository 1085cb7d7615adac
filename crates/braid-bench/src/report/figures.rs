//! The figures of a benchmark, each with its goal and whether it is met, for people and as JSON.
//!
//! The JSON is the same for every benchmark: `{"bench", "machine", "figures": [{"figure", "value", "unit", "goal",
//! "met"}]}`. `goal` and `met` are null for a figure without a goal. A missed goal is reported like any other figure;
//! only a wrong answer or a benchmark that cannot run is an error.

use std::path::Path;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};
use serde::Serialize;

use crate::BenchError;

/// A figure's target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Smaller is better.
    AtMost(f64),
    /// Larger is better.
    AtLeast(f64),
}

impl Goal {
    fn met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }

    fn limit(self) -> f64 {
        match self {
            Self::AtMost(limit) | Self::AtLeast(limit) => limit,
        }
    }
}

/// One measured number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What was measured.
    pub figure: String,
    /// The value.
    pub value: f64,
    /// The unit: `s`, `MB`, `1/s`, or empty for a ratio.
    pub unit: &'static str,
    /// The goal: a lower or upper bound.
    pub goal: Option<f64>,
    /// Whether the goal is met.
    pub met: Option<bool>,
    /// The direction of the goal, for the printed table.
    #[serde(skip)]
    sign: &'static str,
}

impl Figure {
    /// A figure without a goal.
    pub fn new(figure: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { figure: figure.into(), value, unit, goal: None, met: None, sign: "" }
    }

    /// The figure with a goal.
    pub fn with_goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal.limit());
        self.met = Some(goal.met(self.value));
        self.sign = if matches!(goal, Goal::AtMost(_)) { "≤ " } else { "≥ " };
        self
    }
}

/// All figures of one benchmark run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The benchmark's name.
    pub bench: &'static str,
    /// Processor, cores, memory.
    pub machine: String,
    /// The figures, in the order of measurement.
    pub figures: Vec<Figure>,
}

impl Report {
    /// The figures as a table for people.
    pub fn table(&self) -> Table {
        let mut table = plain_table(&["figure", "value", "goal", ""]);
        for f in &self.figures {
            let value = format!("{} {}", number(f.value), f.unit);
            let goal = f.goal.map_or_else(String::new, |g| format!("{}{} {}", f.sign, number(g), f.unit));
            let met = match f.met {
                Some(true) => "met",
                Some(false) => "missed",
                None => "",
            };
            table.add_row([left(&f.figure), right(value.trim_end()), right(goal.trim_end()), left(met)]);
        }
        table
    }

    /// Writes the JSON form.
    pub fn write_json(&self, path: &Path) -> Result<(), BenchError> {
        let mut json = serde_json::to_string_pretty(self).map_err(|e| BenchError::other("writing figures", e))?;
        json.push('\n');
        std::fs::write(path, json).map_err(|source| BenchError::File { path: path.to_owned(), source })
    }
}

/// An empty table in the one style of all benchmarks.
pub fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    // No lines between rows: neither the strokes nor what is left of them where columns meet.
    for line in [
        TableComponent::HorizontalLines,
        TableComponent::MiddleIntersections,
        TableComponent::LeftBorderIntersections,
        TableComponent::RightBorderIntersections,
    ] {
        table.remove_style(line);
    }
    table.set_header(header.iter().map(|h| left(h)));
    table
}

/// A cell of text.
pub fn left(text: &str) -> Cell {
    Cell::new(text)
}

/// A cell of a number.
pub fn right(text: impl AsRef<str>) -> Cell {
    Cell::new(text.as_ref()).set_alignment(CellAlignment::Right)
}

/// A number with three significant digits; digits before the point are all kept.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Processor, cores and memory of this machine, as far as `/proc` tells.
pub fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory_kib = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0);
    let memory = braid_base::ByteSize::kib(memory_kib).rounded();
    format!("{processor}, {cores} cores, {memory} memory, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_form_has_exactly_the_promised_fields() {
        let report = Report {
            bench: "load",
            machine: machine(),
            figures: vec![
                Figure::new("time", 20.5, "s").with_goal(Goal::AtMost(21.0)),
                Figure::new("speed", 0.5, "").with_goal(Goal::AtLeast(1.0)),
                Figure::new("rows", 7.0, ""),
            ],
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("figures.json");
        report.write_json(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"bench": "load", "machine": report.machine, "figures": [
                {"figure": "time", "value": 20.5, "unit": "s", "goal": 21.0, "met": true},
                {"figure": "speed", "value": 0.5, "unit": "", "goal": 1.0, "met": false},
                {"figure": "rows", "value": 7.0, "unit": "", "goal": null, "met": null},
            ]})
        );
        let table = report.table().to_string();
        assert!(table.contains("≤ 21.0 s") && table.contains("missed"), "{table}");
        // Above and below the header and at the end; none between rows.
        assert_eq!(table.lines().filter(|line| line.contains(['─', '═'])).count(), 3, "{table}");
    }

    #[test]
    fn numbers_keep_three_digits() {
        let texts = [1234.5, 12.345, 1.2345, 0.5, 0.012345, 0.0].map(number);
        assert_eq!(texts, ["1234", "12.3", "1.23", "0.50", "0.0123", "0"]);
    }
}
