//! A numeric beside a float is compared as a float.
//!
//! Numeric literals make this common: `price > 0.3` on a `double precision` column. DataFusion casts the column to
//! `numeric(30,15)`, which fails on large values, rounds others and hides the column from the scan. PostgreSQL casts
//! the numeric to `double precision`; so does this rule, ahead of DataFusion's own coercion.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, LogicalPlan, Operator, cast};
use datafusion::optimizer::AnalyzerRule;

use crate::expression_types::type_of;

/// The rule; stateless.
#[derive(Debug)]
pub struct NumericCoercion;

impl AnalyzerRule for NumericCoercion {
    fn name(&self) -> &str {
        "braid_numeric_coercion"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let rewrite_plan = |plan: LogicalPlan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| Ok(rewrite(expr, &schema)))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })
        };
        plan.transform_up_with_subqueries(rewrite_plan).map(|plan| plan.data)
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(op) && mixes(&[&left, &right], schema) => {
            let (left, right) = (Box::new(as_float(*left, schema)), Box::new(as_float(*right, schema)));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::Between(Between { expr, negated, low, high }) if mixes(&[&expr, &low, &high], schema) => {
            let [expr, low, high] = [expr, low, high].map(|expr| Box::new(as_float(*expr, schema)));
            Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
        }
        Expr::InList(InList { expr, list, negated })
            if mixes(&list.iter().chain([expr.as_ref()]).collect::<Vec<_>>(), schema) =>
        {
            let expr = Box::new(as_float(*expr, schema));
            let list = list.into_iter().map(|expr| as_float(expr, schema)).collect();
            Transformed::yes(Expr::InList(InList { expr, list, negated }))
        }
        other => Transformed::no(other),
    }
}

fn compares(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether there are floats and numerics among `exprs`. An expression whose type is not known here (a column of an outer
/// query) is neither.
fn mixes(exprs: &[&Expr], schema: &DFSchema) -> bool {
    let types: Vec<DataType> = exprs.iter().filter_map(|expr| type_of(expr, schema).ok()).collect();
    types.iter().any(DataType::is_floating) && types.iter().any(DataType::is_decimal)
}

fn as_float(expr: Expr, schema: &DFSchema) -> Expr {
    match &expr {
        // Through text, as PostgreSQL: the float nearest to the number.
        Expr::Literal(
            value @ (ScalarValue::Decimal128(Some(_), ..) | ScalarValue::Decimal256(Some(_), ..)),
            metadata,
        ) => match value.to_string().parse() {
            Ok(float) => Expr::Literal(ScalarValue::Float64(Some(float)), metadata.clone()),
            Err(_) => cast(expr, DataType::Float64),
        },
        _ if type_of(&expr, schema).is_ok_and(|data_type| data_type.is_decimal()) => cast(expr, DataType::Float64),
        _ => expr,
    }
}
