//! Numbers that overflow, floats that vanish and divisions by zero are errors: DataFusion's integers wrap around, and its
//! floats become infinite.
//!
//! Integer division and everything on decimals is checked by Arrow already, and stays.

use arrow::datatypes::DataType;
use braid_df::type_of;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, ScalarUDF};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::arithmetic_function::{Arithmetic, ArithmeticFunction};
use super::rewrite_expressions;

#[derive(Debug)]
pub(super) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|expr| match expr {
                Expr::BinaryExpr(binary) => match function(&binary, schema) {
                    Some(function) => {
                        let arguments = vec![*binary.left, *binary.right];
                        Ok(Transformed::yes(ScalarUDF::from(function).call(arguments)))
                    }
                    None => Ok(Transformed::no(Expr::BinaryExpr(binary))),
                },
                expr => Ok(Transformed::no(expr)),
            })
        })
    }

    fn name(&self) -> &str {
        "checked_arithmetic"
    }
}

fn function(binary: &BinaryExpr, schema: &DFSchema) -> Option<ArithmeticFunction> {
    let operator = match binary.op {
        Operator::Plus => Arithmetic::Add,
        Operator::Minus => Arithmetic::Subtract,
        Operator::Multiply => Arithmetic::Multiply,
        Operator::Divide => Arithmetic::Divide,
        Operator::Modulo => Arithmetic::Remainder,
        _ => return None,
    };
    let left = type_of(&binary.left, schema).ok()?;
    if type_of(&binary.right, schema).ok()? != left {
        return None;
    }
    checked_function(operator, &left)
}

/// The function that checks an operator on two values of one type; `None` where there is nothing to check.
pub(super) fn checked_function(operator: Arithmetic, data_type: &DataType) -> Option<ArithmeticFunction> {
    let checked = match (operator, data_type) {
        (_, DataType::Float32 | DataType::Float64) => true,
        (Arithmetic::Divide | Arithmetic::Remainder, _) => false,
        (_, DataType::Int16 | DataType::Int32 | DataType::Int64) => true,
        _ => false,
    };
    checked.then(|| ArithmeticFunction::new(operator, data_type.clone()))
}
