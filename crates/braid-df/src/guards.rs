//! Conditions that keep others from failing: `abs(b) > 0 AND a / b > 1`.
//!
//! PostgreSQL evaluates such parts from left to right, and none for a row that an earlier one has decided. Braid's operators
//! do the same; DataFusion's evaluate all parts for all rows of a batch, and may fail. Plans with guards therefore run on Braid's
//! operators, if these cover them.
//!
//! DataFusion's optimiser moves calls of functions behind what it takes for cheap. Among calls the order stays, so whatever can
//! fail should be a call.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

/// Whether an expression of a filter or a projection has guards.
pub(crate) fn has_guards(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter(filter) => guards(&filter.predicate),
        LogicalPlan::Projection(projection) => projection.expr.iter().any(guards),
        _ => false,
    }
}

/// Whether part of it is an AND or OR whose right side can fail.
fn guards(expr: &Expr) -> bool {
    any(expr, |expr| match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::And | Operator::Or, right, .. }) => can_fail(right),
        _ => false,
    })
}

/// Whether evaluating it may fail: it calls a function, computes or casts.
fn can_fail(expr: &Expr) -> bool {
    any(expr, |expr| match expr {
        Expr::ScalarFunction(_) | Expr::Cast(_) | Expr::Negative(_) => true,
        Expr::BinaryExpr(binary) => binary.op.is_numerical_operators(),
        _ => false,
    })
}

fn any(expr: &Expr, is: impl Fn(&Expr) -> bool) -> bool {
    let found = expr.apply(|expr| Ok(if is(expr) { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue }));
    matches!(found, Ok(TreeNodeRecursion::Stop))
}

#[cfg(test)]
mod tests {
    use datafusion::functions::math::expr_fn::abs;
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn only_a_right_side_that_can_fail_is_guarded() {
        let quotient = || (lit(10) / col("b")).gt(lit(1));
        assert!(guards(&col("b").not_eq(lit(0)).and(quotient())));
        assert!(guards(&abs(col("b")).gt(lit(0)).or(quotient())));
        assert!(guards(&lit(1).in_list(vec![lit(2)], false).and(col("a").eq(lit(1)).or(quotient())).is_null()));
        assert!(!guards(&quotient()));
        assert!(!guards(&quotient().and(col("b").not_eq(lit(0)))));
        assert!(!guards(&col("a").eq(lit(1)).and(col("b").like(lit("x%")))));
    }
}
