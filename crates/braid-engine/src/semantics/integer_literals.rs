//! `1` is an integer, not a bigint, where it fits.
//!
//! So `1 + 1` overflows where PostgreSQL's does, `sum(1)` is a bigint and not a numeric, and clients get the type they
//! expect. Left alone: what `count(*)` counts, arguments of window functions (whose offsets must be bigint), limits, and
//! lists of values and recursive queries (whose parts agreed on their types when they were planned).

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions_unless;

#[derive(Debug)]
pub(super) struct IntegerLiterals;

impl AnalyzerRule for IntegerLiterals {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions_unless(plan, |plan| matches!(plan, LogicalPlan::Values(_)), |expr, _| narrow(expr))
    }

    fn name(&self) -> &str {
        "integer_literals"
    }
}

fn narrow(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_down(|expr| match &expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), metadata) => match i32::try_from(*value) {
            Ok(value) => Ok(Transformed::yes(Expr::Literal(ScalarValue::Int32(Some(value)), metadata.clone()))),
            Err(_) => Ok(Transformed::no(expr)),
        },
        // Above 2^63 it is a numeric.
        Expr::Literal(ScalarValue::UInt64(Some(value)), metadata) => {
            let numeric = ScalarValue::Decimal128(Some(i128::from(*value)), 20, 0);
            Ok(Transformed::yes(Expr::Literal(numeric, metadata.clone())))
        }
        Expr::AggregateFunction(function) if function.func.name() == "count" => {
            Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump))
        }
        Expr::WindowFunction(_) => Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump)),
        _ => Ok(Transformed::no(expr)),
    })
}
