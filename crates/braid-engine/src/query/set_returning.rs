//! Set-returning functions in the select list of a query with ORDER BY and LIMIT.
//!
//! PostgreSQL makes their rows after it has sorted, unless ORDER BY names them, so that the rows of one input row stay
//! together in the function's order. Braid makes the rows first: among rows that ORDER BY does not tell apart, LIMIT would
//! keep others. Such a query is refused.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Value, Visit, Visitor,
};

use crate::EngineError;
use crate::names::{fold, fold_parts};

const SET_RETURNING: [&str; 2] = ["generate_series", "unnest"];

/// Refuses a query that keeps some of the rows of a set-returning function that ORDER BY does not name.
pub(super) fn check_limited_order(query: &Query) -> Result<(), EngineError> {
    let (Some(order_by), Some(_)) = (&query.order_by, &query.limit_clause) else { return Ok(()) };
    let (OrderByKind::Expressions(keys), SetExpr::Select(select)) = (&order_by.kind, &*query.body) else {
        return Ok(());
    };
    // DISTINCT comes between the functions and the order.
    if select.distinct.is_some() || unnamed(select, keys).is_none() {
        return Ok(());
    }
    Err(EngineError::unsupported("LIMIT on a set-returning function that ORDER BY does not name is not supported")
        .with_hint("Add the function's column to ORDER BY."))
}

/// The first item with a set-returning function that is not among the keys.
fn unnamed<'a>(select: &'a Select, keys: &[OrderByExpr]) -> Option<&'a SelectItem> {
    let mut items = select.projection.iter().enumerate();
    items
        .find(|(at, item)| returns_set(item) && !keys.iter().any(|key| is_item(&key.expr, *at + 1, item)))
        .map(|(_, item)| item)
}

fn returns_set(item: &SelectItem) -> bool {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return false };
    expr.visit(&mut SetReturning).is_break()
}

/// Whether a key of ORDER BY is the item at this position, counted from 1.
fn is_item(key: &Expr, position: usize, item: &SelectItem) -> bool {
    if let Expr::Value(value) = key
        && let Value::Number(number, _) = &value.value
    {
        return number.parse() == Ok(position);
    }
    let named = |name: &str| matches!(key, Expr::Identifier(ident) if fold(ident) == name);
    match item {
        SelectItem::ExprWithAlias { expr, alias } => key == expr || named(&fold(alias)),
        SelectItem::UnnamedExpr(Expr::Function(function)) => {
            matches!(key, Expr::Function(key) if key == function)
                || function_name(function).is_some_and(|name| named(&name))
        }
        SelectItem::UnnamedExpr(expr) => key == expr,
        _ => false,
    }
}

fn function_name(function: &Function) -> Option<String> {
    fold_parts(&function.name).ok()?.pop()
}

struct SetReturning;

impl Visitor for SetReturning {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function)
                if function_name(function).is_some_and(|name| SET_RETURNING.contains(&name.as_str())) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::rewrite::parse_query;

    #[test]
    fn functions_that_order_by_names_are_answered() {
        let check = |sql: &str| check_limited_order(&parse_query(sql).unwrap()).is_ok();
        for sql in [
            "SELECT id, generate_series(1, 3) FROM t ORDER BY id",
            "SELECT id, generate_series(1, 3) FROM t LIMIT 2",
            "SELECT id, generate_series(1, 3) AS g FROM t ORDER BY id, g LIMIT 2",
            "SELECT id, generate_series(1, 3) FROM t ORDER BY 2, id LIMIT 2",
            "SELECT generate_series(1, 3) FROM t ORDER BY generate_series OFFSET 1",
            "SELECT generate_series(1, 3) + 1 FROM t ORDER BY generate_series(1, 3) + 1 LIMIT 1",
            "SELECT id FROM t ORDER BY id LIMIT 1",
        ] {
            assert!(check(sql), "{sql}");
        }
        for sql in [
            "SELECT id, generate_series(1, 3) AS g FROM t ORDER BY id LIMIT 2",
            "SELECT id, unnest(a) FROM t ORDER BY 1 OFFSET 2",
            "SELECT generate_series(1, 3) + 1, unnest(a) FROM t ORDER BY unnest LIMIT 1",
        ] {
            assert!(!check(sql), "{sql}");
        }
    }
}
