//! Puts bounded functions into plans.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, EmptyRelation, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF, Union,
    Values, Window,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::bounded_function::{BoundedFunction, bounded};
use super::text_concat::TextConcat;

/// The analyzer rule: every function whose result can be larger than its arguments becomes a bounded one. It is to be the
/// last rule, after types are settled.
#[derive(Debug)]
pub struct BoundedFunctions;

impl AnalyzerRule for BoundedFunctions {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = expr.transform_up(|expr| bounded_operator(expr, &schema))?;
                let expr = expr.transform_data(bounded)?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &'static str {
        "bounded_functions"
    }
}

/// `||` as a function.
fn bounded_operator(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr { op: Operator::StringConcat, .. }) = &expr else {
        return Ok(Transformed::no(expr));
    };
    let result_type = expr.get_type(schema)?;
    if matches!(result_type, DataType::Null | DataType::List(_)) {
        return Ok(Transformed::no(expr));
    }
    let Expr::BinaryExpr(BinaryExpr { left, right, .. }) = expr else { return Ok(Transformed::no(expr)) };
    let func = Arc::new(ScalarUDF::new_from_impl(TextConcat::new(result_type)));
    let function = ScalarFunction { func, args: vec![*left, *right] };
    Ok(Transformed::yes(Expr::ScalarFunction(function)))
}

/// VALUES as a union of rows, where a function in them has not become a constant. DataFusion would compute them
/// while it plans, and keep the results in the plan.
pub(crate) fn values_as_rows(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|plan| {
        let LogicalPlan::Values(Values { schema, values }) = &plan else { return Ok(Transformed::no(plan)) };
        let mut has_call = false;
        for expr in values.iter().flatten() {
            has_call |= expr.exists(|expr| Ok(is_bounded_call(expr)))?;
        }
        if !has_call {
            return Ok(Transformed::no(plan));
        }
        let inputs: Vec<Arc<LogicalPlan>> =
            values.iter().map(|row| row_plan(row, schema).map(Arc::new)).collect::<Result<_>>()?;
        let all = Union { inputs, schema: schema.clone() };
        // UNION wants two inputs.
        Ok(Transformed::yes(match &all.inputs[..] {
            [only] => only.as_ref().clone(),
            _ => LogicalPlan::Union(all),
        }))
    })
}

/// Window functions whose arguments and keys are columns of a projection wherever a bounded function computes them. A
/// window function computes them for all rows of a partition at once.
pub(crate) fn window_arguments_as_columns(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|plan| {
        let LogicalPlan::Window(Window { input, window_expr, schema }) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let names = NamePreserver::new_for_projection();
        let mut computed: Vec<Expr> = Vec::new();
        let windows: Vec<Expr> = window_expr
            .iter()
            .map(|window| {
                let name = names.save(window);
                let rewritten = window.clone().transform_down(|expr| call_as_column(expr, &mut computed))?;
                Ok(name.restore(rewritten.data))
            })
            .collect::<Result<_>>()?;
        if computed.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let below = LogicalPlanBuilder::from(input.clone()).project(columns.chain(computed).collect::<Vec<_>>())?;
        let shown: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        let all = below.window(windows)?.project(shown)?.build()?;
        Ok(Transformed::yes(all))
    })
}

/// A column in the place of a call of a bounded function, which becomes one of `computed`.
fn call_as_column(expr: Expr, computed: &mut Vec<Expr>) -> Result<Transformed<Expr>> {
    if !is_bounded_call(&expr) {
        return Ok(Transformed::no(expr));
    }
    let known = computed.iter().position(|known| matches!(known, Expr::Alias(alias) if *alias.expr == expr));
    let at = known.unwrap_or(computed.len());
    let name = format!("__window_argument_{at}");
    if known.is_none() {
        computed.push(expr.alias(&name));
    }
    Ok(Transformed::new(Expr::Column(Column::new_unqualified(name)), true, TreeNodeRecursion::Jump))
}

/// Whether it is a call of a bounded function.
pub(crate) fn is_bounded_call(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(function) if function.func.inner().is::<BoundedFunction>())
}

/// One row of VALUES.
fn row_plan(row: &[Expr], schema: &DFSchema) -> Result<LogicalPlan> {
    let one_row = EmptyRelation { produce_one_row: true, schema: Arc::new(DFSchema::empty()) };
    let columns = row.iter().zip(schema.fields()).map(|(expr, field)| {
        let typed = expr.clone().cast_to(field.data_type(), &DFSchema::empty())?;
        Ok(typed.alias(field.name()))
    });
    let columns: Vec<Expr> = columns.collect::<Result<_>>()?;
    LogicalPlanBuilder::from(LogicalPlan::EmptyRelation(one_row)).project(columns)?.build()
}
