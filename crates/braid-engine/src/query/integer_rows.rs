//! Rows that are made of integer literals hold integers, and those with a float among literals hold floats.
//!
//! To DataFusion a literal is a bigint, and what `VALUES`, `generate_series` and recursive queries make of literals stays
//! one, so that its sum would be numeric. Literals in expressions are narrowed in the plan (`integer_literals`); these
//! have agreed on their types by then, and are cast in the syntax. A series also gets its column's name: the table
//! alias, or `generate_series`.

use std::ops::ControlFlow;

use braid_storage::ColumnType;
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, Ident, Query, Select, SelectItem, TableAlias, TableFactor,
    UnaryOperator, Value, Values, VisitMut, VisitorMut,
};

use super::rewrite::parse_query;
use crate::EngineError;
use crate::names::fold_parts;
use crate::sql_types::column_type;

const SERIES: &str = "generate_series";

/// Columns of VALUES that hold nothing but integer literals and nulls.
pub(super) fn narrow_values(values: &mut Values) {
    let width = values.rows.first().map_or(0, |row| row.len());
    for at in 0..width {
        let mut column: Vec<&mut Expr> = values.rows.iter_mut().filter_map(|row| row.get_mut(at)).collect();
        let fits = |expr: &&mut Expr| integer(expr).is_some_and(|value| i32::try_from(value).is_ok()) || is_null(expr);
        if column.iter().all(fits) {
            column.iter_mut().for_each(|expr| narrow(expr));
            continue;
        }
        for expr in column.iter_mut().filter(|expr| is_computed(expr)) {
            let _: ControlFlow<()> = expr.visit(&mut NarrowLiterals);
        }
        if let Some(float) = float_of(&column) {
            let numbers = column.into_iter().filter(|expr| is_number(expr));
            numbers.for_each(|expr| cast_to(expr, float.clone()));
        }
    }
}

/// Whether it is more than a literal: its literals are integers then.
fn is_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::Cast { .. } | Expr::Function(_) | Expr::Subquery(_) => false,
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_computed(expr),
        _ => true,
    }
}

/// The widest float that a value of the column is cast to: the others are of that type. DataFusion would make numerics of all.
fn float_of(column: &[&mut Expr]) -> Option<DataType> {
    let casts = column.iter().filter_map(|expr| match &**expr {
        Expr::Cast { data_type, .. } => Some(data_type),
        _ => None,
    });
    let is = |data_type: &DataType, float| column_type(data_type).is_ok_and(|of| of == float);
    let double = casts.clone().find(|data_type| is(data_type, ColumnType::Double));
    double.or_else(|| casts.clone().find(|data_type| is(data_type, ColumnType::Real))).cloned()
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_number(expr),
        Expr::Nested(expr) => is_number(expr),
        _ => false,
    }
}

/// Literals in the select lists and conditions of recursive queries.
pub(super) fn narrow_recursion(query: &mut Query) {
    let Some(with) = &mut query.with else { return };
    if with.recursive {
        for cte in &mut with.cte_tables {
            // It never breaks off.
            let _: ControlFlow<()> = cte.query.visit(&mut Narrow);
        }
    }
}

struct Narrow;

impl VisitorMut for Narrow {
    type Break = ();

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let items = select.projection.iter_mut().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        for expr in items.chain(&mut select.selection) {
            let _: ControlFlow<()> = expr.visit(&mut NarrowLiterals);
        }
        ControlFlow::Continue(())
    }
}

struct NarrowLiterals;

impl VisitorMut for NarrowLiterals {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Value(_)) && integer(expr).is_some() {
            narrow(expr);
        }
        ControlFlow::Continue(())
    }
}

/// `generate_series(…) AS s(v)` in FROM.
pub(super) fn name_series(factor: &mut TableFactor) -> Result<(), EngineError> {
    let TableFactor::Table { name, alias, args: Some(arguments), .. } = factor else { return Ok(()) };
    if !fold_parts(name).is_ok_and(|parts| parts == [SERIES]) {
        return Ok(());
    }
    let bounds: Option<Vec<Bound>> = arguments.args.iter().map(bound).collect();
    let is_narrow = bounds.as_ref().is_some_and(|bounds| bounds.iter().all(|bound| bound.is_integer));
    let arguments: Vec<String> = match bounds {
        Some(bounds) => bounds.iter().map(|bound| bound.value.to_string()).collect(),
        None => arguments.args.iter().map(ToString::to_string).collect(),
    };
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(SERIES),
        columns: Vec::new(),
        at: None,
    });
    let value = if is_narrow { "CAST(value AS INTEGER)" } else { "value" };
    let sql = format!("SELECT {value} AS {} FROM {SERIES}({})", alias.name, arguments.join(", "));
    let subquery = parse_query(&sql)?;
    *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    Ok(())
}

/// An argument of a series, and whether it is an integer and not a bigint.
struct Bound {
    value: i64,
    is_integer: bool,
}

fn bound(argument: &FunctionArg) -> Option<Bound> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { return None };
    if let Some(value) = integer(expr) {
        return Some(Bound { value, is_integer: i32::try_from(value).is_ok() });
    }
    // A parameter's value.
    let Expr::Cast { expr, data_type, .. } = expr else { return None };
    let is_integer = match data_type {
        DataType::SmallInt(_) | DataType::Integer(_) => true,
        DataType::BigInt(_) => false,
        _ => return None,
    };
    match &**expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(Bound { value: text.parse().ok()?, is_integer }),
            _ => None,
        },
        _ => None,
    }
}

/// A number without a point, with a sign or in parentheses.
fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, false) => digits.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => integer(expr).map(|value| -value),
        Expr::Nested(expr) => integer(expr),
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

fn narrow(expr: &mut Expr) {
    if integer(expr).is_none_or(|value| i32::try_from(value).is_err()) {
        return;
    }
    cast_to(expr, DataType::Integer(None));
}

fn cast_to(expr: &mut Expr, data_type: DataType) {
    let literal = std::mem::replace(expr, Expr::Value(Value::Null.with_empty_span()));
    *expr = Expr::Cast { kind: CastKind::Cast, expr: Box::new(literal), data_type, array: false, format: None };
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::SetExpr;

    use super::*;

    fn rewritten(sql: &str) -> String {
        struct Rewrite;
        impl VisitorMut for Rewrite {
            type Break = ();

            fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
                name_series(factor).unwrap();
                ControlFlow::Continue(())
            }

            fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
                narrow_recursion(query);
                if let SetExpr::Values(values) = &mut *query.body {
                    narrow_values(values);
                }
                ControlFlow::Continue(())
            }
        }
        let mut query = parse_query(sql).unwrap();
        let _: ControlFlow<()> = query.visit(&mut Rewrite);
        query.to_string()
    }

    #[test]
    fn rows_of_literals_are_integers() {
        for (sql, expected) in [
            (
                "SELECT * FROM generate_series(1, -(3)) AS s(v)",
                "SELECT * FROM (SELECT CAST(value AS INTEGER) AS s FROM generate_series(1, -3)) AS s (v)",
            ),
            (
                "SELECT * FROM generate_series(1, 5000000000)",
                "SELECT * FROM (SELECT value AS generate_series FROM generate_series(1, 5000000000)) AS generate_series",
            ),
            (
                "SELECT * FROM generate_series(CAST('1' AS BIGINT), CAST('2' AS INTEGER)) AS s",
                "SELECT * FROM (SELECT value AS s FROM generate_series(1, 2)) AS s",
            ),
            (
                "VALUES (1, 'a', 2), (-2, 'b', 2.5)",
                "VALUES (CAST(1 AS INTEGER), 'a', 2), (CAST(-2 AS INTEGER), 'b', 2.5)",
            ),
            (
                "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n + 1 FROM r",
                "WITH RECURSIVE r (n) AS (SELECT CAST(1 AS INTEGER) UNION ALL SELECT n + CAST(1 AS INTEGER) FROM r \
                 WHERE n < CAST(5 AS INTEGER)) SELECT n + 1 FROM r",
            ),
        ] {
            assert_eq!(rewritten(sql), expected);
        }
    }
}
