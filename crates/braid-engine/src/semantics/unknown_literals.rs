//! A string literal takes the type of what it stands beside.
//!
//! PostgreSQL calls the type of `'1.5'` unknown until the other side of an operator, the other values of a list or the
//! other branches of a CASE decide it; then the type's input function reads it. DataFusion compares as texts instead,
//! or reads by Arrow's rules: `bytea = '\x00'` would never be true, `numeric(10,2) > '5.395'` would round.
//!
//! Here the literal becomes a cast, which `explicit_casts` evaluates. A numeric keeps all the digits it is written with,
//! and beside `char(n)` a literal stays a text and loses its trailing blanks, which do not count there.

use arrow::datatypes::{DataType, Field, FieldRef};
use braid_df::type_of;
use braid_storage::ColumnType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, Cast};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::marked_literals::check_value_free;
use super::operator_types::{check_condition, length_of, resolve_operator};
use super::rewrite_expressions;
use crate::EngineError;
use crate::input::numbers::numeric_digits;
use crate::sql_types::{column_type_of, field_of};

/// Lists of values that must have one type: everything but operators, which are resolved as they are planned.
#[derive(Debug)]
pub(super) struct UnknownLiterals;

impl AnalyzerRule for UnknownLiterals {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| resolve(expr, schema)))
    }

    fn name(&self) -> &str {
        "unknown_literals"
    }
}

fn resolve(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        // Operators that DataFusion plans without asking: IS DISTINCT FROM.
        Expr::BinaryExpr(binary) => {
            let changed = resolve_operator(binary, schema)?;
            let is_test = matches!(binary.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
            changed | (is_test && unify_instants(&mut [&mut *binary.left, &mut *binary.right], schema))
        }
        Expr::Between(between) => {
            let mut operands = [&mut *between.expr, &mut *between.low, &mut *between.high];
            unify(&mut operands, schema)?
                | unify_instants(&mut operands, schema)
                | compare_lengths(&mut operands, schema)
        }
        Expr::InList(list) => {
            let mut operands: Vec<&mut Expr> = std::iter::once(&mut *list.expr).chain(&mut list.list).collect();
            unify(&mut operands, schema)?
                | unify_instants(&mut operands, schema)
                | compare_lengths(&mut operands, schema)
        }
        Expr::Not(inner) => make_condition(inner, "NOT", schema)?,
        Expr::Case(case) => unify_case(case, schema)?,
        Expr::ScalarFunction(function) if matches!(function.name(), "coalesce" | "nullif" | "greatest" | "least") => {
            let mut operands: Vec<&mut Expr> = function.args.iter_mut().collect();
            unify(&mut operands, schema)? | unify_instants(&mut operands, schema)
        }
        _ => false,
    };
    Ok(Transformed::new_transformed(expr, changed))
}

/// `CASE a WHEN b …` compares; the results have one type.
fn unify_case(case: &mut Case, schema: &DFSchema) -> Result<bool> {
    let mut compared: Vec<&mut Expr> = Vec::new();
    let mut results: Vec<&mut Expr> = Vec::new();
    let has_operand = case.expr.is_some();
    compared.extend(case.expr.as_deref_mut());
    let mut changed = false;
    for (when, then) in &mut case.when_then_expr {
        if has_operand {
            compared.push(&mut **when);
        } else {
            changed |= make_condition(when, "CASE/WHEN", schema)?;
        }
        results.push(&mut **then);
    }
    results.extend(case.else_expr.as_deref_mut());
    changed |= unify(&mut compared, schema)? | unify_instants(&mut compared, schema);
    Ok(changed | unify(&mut results, schema)? | unify_instants(&mut results, schema))
}

/// A literal becomes a boolean; other types are refused.
fn make_condition(expr: &mut Expr, place: &str, schema: &DFSchema) -> Result<bool> {
    if let Some(typed) = typed_as(expr, &field_of("", ColumnType::Boolean, true))? {
        *expr = typed;
        return Ok(true);
    }
    if let Ok(data_type) = type_of(expr, schema) {
        check_condition(&data_type, place)?;
    }
    Ok(false)
}

/// Gives the literals among `operands` the type of the first that has one; whether there were any.
fn unify(operands: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let decides = |operand: &&mut Expr| unknown_text(operand).is_none() && !is_null(operand);
    let Some(field) = operands.iter().find(|o| decides(o)).and_then(|o| field_beside(o, schema)) else {
        return Ok(false);
    };
    let mut changed = false;
    for operand in operands.iter_mut() {
        if let Some(typed) = typed_as(operand, &field)? {
            **operand = typed;
            changed = true;
        }
    }
    Ok(changed)
}

/// Local times beside instants become instants, in the session's time zone; whether there were any.
fn unify_instants(operands: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let types: Vec<Option<DataType>> = operands.iter().map(|operand| operand.get_type(schema).ok()).collect();
    let is_local =
        |data_type: &Option<DataType>| matches!(data_type, Some(DataType::Timestamp(_, None) | DataType::Date32));
    let is_instant = |data_type: &Option<DataType>| matches!(data_type, Some(DataType::Timestamp(_, Some(_))));
    if !types.iter().any(is_instant) || !types.iter().any(is_local) {
        return false;
    }
    for (operand, data_type) in operands.iter_mut().zip(&types) {
        if is_local(data_type) {
            **operand = cast_to(std::mem::take(*operand), ColumnType::TimestampTz);
        }
    }
    true
}

/// Intervals among `operands` become their lengths; whether there were any.
fn compare_lengths(operands: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let is_interval = |o: &&mut Expr| matches!(type_of(o, schema), Ok(DataType::Interval(_)));
    if !operands.iter().all(is_interval) {
        return false;
    }
    for operand in operands {
        **operand = length_of(std::mem::take(*operand));
    }
    true
}

/// The text of a literal whose type is open.
pub(super) fn unknown_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _)
        | Expr::Literal(ScalarValue::Utf8View(Some(text)), _)
        | Expr::Literal(ScalarValue::LargeUtf8(Some(text)), _) => Some(text),
        _ => None,
    }
}

pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

/// The type of an expression, for a literal beside it; `None` where it is not known yet.
pub(super) fn field_beside(expr: &Expr, schema: &DFSchema) -> Option<FieldRef> {
    if let Expr::Literal(ScalarValue::Int64(Some(value)), _) = expr
        && i32::try_from(*value).is_ok()
    {
        return Some(field_of("", ColumnType::Integer, false));
    }
    if let Expr::Cast(cast) = expr {
        // Else it would still be the char(n) that is cast.
        return Some(cast.field.clone());
    }
    let (_, field) = expr.to_field(schema).ok()?;
    // These give back one of their arguments, and DataFusion forgets that it was a char(n).
    let source = match expr {
        Expr::AggregateFunction(function) if matches!(function.func.name(), "min" | "max") => {
            function.params.args.first()
        }
        Expr::ScalarFunction(function) if matches!(function.name(), "coalesce" | "nullif" | "greatest" | "least") => {
            function.args.first()
        }
        _ => None,
    };
    if let (Some(source), DataType::Utf8 | DataType::Utf8View) = (source, field.data_type()) {
        return field_beside(source, schema);
    }
    (*field.data_type() != DataType::Null).then_some(field)
}

/// [`field_beside`], without what is noted with the type.
pub(super) fn type_beside(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) if i32::try_from(*value).is_ok() => Some(DataType::Int32),
        _ => type_of(expr, schema).ok().filter(|data_type| *data_type != DataType::Null),
    }
}

/// `expr` as a value of the type of `field`, if it is a literal whose type is open and that is not text.
pub(super) fn typed_as(expr: &Expr, field: &Field) -> Result<Option<Expr>> {
    let (Some(text), Some(column_type)) = (unknown_text(expr), column_type_of(field)) else { return Ok(None) };
    let target = match column_type {
        ColumnType::Text | ColumnType::Varchar(_) => return Ok(None),
        ColumnType::Char(_) => {
            // The constants of other statements have no blanks at their end either.
            let trimmed = text.trim_end_matches(' ');
            let literal = || Expr::Literal(ScalarValue::Utf8(Some(trimmed.to_owned())), None);
            return Ok((trimmed.len() < text.len()).then(literal));
        }
        ColumnType::Numeric { .. } => {
            check_value_free(expr)?;
            let (precision, scale) = numeric_digits(text).map_err(EngineError::from)?;
            ColumnType::Numeric { precision, scale }
        }
        column_type => column_type,
    };
    Ok(Some(cast_to(expr.clone(), target)))
}

/// A cast by PostgreSQL's rules.
pub(super) fn cast_to(expr: Expr, target: ColumnType) -> Expr {
    Expr::Cast(Cast::new_from_field(Box::new(expr), field_of("", target, true)))
}
