//! Subqueries that DataFusion would answer wrongly where they are correlated, refused.
//!
//! An aggregation without GROUP BY has one row, also of no input. As a correlated subquery DataFusion makes a group of each value
//! of the outer query's columns, and values without input have none: `EXISTS (SELECT count(*) …)` would be false for them, and a
//! HAVING would be dropped. The OFFSET of an EXISTS would be dropped, too.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, LimitClause, Query, Select, SelectItem, Visit, Visitor};

use crate::EngineError;
use crate::names::fold_parts;

/// Checks `EXISTS (subquery)`.
pub(super) fn check_exists(subquery: &Query) -> Result<(), EngineError> {
    if matches!(&subquery.limit_clause, Some(LimitClause::LimitOffset { offset: Some(_), .. })) {
        return Err(refused("OFFSET in EXISTS"));
    }
    match subquery.body.as_select() {
        Some(select) if is_one_group(select) && (select.having.is_some() || aggregates(select)) => {
            Err(refused("an aggregation without GROUP BY in EXISTS"))
        }
        _ => Ok(()),
    }
}

/// Checks a subquery that stands for a value.
pub(super) fn check_scalar(subquery: &Query) -> Result<(), EngineError> {
    let Some(select) = subquery.body.as_select().filter(|select| is_one_group(select)) else { return Ok(()) };
    if select.having.is_some() {
        return Err(refused("HAVING without GROUP BY in a scalar subquery"));
    }
    let tests_null = select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr.visit(&mut NullTests).is_break(),
        _ => false,
    });
    if tests_null && aggregates(select) {
        Err(refused("a test for null of an aggregate in a scalar subquery"))
    } else {
        Ok(())
    }
}

fn refused(what: &str) -> EngineError {
    EngineError::unsupported(format!("{what} is not supported")).with_hint("Join a derived table in its place.")
}

fn is_one_group(select: &Select) -> bool {
    matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty())
}

/// Whether a function that it selects is an aggregate.
fn aggregates(select: &Select) -> bool {
    select.projection.iter().any(|item| item.visit(&mut Aggregates).is_break())
}

struct Aggregates;

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let name = fold_parts(&function.name).ok().and_then(|mut parts| parts.pop()).unwrap_or_default();
        let is_aggregate = matches!(
            name.as_str(),
            "count"
                | "sum"
                | "avg"
                | "min"
                | "max"
                | "every"
                | "string_agg"
                | "array_agg"
                | "variance"
                | "corr"
                | "median"
                | "bool_and"
                | "bool_or"
                | "bit_and"
                | "bit_or"
                | "bit_xor"
                | "first_value"
                | "last_value"
                | "nth_value"
        ) || ["stddev", "var_", "covar_", "regr_", "percentile_", "approx_"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_aggregate && function.over.is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

struct NullTests;

impl Visitor for NullTests {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
