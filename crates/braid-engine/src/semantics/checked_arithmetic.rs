//! Numbers that overflow, floats that vanish and divisions by zero are errors: DataFusion's integers wrap around, and its
//! floats become infinite. Negation is arithmetic, too.
//!
//! Integer division is checked by Arrow already, but DataFusion takes a division for cheaper than any function, and moves it
//! before a condition that keeps it from failing; as a function it stays behind. Everything on decimals stays as it is.

use arrow::datatypes::DataType;
use braid_df::type_of;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
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
                Expr::Negative(inner) => negated(*inner, schema),
                Expr::WindowFunction(mut function) => {
                    let params = &mut function.params;
                    let orders = params.order_by.iter_mut().map(|key| &mut key.expr);
                    params.partition_by.iter_mut().chain(orders).for_each(|key| unite_zeros(key, schema));
                    Ok(Transformed::yes(Expr::WindowFunction(function)))
                }
                expr => Ok(Transformed::no(expr)),
            })
        })
    }

    fn name(&self) -> &str {
        "checked_arithmetic"
    }
}

/// Zero minus an integer, so that the least one overflows, or a float times -1, so that zero gets its sign and NaN none.
fn negated(value: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let data_type = type_of(&value, schema)?;
    let (operator, constant) = match data_type {
        DataType::Int16 => (Arithmetic::Subtract, ScalarValue::Int16(Some(0))),
        DataType::Int32 => (Arithmetic::Subtract, ScalarValue::Int32(Some(0))),
        DataType::Int64 => (Arithmetic::Subtract, ScalarValue::Int64(Some(0))),
        DataType::Float32 => (Arithmetic::Multiply, ScalarValue::Float32(Some(-1.0))),
        DataType::Float64 => (Arithmetic::Multiply, ScalarValue::Float64(Some(-1.0))),
        _ => return Ok(Transformed::no(Expr::Negative(Box::new(value)))),
    };
    let function = ScalarUDF::from(ArithmeticFunction::new(operator, data_type));
    Ok(Transformed::yes(function.call(vec![Expr::Literal(constant, None), value])))
}

/// Makes zeros of either sign one key of a window: adding zero takes the sign away, and nothing else.
fn unite_zeros(key: &mut Expr, schema: &DFSchema) {
    let zero = match type_of(key, schema) {
        Ok(DataType::Float32) => ScalarValue::Float32(Some(0.0)),
        Ok(DataType::Float64) => ScalarValue::Float64(Some(0.0)),
        _ => return,
    };
    let function = ScalarUDF::from(ArithmeticFunction::new(Arithmetic::Add, zero.data_type()));
    *key = function.call(vec![std::mem::take(key), Expr::Literal(zero, None)]);
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
    use DataType::{Float32, Float64, Int16, Int32, Int64};
    let checked = matches!(data_type, Float32 | Float64 | Int16 | Int32 | Int64);
    checked.then(|| ArithmeticFunction::new(operator, data_type.clone()))
}
