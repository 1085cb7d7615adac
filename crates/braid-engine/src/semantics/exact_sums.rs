//! `sum(bigint)` is numeric, as in PostgreSQL: DataFusion's would wrap around silently.

use arrow::datatypes::DataType;
use braid_df::type_of;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, LogicalPlan, WindowFunctionDefinition};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions;

/// Digits of the largest 64-bit integer, signed or not.
const DIGITS_64: u8 = 20;

#[derive(Debug)]
pub(super) struct ExactSums;

impl AnalyzerRule for ExactSums {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| widen(expr, schema)))
    }

    fn name(&self) -> &str {
        "exact_sums"
    }
}

fn widen(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let arguments = match &mut expr {
        Expr::AggregateFunction(function) if function.func.name() == "sum" => &mut function.params.args,
        Expr::WindowFunction(function) => match &function.fun {
            WindowFunctionDefinition::AggregateUDF(fun) if fun.name() == "sum" => &mut function.params.args,
            _ => return Ok(Transformed::no(expr)),
        },
        _ => return Ok(Transformed::no(expr)),
    };
    let [argument] = arguments.as_mut_slice() else { return Ok(Transformed::no(expr)) };
    if !matches!(type_of(argument, schema), Ok(DataType::Int64 | DataType::UInt64)) {
        return Ok(Transformed::no(expr));
    }
    let narrow = std::mem::take(argument);
    *argument = Expr::Cast(Cast::new(Box::new(narrow), DataType::Decimal128(DIGITS_64, 0)));
    Ok(Transformed::yes(expr))
}
