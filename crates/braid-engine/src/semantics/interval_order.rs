//! Intervals are sorted by their length, and refused where equal ones would have to be one.
//!
//! `'1 day'` and `'24 hours'` are equal and look different. DataFusion compares months, days and time one by one, so that
//! sorts get the length (`interval_functions`) as their key. Groups, DISTINCT, set operations, `min` and their like would
//! have to answer one of several equal values; they are refused.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::operator_types::length_of;
use crate::EngineError;

#[derive(Debug)]
pub(super) struct IntervalOrder;

impl AnalyzerRule for IntervalOrder {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(order).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "interval_order"
    }
}

fn order(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    check_node(&plan)?;
    let schema = merge_schema(&plan.inputs());
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            check_expr(expr, &schema)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    let LogicalPlan::Sort(mut sort) = plan else { return Ok(Transformed::no(plan)) };
    let mut changed = false;
    for key in &mut sort.expr {
        if is_interval(&key.expr, &schema) {
            key.expr = length_of(std::mem::take(&mut key.expr));
            changed = true;
        }
    }
    Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), changed))
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn check_node(plan: &LogicalPlan) -> Result<(), EngineError> {
    let has_intervals =
        |schema: &DFSchema| schema.fields().iter().any(|field| matches!(field.data_type(), DataType::Interval(_)));
    let refused = match plan {
        LogicalPlan::Aggregate(aggregate) => {
            let schema = aggregate.input.schema();
            let is_key = |expr: &Expr| match expr {
                Expr::GroupingSet(set) => set.distinct_expr().iter().any(|expr| is_interval(expr, schema)),
                expr => is_interval(expr, schema),
            };
            aggregate.group_expr.iter().any(is_key).then_some("GROUP BY")
        }
        LogicalPlan::Distinct(Distinct::All(input)) => has_intervals(input.schema()).then_some("DISTINCT and UNION"),
        LogicalPlan::Distinct(Distinct::On(on)) => {
            on.on_expr.iter().any(|expr| is_interval(expr, on.input.schema())).then_some("DISTINCT ON")
        }
        LogicalPlan::Join(join) => join
            .on
            .iter()
            .any(|(left, _)| is_interval(left, join.left.schema()))
            .then_some("INTERSECT, EXCEPT and USING"),
        _ => None,
    };
    refused.map_or(Ok(()), |place| Err(unsupported(place)))
}

fn check_expr(expr: &Expr, schema: &DFSchema) -> Result<(), EngineError> {
    let any = |mut exprs: &mut dyn Iterator<Item = &Expr>| Iterator::any(&mut exprs, |expr| is_interval(expr, schema));
    let refused = match expr {
        Expr::AggregateFunction(function) => {
            let params = &function.params;
            let compares = params.distinct || matches!(function.func.name(), "min" | "max" | "mode" | "median");
            let of_arguments = compares && any(&mut params.args.iter());
            of_arguments || any(&mut params.order_by.iter().map(|sort| &sort.expr))
        }
        Expr::WindowFunction(function) => {
            let params = &function.params;
            let compares = params.distinct || matches!(function.fun.name(), "min" | "max");
            (compares && any(&mut params.args.iter()))
                || any(&mut params.partition_by.iter())
                || any(&mut params.order_by.iter().map(|sort| &sort.expr))
        }
        Expr::ScalarFunction(function) if matches!(function.name(), "greatest" | "least" | "nullif") => {
            any(&mut function.args.iter())
        }
        Expr::Case(case) => case.expr.as_deref().is_some_and(|operand| is_interval(operand, schema)),
        Expr::InSubquery(membership) => is_interval(&membership.expr, schema),
        Expr::BinaryExpr(binary) => {
            matches!(binary.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
                && is_interval(&binary.left, schema)
        }
        _ => false,
    };
    if refused { Err(unsupported(&expr.to_string())) } else { Ok(()) }
}

fn unsupported(place: &str) -> EngineError {
    EngineError::unsupported(format!("{place}: comparing intervals for equality is not supported here"))
        .with_hint("Compare extract(epoch from …) of them.")
}
