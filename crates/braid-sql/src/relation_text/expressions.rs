//! Expressions as text: operators as SQL writes them, columns by their numbers.
//!
//! The text is for readers of plans. It is not parsed again, and casts between types of the same bytes are left out.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::operators::Context;
use crate::expression::{ElementCast, FunctionCall, Node, RecordOperation, Subscripts};
use crate::functions::Function;
use crate::pg_catalog::{FunctionId, TypeId, pg_catalog};
use crate::relation::{Subquery, SubqueryKind};
use crate::types::type_names::{format_type, type_name};
use crate::{Evaluation, Expression, SqlType, Value};

/// How strongly an expression binds its operands; a weaker one within a stronger one is put in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Or,
    And,
    Not,
    Comparison,
    Operator,
    Whole,
}

/// Operators by the function that computes them.
static OPERATORS: LazyLock<HashMap<(FunctionId, usize), &'static str>> = LazyLock::new(|| {
    let catalog = pg_catalog();
    let mut operators = HashMap::new();
    let names =
        ["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^", "||", "~~", "!~~", "~~*", "!~~*", "~", "!~"];
    for entry in names.iter().flat_map(|name| catalog.operators(name)) {
        operators.entry((entry.function, entry.operands.len())).or_insert(entry.name);
    }
    operators
});

const COMPARISONS: &[&str] = &["=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "~~*", "!~~*", "~", "!~"];

/// The text of an expression.
pub(super) fn text(expression: &Expression, context: &mut Context<'_>) -> String {
    weighed(expression, context).0
}

/// The text of an operand of something that binds as strongly as this.
fn operand(expression: &Expression, outer: Strength, context: &mut Context<'_>) -> String {
    let (text, strength) = weighed(expression, context);
    if strength > outer || strength == Strength::Whole { text } else { format!("({text})") }
}

fn list(expressions: &[Expression], context: &mut Context<'_>) -> String {
    let texts: Vec<String> = expressions.iter().map(|expression| text(expression, context)).collect();
    texts.join(", ")
}

fn connected(operands: &[Expression], word: &str, strength: Strength, context: &mut Context<'_>) -> (String, Strength) {
    let texts: Vec<String> = operands.iter().map(|each| operand(each, strength, context)).collect();
    (texts.join(word), strength)
}

fn weighed(expression: &Expression, context: &mut Context<'_>) -> (String, Strength) {
    use Strength::{And, Comparison, Operator, Or, Whole};
    match &expression.node {
        Node::Constant(value) => (constant(value, expression.sql_type, context), Whole),
        Node::Parameter(at) => (format!("${}", at + 1), Whole),
        Node::Operand => ("operand".to_owned(), Whole),
        Node::Column(column, _) => (column.to_string(), Whole),
        Node::Subquery(subquery) => (of_subquery(subquery, context), Whole),
        Node::Call(call) => of_call(call, context),
        Node::Relabel(inner) => weighed(inner, context),
        Node::ThroughText(cast) => {
            (format!("{}::{}", operand(&cast.argument, Operator, context), format_type(expression.sql_type)), Whole)
        }
        Node::EachElement { array, cast } => match cast {
            ElementCast::Relabel => weighed(array, context),
            ElementCast::Function { .. } | ElementCast::ThroughText(..) => {
                (format!("{}::{}", operand(array, Operator, context), format_type(expression.sql_type)), Whole)
            }
        },
        Node::Case { branches, otherwise } => {
            let mut case = "CASE".to_owned();
            for (condition, result) in branches {
                case += &format!(" WHEN {} THEN {}", text(condition, context), text(result, context));
            }
            (format!("{case} ELSE {} END", text(otherwise, context)), Whole)
        }
        Node::Let { operand, body } => {
            (format!("LET(operand := {}, {})", text(operand, context), text(body, context)), Whole)
        }
        Node::Chain { first, steps } => {
            (format!("LET(operand := {}, {})", text(first, context), list(steps, context)), Whole)
        }
        Node::Coalesce(values) => (format!("COALESCE({})", list(values, context)), Whole),
        Node::Extreme { values, is_beyond } => {
            let name = if operator_of(*is_beyond, 2) == Some("<") { "LEAST" } else { "GREATEST" };
            (format!("{name}({})", list(values, context)), Whole)
        }
        Node::And(operands) => connected(operands, " AND ", And, context),
        Node::Or(operands) => connected(operands, " OR ", Or, context),
        Node::Not(inner) => negated(inner, context),
        Node::IsNull(inner) => (format!("{} IS NULL", operand(inner, Comparison, context)), Comparison),
        Node::Is(truth, inner) => {
            let word = if *truth { "TRUE" } else { "FALSE" };
            (format!("{} IS {word}", operand(inner, Comparison, context)), Comparison)
        }
        Node::Distinct(left, right, _) => {
            let (left, right) = (operand(left, Comparison, context), operand(right, Comparison, context));
            (format!("{left} IS DISTINCT FROM {right}"), Comparison)
        }
        Node::Array(_, values) => (format!("ARRAY[{}]", list(values, context)), Whole),
        Node::Subscript(array, subscripts) => {
            let array = operand(array, Operator, context);
            (format!("{array}{}", of_subscripts(subscripts, context)), Whole)
        }
        Node::OnRecord(operation, operands) => match (operation, &operands[..]) {
            (RecordOperation::IsNull, [record]) => {
                (format!("ROW {} IS NULL", operand(record, Comparison, context)), Comparison)
            }
            (RecordOperation::IsNotNull, [record]) => {
                (format!("ROW {} IS NOT NULL", operand(record, Comparison, context)), Comparison)
            }
            (RecordOperation::Field(at), [record]) => (format!("({}).{}", text(record, context), at + 1), Whole),
            _ => (format!("ROW({})", list(operands, context)), Whole),
        },
        Node::Domain(cast) => {
            let domain = format_type(SqlType::of(TypeId::of_domain(cast.domain)));
            (format!("{}::{domain}", operand(&cast.operand, Operator, context)), Whole)
        }
        Node::Quantified(quantified) => {
            let word = if quantified.is_all { "ALL" } else { "ANY" };
            let operator = operator_of(quantified.compare, 2).unwrap_or(name_of(quantified.compare));
            let left = operand(&quantified.operand, Comparison, context);
            (format!("{left} {operator} {word} ({})", text(&quantified.array, context)), Comparison)
        }
    }
}

/// `NOT x`, `x IS NOT NULL`, `x IS NOT DISTINCT FROM y`.
fn negated(inner: &Expression, context: &mut Context<'_>) -> (String, Strength) {
    match &inner.node {
        Node::IsNull(tested) => {
            (format!("{} IS NOT NULL", operand(tested, Strength::Comparison, context)), Strength::Comparison)
        }
        Node::Distinct(left, right, _) => {
            let left = operand(left, Strength::Comparison, context);
            let right = operand(right, Strength::Comparison, context);
            (format!("{left} IS NOT DISTINCT FROM {right}"), Strength::Comparison)
        }
        _ => (format!("NOT {}", operand(inner, Strength::Not, context)), Strength::Not),
    }
}

fn of_call(call: &FunctionCall, context: &mut Context<'_>) -> (String, Strength) {
    match (operator_of(call.function, call.arguments.len()), &call.arguments[..]) {
        (Some(operator), [left, right]) => {
            let is_comparison = COMPARISONS.contains(&operator);
            let strength = if is_comparison { Strength::Comparison } else { Strength::Operator };
            let (left, right) = (operand(left, strength, context), operand(right, strength, context));
            (format!("{left} {operator} {right}"), strength)
        }
        (Some(operator), [only]) => {
            (format!("{operator}{}", operand(only, Strength::Operator, context)), Strength::Operator)
        }
        _ => (format!("{}({})", name_of(call.function), list(&call.arguments, context)), Strength::Whole),
    }
}

fn of_subscripts(subscripts: &Subscripts, context: &mut Context<'_>) -> String {
    match subscripts {
        Subscripts::Element(indexes) => indexes.iter().map(|index| format!("[{}]", text(index, context))).collect(),
        Subscripts::Slice(slices) => {
            let mut all = String::new();
            for (first, last) in slices {
                let [first, last] =
                    [first, last].map(|end| end.as_ref().map_or(String::new(), |end| text(end, context)));
                all += &format!("[{first}:{last}]");
            }
            all
        }
    }
}

fn of_subquery(subquery: &Subquery, context: &mut Context<'_>) -> String {
    let columns: Vec<String> = subquery.columns.iter().map(ToString::to_string).collect();
    let columns = columns.join(", ");
    let number = context.later(&subquery.relation);
    match &subquery.kind {
        SubqueryKind::Exists => format!("EXISTS(subquery {number})"),
        SubqueryKind::Scalar => format!("(subquery {number}: {columns})"),
        SubqueryKind::Array => format!("ARRAY(subquery {number}: {columns})"),
        SubqueryKind::Quantified { comparison, is_all } => {
            let word = if *is_all { "ALL" } else { "ANY" };
            format!("{word}(subquery {number}: {})", text(comparison, context))
        }
    }
}

fn constant(value: &Value, sql_type: SqlType, context: &Context<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        value => {
            // A value without a text is shown by its type alone.
            let shown = Evaluation::new(context.session, &[]).text(value, sql_type).ok().flatten().unwrap_or_default();
            match sql_type.id {
                TypeId::INT2 | TypeId::INT4 | TypeId::INT8 | TypeId::NUMERIC => shown,
                TypeId::TEXT | TypeId::UNKNOWN => quoted(&shown),
                id => format!("{}::{}", quoted(&shown), type_name(id)),
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn operator_of(function: Function, operands: usize) -> Option<&'static str> {
    OPERATORS.get(&(function.id, operands)).copied()
}

fn name_of(function: Function) -> &'static str {
    pg_catalog().function(function.id).name
}
