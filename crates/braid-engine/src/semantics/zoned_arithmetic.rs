//! Days and months added to an instant are those of the session's time zone, not of UTC.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions;
use crate::conversion::zoned_sum::ZonedSum;

#[derive(Debug)]
pub(super) struct ZonedArithmetic;

impl AnalyzerRule for ZonedArithmetic {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let zone_name = config.execution.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
        if zone_name == "UTC" {
            return Ok(plan);
        }
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|expr| match expr {
                Expr::BinaryExpr(binary) => Ok(replace(binary, schema, &zone_name)),
                expr => Ok(Transformed::no(expr)),
            })
        })
    }

    fn name(&self) -> &str {
        "zoned_arithmetic"
    }
}

fn replace(binary: BinaryExpr, schema: &DFSchema, zone_name: &str) -> Transformed<Expr> {
    use DataType::{Interval, Timestamp};
    let (Ok(left), Ok(right)) = (binary.left.get_type(schema), binary.right.get_type(schema)) else {
        return Transformed::no(Expr::BinaryExpr(binary));
    };
    let sides = match (left, binary.op, right) {
        (Timestamp(_, Some(_)), Operator::Plus | Operator::Minus, Interval(_)) => (*binary.left, *binary.right),
        (Interval(_), Operator::Plus, Timestamp(_, Some(_))) => (*binary.right, *binary.left),
        _ => return Transformed::no(Expr::BinaryExpr(binary)),
    };
    let function = ScalarUDF::from(ZonedSum::new(zone_name, binary.op == Operator::Minus));
    Transformed::yes(function.call(vec![sides.0, sides.1]))
}
