//! Where a float meets a numeric, the numeric becomes a float, as in PostgreSQL.
//!
//! DataFusion does the opposite, into a numeric with 15 digits on either side of the point: `1e20::float8 * 1.5` fails,
//! and 0.1 + 0.2 is exactly 0.3.

use arrow::datatypes::DataType;
use braid_df::type_of;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions;

#[derive(Debug)]
pub(super) struct MixedNumbers;

impl AnalyzerRule for MixedNumbers {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|mut expr| {
                let mut operands: Vec<&mut Expr> = match &mut expr {
                    Expr::BinaryExpr(binary) if is_numeric(binary.op) => {
                        vec![&mut *binary.left, &mut *binary.right]
                    }
                    Expr::Between(between) => vec![&mut *between.expr, &mut *between.low, &mut *between.high],
                    Expr::InList(list) => {
                        let mut operands = vec![&mut *list.expr];
                        operands.extend(list.list.iter_mut());
                        operands
                    }
                    _ => return Ok(Transformed::no(expr)),
                };
                if unify(&mut operands, schema) { Ok(Transformed::yes(expr)) } else { Ok(Transformed::no(expr)) }
            })
        })
    }

    fn name(&self) -> &str {
        "mixed_numbers"
    }
}

/// Arithmetic and comparisons.
fn is_numeric(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    operator.is_numerical_operators()
        || matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Makes the numerics among the operands floats if any operand is one.
fn unify(operands: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let types: Vec<Option<DataType>> = operands.iter().map(|operand| type_of(operand, schema).ok()).collect();
    let any = |is: fn(&DataType) -> bool| types.iter().flatten().any(is);
    // A real that meets another number becomes a double as well.
    let all_real = types.iter().flatten().all(|data_type| *data_type == DataType::Float32 || !data_type.is_numeric());
    if !any(DataType::is_floating) || all_real || !any(|data_type| !data_type.is_floating()) {
        return false;
    }
    for (operand, data_type) in operands.iter_mut().zip(&types) {
        let becomes_double = |data_type: &DataType| data_type.is_decimal() || *data_type == DataType::Float32;
        if data_type.as_ref().is_some_and(becomes_double) {
            let numeric = std::mem::take(*operand);
            **operand = Expr::Cast(Cast::new(Box::new(numeric), DataType::Float64));
        }
    }
    true
}
