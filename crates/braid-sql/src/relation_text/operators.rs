//! Relations as text: one operator per line, its inputs below it and indented. A column has its name where it is made.
//!
//! Subqueries of an operator's expressions stand between its line and its inputs, by the numbers that the expressions call them.

use std::fmt::Write;

use super::expressions::text;
use crate::expression::Node;
use crate::functions::SessionFacts;
use crate::pg_catalog::pg_catalog;
use crate::relation::{
    AggregateCall, Aggregation, ColumnId, Columns, FrameBound, FrameExclusion, FrameMode, JoinKind, Relation, Sample,
    SetFunctionCall, SetOperator, SortKey, WindowFrame, Windowing,
};
use crate::{Expression, Value};

/// What the text of an expression needs.
pub(super) struct Context<'a> {
    columns: &'a Columns,
    pub session: &'a dyn SessionFacts,
    subqueries: usize,
    /// Those whose text is still to come, with their numbers.
    pending: Vec<(usize, Relation)>,
}

impl Context<'_> {
    /// The number of a subquery, whose relation is shown below the operator.
    pub fn later(&mut self, relation: &Relation) -> usize {
        self.subqueries += 1;
        self.pending.push((self.subqueries, relation.clone()));
        self.subqueries
    }

    fn made(&self, column: ColumnId) -> String {
        format!("{column} {}", self.columns.name(column))
    }
}

impl Relation {
    /// The relation as text. Constants are written as the session writes values.
    pub fn text(&self, columns: &Columns, session: &dyn SessionFacts) -> String {
        let mut context = Context { columns, session, subqueries: 0, pending: Vec::new() };
        let mut plan = String::new();
        add_lines(self, 0, &mut context, &mut plan);
        plan
    }
}

fn add_lines(relation: &Relation, depth: usize, context: &mut Context<'_>, plan: &mut String) {
    let line = line(relation, context);
    writeln!(plan, "{:1$}{line}", "", 2 * depth).expect("a string takes all");
    for (number, subquery) in std::mem::take(&mut context.pending) {
        writeln!(plan, "{:1$}subquery {number}:", "", 2 * depth + 2).expect("a string takes all");
        add_lines(&subquery, depth + 2, context, plan);
    }
    for input in relation.inputs() {
        add_lines(input, depth + 1, context, plan);
    }
}

/// The line of one operator.
fn line(relation: &Relation, context: &mut Context<'_>) -> String {
    match relation {
        Relation::OneRow => "OneRow".to_owned(),
        Relation::Table(scan) => {
            let line = format!("Table {} ({})", scan.name, all_made(&scan.columns, context));
            match scan.sample.as_deref() {
                Some(Sample { method, percentage, seed }) => {
                    let (name, percentage) = (method.name(), text(percentage, context));
                    format!("{line} sample {name} {percentage} seed {}", text(seed, context))
                }
                None => line,
            }
        }
        Relation::Values { columns, rows } => {
            let rows = joined(rows.iter().map(|row| format!("({})", list(row, context))));
            format!("Values ({}) {rows}", all_made(columns, context)).trim_end().to_owned()
        }
        Relation::Filter { condition, .. } => format!("Filter {}", text(condition, context)),
        Relation::Map { expressions, .. } => format!("Map {}", assigned(expressions, context)),
        Relation::Expand(expansion) => {
            let mut parts: Vec<String> = expansion.functions.iter().map(|call| function(call, context)).collect();
            parts.extend(expansion.ordinality.map(|column| format!("{} = ordinality", context.made(column))));
            format!("Expand {}", parts.join(", "))
        }
        Relation::Join { kind, condition, .. } => join(*kind, condition, context),
        Relation::Aggregate(aggregation) => aggregate(aggregation, context),
        Relation::Window(windowing) => window(windowing, context),
        Relation::Sort { keys, .. } => format!("Sort {}", order(keys, context)),
        Relation::Limit { offset, limit, ties, .. } => {
            let mut words = "Limit".to_owned();
            if let Some(limit) = limit {
                words += &format!(" {}", text(limit, context));
            }
            if let Some(offset) = offset {
                words += &format!(" offset {}", text(offset, context));
            }
            if let Some(ties) = ties {
                words += &format!(" with ties {}", order(ties, context));
            }
            words
        }
        Relation::Distinct { columns, .. } => format!("Distinct {}", numbers(columns)),
        Relation::DistinctOn { keys, .. } => format!("Distinct on {}", list(keys, context)),
        Relation::Union { inputs, columns } => {
            let inputs = joined(inputs.iter().map(|input| format!("({})", numbers(&input.columns))));
            format!("Union {} of {inputs}", all_made(columns, context))
        }
        Relation::SetOperation { operator, is_all, left, right, columns } => {
            let name = match operator {
                SetOperator::Intersect => "Intersect",
                SetOperator::Except => "Except",
            };
            let all = if *is_all { " all" } else { "" };
            let (left, right) = (numbers(&left.columns), numbers(&right.columns));
            format!("{name}{all} {} of ({left}), ({right})", all_made(columns, context))
        }
        Relation::With { cte, is_materialized, definition, .. } => {
            let how = match is_materialized {
                None => "",
                Some(true) => " materialized",
                Some(false) => " not materialized",
            };
            format!("With {}{how} ({})", cte.0, numbers(&definition.columns))
        }
        Relation::Recursive(recursion) => {
            let how = if recursion.is_distinct { " distinct" } else { "" };
            let (start, step) = (numbers(&recursion.start.columns), numbers(&recursion.step.columns));
            format!("Recursive {}{how} ({start}), ({step})", recursion.cte.0)
        }
        Relation::CteScan { cte, columns } => format!("Scan of {} ({})", cte.0, all_made(columns, context)),
    }
}

fn join(kind: JoinKind, condition: &Expression, context: &mut Context<'_>) -> String {
    let is_cross = matches!(condition.node, Node::Constant(Value::Bool(true)));
    let name = match kind {
        JoinKind::Inner if is_cross => return "Cross join".to_owned(),
        JoinKind::Inner => "Join".to_owned(),
        JoinKind::Left => "Left join".to_owned(),
        JoinKind::Right => "Right join".to_owned(),
        JoinKind::Full => "Full join".to_owned(),
        JoinKind::Semi => "Semi join".to_owned(),
        JoinKind::Anti => "Anti join".to_owned(),
        JoinKind::Mark(mark) => format!("Mark join {}", context.made(mark)),
        JoinKind::Single => "Single join".to_owned(),
    };
    format!("{name} on {}", text(condition, context))
}

fn aggregate(aggregation: &Aggregation, context: &mut Context<'_>) -> String {
    let mut words = format!("Aggregate {}", assigned(&aggregation.keys, context));
    let is_plain = matches!(&aggregation.sets[..], [set] if set.iter().copied().eq(0..aggregation.keys.len()));
    if !is_plain {
        let key = |at: &usize| aggregation.keys[*at].0.to_string();
        let sets = aggregation.sets.iter().map(|set| format!("({})", joined(set.iter().map(key))));
        words += &format!(" sets {}", joined(sets));
    }
    if !aggregation.aggregates.is_empty() {
        let calls = aggregation.aggregates.iter().map(|(column, call)| {
            let made = context.made(*column);
            format!("{made} = {}", aggregate_call(call, context))
        });
        let calls = joined(calls);
        words += if aggregation.keys.is_empty() { "" } else { ": " };
        words += &calls;
    }
    for (column, positions) in &aggregation.groupings {
        let keys = joined(positions.iter().map(|at| aggregation.keys[*at].0.to_string()));
        words += &format!(", {} = GROUPING({keys})", context.made(*column));
    }
    words
}

fn aggregate_call(call: &AggregateCall, context: &mut Context<'_>) -> String {
    let name = pg_catalog().function(call.function).name;
    let arguments = if call.arguments.is_empty() && !call.is_within_group {
        "*".to_owned()
    } else {
        list(&call.arguments, context)
    };
    let distinct = if call.is_distinct { "DISTINCT " } else { "" };
    let mut words = format!("{name}({distinct}{arguments}");
    if call.is_within_group {
        words += &format!(") WITHIN GROUP (ORDER BY {}", order(&call.order_by, context));
    } else if !call.order_by.is_empty() {
        words += &format!(" ORDER BY {}", order(&call.order_by, context));
    }
    words += ")";
    words + &filter(call.filter.as_ref(), context)
}

fn filter(condition: Option<&Expression>, context: &mut Context<'_>) -> String {
    condition.map_or(String::new(), |condition| format!(" FILTER (WHERE {})", text(condition, context)))
}

fn window(windowing: &Windowing, context: &mut Context<'_>) -> String {
    let mut words = Vec::new();
    for (column, call) in &windowing.calls {
        let name = pg_catalog().function(call.function).name;
        let arguments = list(&call.arguments, context);
        let filter = filter(call.filter.as_ref(), context);
        words.push(format!("{} = {name}({arguments}){filter}", context.made(*column)));
    }
    let mut over = Vec::new();
    if !windowing.partition_by.is_empty() {
        over.push(format!("partition by {}", list(&windowing.partition_by, context)));
    }
    if !windowing.order_by.is_empty() {
        over.push(format!("order by {}", order(&windowing.order_by, context)));
    }
    over.extend(frame(&windowing.frame, context));
    format!("Window {} over ({})", words.join(", "), over.join(" "))
}

/// The frame, if it is another one than that which SQL means without words.
fn frame(frame: &WindowFrame, context: &mut Context<'_>) -> Option<String> {
    let is_default = frame.mode == FrameMode::Range
        && frame.exclusion == FrameExclusion::NoOthers
        && frame.start == FrameBound::UnboundedPreceding
        && frame.end == FrameBound::CurrentRow;
    if is_default {
        return None;
    }
    let mode = match frame.mode {
        FrameMode::Rows => "rows",
        FrameMode::Range => "range",
        FrameMode::Groups => "groups",
    };
    let exclusion = match frame.exclusion {
        FrameExclusion::NoOthers => "",
        FrameExclusion::CurrentRow => " exclude current row",
        FrameExclusion::Group => " exclude group",
        FrameExclusion::Ties => " exclude ties",
    };
    let (start, end) = (bound(&frame.start, context), bound(&frame.end, context));
    Some(format!("{mode} between {start} and {end}{exclusion}"))
}

fn bound(bound: &FrameBound, context: &mut Context<'_>) -> String {
    match bound {
        FrameBound::UnboundedPreceding => "unbounded preceding".to_owned(),
        FrameBound::Preceding(offset) => format!("{} preceding", text(offset, context)),
        FrameBound::CurrentRow => "current row".to_owned(),
        FrameBound::Following(offset) => format!("{} following", text(offset, context)),
        FrameBound::UnboundedFollowing => "unbounded following".to_owned(),
    }
}

fn function(call: &SetFunctionCall, context: &mut Context<'_>) -> String {
    let made = all_made(call.columns(), context);
    match call {
        SetFunctionCall::Set { call, .. } => {
            let name = pg_catalog().function(call.function.id).name;
            format!("{made} = {name}({})", list(&call.arguments, context))
        }
        SetFunctionCall::Scalar { value, .. } => format!("{made} = {}", text(value, context)),
    }
}

fn order(keys: &[SortKey], context: &mut Context<'_>) -> String {
    joined(keys.iter().map(|key| {
        let direction = if key.is_descending { " desc" } else { "" };
        // Nulls come last in ascending orders unless the order says otherwise.
        let nulls = match (key.nulls_first, key.is_descending) {
            (true, false) => " nulls first",
            (false, true) => " nulls last",
            _ => "",
        };
        format!("{}{direction}{nulls}", text(&key.expression, context))
    }))
}

fn assigned(expressions: &[(ColumnId, Expression)], context: &mut Context<'_>) -> String {
    joined(expressions.iter().map(|(column, expression)| {
        let made = context.made(*column);
        format!("{made} = {}", text(expression, context))
    }))
}

fn list(expressions: &[Expression], context: &mut Context<'_>) -> String {
    joined(expressions.iter().map(|expression| text(expression, context)))
}

fn all_made(columns: &[ColumnId], context: &Context<'_>) -> String {
    joined(columns.iter().map(|column| context.made(*column)))
}

fn numbers(columns: &[ColumnId]) -> String {
    joined(columns.iter().map(ToString::to_string))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
