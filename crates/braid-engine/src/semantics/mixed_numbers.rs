//! Where a float meets a numeric, the numeric becomes a float, as in PostgreSQL.
//!
//! The branches of CASE, the arguments of COALESCE and similar functions, and the elements of an array become the widest float
//! among them.
//!
//! DataFusion does the opposite, into a numeric with 15 digits on either side of the point: `1e20::float8 * 1.5` fails,
//! and 0.1 + 0.2 is exactly 0.3.

use arrow::datatypes::DataType;
use braid_df::type_of;
use braid_storage::ColumnType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::explicit_casts::as_float;
use super::rewrite_expressions;

#[derive(Debug)]
pub(super) struct MixedNumbers;

impl AnalyzerRule for MixedNumbers {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|mut expr| {
                if let Some(mut branches) = branches(&mut expr) {
                    let changed = unite(&mut branches, schema)?;
                    return Ok(Transformed::new_transformed(expr, changed));
                }
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
                if unify(&mut operands, schema)? { Ok(Transformed::yes(expr)) } else { Ok(Transformed::no(expr)) }
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

/// The parts of an expression that have one type, which is the expression's.
fn branches(expr: &mut Expr) -> Option<Vec<&mut Expr>> {
    match expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter_mut().map(|(_, result)| &mut **result);
            Some(results.chain(case.else_expr.as_deref_mut()).collect())
        }
        Expr::ScalarFunction(function)
            if matches!(function.name(), "coalesce" | "nvl" | "greatest" | "least" | "make_array") =>
        {
            Some(function.args.iter_mut().collect())
        }
        _ => None,
    }
}

/// The float that numbers of these types become where they need one type; `None` if they have one, or none is a float.
pub(super) fn common_float<'a>(types: impl Iterator<Item = &'a DataType> + Clone) -> Option<ColumnType> {
    let has = |float: &DataType| types.clone().any(|data_type| data_type == float);
    let (target, float) = match (has(&DataType::Float64), has(&DataType::Float32)) {
        (true, _) => (ColumnType::Double, DataType::Float64),
        (false, true) => (ColumnType::Real, DataType::Float32),
        (false, false) => return None,
    };
    types.clone().any(|data_type| data_type.is_numeric() && *data_type != float).then_some(target)
}

/// Makes floats of all numbers among the branches if one is a float.
fn unite(branches: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let types: Vec<Option<DataType>> = branches.iter().map(|branch| type_of(branch, schema).ok()).collect();
    let Some(target) = common_float(types.iter().flatten()) else { return Ok(false) };
    for (branch, data_type) in branches.iter_mut().zip(&types) {
        if data_type.as_ref().is_some_and(|data_type| data_type.is_numeric() && *data_type != target.arrow()) {
            **branch = as_float(std::mem::take(*branch), target)?;
        }
    }
    Ok(true)
}

/// Makes the numerics among the operands floats if any operand is one.
fn unify(operands: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let types: Vec<Option<DataType>> = operands.iter().map(|operand| type_of(operand, schema).ok()).collect();
    let any = |is: fn(&DataType) -> bool| types.iter().flatten().any(is);
    // A real that meets another number becomes a double as well.
    let all_real = types.iter().flatten().all(|data_type| *data_type == DataType::Float32 || !data_type.is_numeric());
    if !any(DataType::is_floating) || all_real || !any(|data_type| !data_type.is_floating()) {
        return Ok(false);
    }
    for (operand, data_type) in operands.iter_mut().zip(&types) {
        let becomes_double = |data_type: &DataType| data_type.is_decimal() || *data_type == DataType::Float32;
        if data_type.as_ref().is_some_and(becomes_double) {
            let numeric = std::mem::take(*operand);
            **operand = as_float(numeric, ColumnType::Double)?;
        }
    }
    Ok(true)
}
