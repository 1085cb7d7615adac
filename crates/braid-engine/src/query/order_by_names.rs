//! Names in ORDER BY: alone, of the select list; within an expression, of the tables.
//!
//! `SELECT id::text FROM t ORDER BY id` sorts by the text, because that is the column's name in PostgreSQL. To DataFusion an item
//! has a name only by AS: items that ORDER BY names get their names written out.
//!
//! `SELECT -a AS a FROM t ORDER BY -a` sorts by the table's column in PostgreSQL, by the alias in DataFusion. So the alias
//! gets another name where an expression of ORDER BY has its name. The client still sees the old one. In a subquery, which is
//! asked for its columns by their names, such an ORDER BY is refused if it decides which rows there are.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::column_names::{expression_name, item_name};
use crate::names::fold;
use crate::{EngineError, SqlState};

/// Makes ORDER BY mean what it does in PostgreSQL, in a query and its subqueries.
pub(super) fn separate_aliases(query: &mut Query) -> Result<(), EngineError> {
    if let ControlFlow::Break(error) = VisitMut::visit(query, &mut WrittenNames { is_inside: false }) {
        return Err(*error);
    }
    rename_aliases(query);
    match VisitMut::visit(query, &mut Subqueries) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Writes out the names of items that ORDER BY names. A cast of a column gets another name where ORDER BY may mean the column:
/// to DataFusion they have the same.
struct WrittenNames {
    /// Whether the next query is a subquery, which is asked for its columns by their names.
    is_inside: bool,
}

impl VisitorMut for WrittenNames {
    type Break = Box<EngineError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let is_inside = std::mem::replace(&mut self.is_inside, true);
        let Query { body, order_by, .. } = query;
        let Some(OrderByKind::Expressions(keys)) = order_by.as_mut().map(|order_by| &mut order_by.kind) else {
            return ControlFlow::Continue(());
        };
        if keys.iter().any(|key| is_text_or_null(&key.expr)) {
            let error = EngineError::new(SqlState::SyntaxError, "non-integer constant in ORDER BY");
            return ControlFlow::Break(Box::new(error));
        }
        if let Some(select) = body.as_select()
            && matches!(select.distinct, Some(Distinct::Distinct))
        {
            if keys.iter().any(|key| !is_selected(&key.expr, &select.projection)) {
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return ControlFlow::Break(Box::new(EngineError::new(SqlState::InvalidColumnReference, message)));
            }
            keys.iter_mut().for_each(|key| use_place(&mut key.expr, &select.projection));
        }
        let Some(select) = leftmost_select(body) else { return ControlFlow::Continue(()) };
        let named: HashSet<String> = keys.iter().filter_map(|key| name_alone(&key.expr)).collect();
        if let Some(name) = named.iter().find(|name| is_ambiguous(name, &select.projection)) {
            let message = format!("ORDER BY \"{name}\" is ambiguous");
            return ControlFlow::Break(Box::new(EngineError::new(SqlState::AmbiguousColumn, message)));
        }
        for (at, item) in select.projection.iter_mut().enumerate() {
            let SelectItem::UnnamedExpr(expr) = &*item else { continue };
            let name = expression_name(expr);
            let alias = match name_of_column(expr) {
                Some(_) => continue,
                None if named.contains(&name) => name,
                None if is_cast_of_column(expr) && !is_inside => format!("{name} #{}", at + 1),
                None => continue,
            };
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', alias) };
        }
        ControlFlow::Continue(())
    }
}

/// Constants that are no place of a column; what they would order is nothing.
fn is_text_or_null(key: &Expr) -> bool {
    let Expr::Value(value) = key else { return false };
    matches!(value.value, Value::Null | Value::SingleQuotedString(_) | Value::Boolean(_))
}

/// Whether a key of ORDER BY is selected: by its place, its name or as the same expression.
fn is_selected(key: &Expr, items: &[SelectItem]) -> bool {
    if matches!(key, Expr::Value(_)) {
        return true;
    }
    let column = name_of_column(key);
    items.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            expr == key || column.is_some() && (item_name(item) == column || name_of_column(expr) == column)
        }
        _ => column.is_some(),
    })
}

/// Puts an item's place for an expression that repeats the item: DataFusion would look for the expression's columns.
fn use_place(key: &mut Expr, items: &[SelectItem]) {
    if name_of_column(key).is_some() || matches!(key, Expr::Value(_)) {
        return;
    }
    let is_same = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr == key,
        _ => false,
    };
    // Places are counted in columns, which a wildcard before it hides.
    if let Some(at) = items.iter().take_while(|item| item_name(item).is_some()).position(is_same) {
        *key = Expr::Value(Value::Number((at + 1).to_string(), false).with_empty_span());
    }
}

/// Whether several items that are not the same have this name.
fn is_ambiguous(name: &str, items: &[SelectItem]) -> bool {
    let mut named = items.iter().filter(|item| item_name(item).as_deref() == Some(name)).map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
        _ => unreachable!("only expressions have names"),
    });
    let first = named.next();
    named.any(|expr| Some(expr) != first && name_of_column(expr) != first.and_then(name_of_column))
}

fn leftmost_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => leftmost_select(left),
        _ => None,
    }
}

fn is_cast_of_column(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => name_of_column(expr).is_some() || is_cast_of_column(expr),
        _ => false,
    }
}

/// The last part of a column's name.
fn name_of_column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().map(fold),
        Expr::Nested(expr) => name_of_column(expr),
        _ => None,
    }
}

struct Subqueries;

impl VisitorMut for Subqueries {
    type Break = Box<EngineError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let names = names_in_expressions(query);
        let decides = query.limit_clause.is_some() || query.fetch.is_some();
        let Some(select) = query.body.as_select() else { return ControlFlow::Continue(()) };
        let decides = decides || matches!(select.distinct, Some(Distinct::On(_)));
        match select.projection.iter().find_map(|item| hiding_alias(item, &names)) {
            Some(alias) if decides => ControlFlow::Break(Box::new(EngineError::unsupported(format!(
                "ORDER BY an expression on \"{alias}\", which is a column and an alias, is not supported in a subquery"
            )))),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn rename_aliases(query: &mut Query) {
    let names = names_in_expressions(query);
    let Query { body, order_by, .. } = query;
    let (SetExpr::Select(select), Some(order_by)) = (&mut **body, order_by) else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    for at in 0..select.projection.len() {
        let Some(alias) = hiding_alias(&select.projection[at], &names) else { continue };
        let new = Ident::with_quote('"', format!("{alias} #{}", at + 1));
        if let SelectItem::ExprWithAlias { alias, .. } = &mut select.projection[at] {
            *alias = new.clone();
        }
        let distinct_keys = distinct_on(select).into_iter().flatten();
        for key in keys.iter_mut().map(|key| &mut key.expr).chain(distinct_keys) {
            if name_alone(key).as_ref() == Some(&alias) {
                *key = Expr::Identifier(new.clone());
            }
        }
    }
}

fn distinct_on(select: &mut Select) -> Option<&mut Vec<Expr>> {
    match &mut select.distinct {
        Some(Distinct::On(keys)) => Some(keys),
        _ => None,
    }
}

/// The alias of an item, if one of `names` would mean it instead of a column.
fn hiding_alias(item: &SelectItem, names: &HashSet<String>) -> Option<String> {
    let SelectItem::ExprWithAlias { expr, alias } = item else { return None };
    let alias = fold(alias);
    let is_column = name_of_column(expr).as_ref() == Some(&alias);
    (!is_column && names.contains(&alias)).then_some(alias)
}

/// The unqualified names in those keys of ORDER BY that are more than a name.
fn names_in_expressions(query: &Query) -> HashSet<String> {
    struct Names(HashSet<String>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Identifier(ident) = expr {
                self.0.insert(fold(ident));
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(HashSet::new());
    if let Some(order_by) = &query.order_by
        && let OrderByKind::Expressions(keys) = &order_by.kind
    {
        for key in keys.iter().filter(|key| name_alone(&key.expr).is_none()) {
            // It never breaks off.
            let _: ControlFlow<()> = key.expr.visit(&mut names);
        }
    }
    names.0
}

fn name_alone(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::Nested(inner) => name_alone(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::rewrite::parse_query;

    #[test]
    fn an_alias_makes_way_for_a_column() {
        for (sql, expected) in [
            ("SELECT -a AS a FROM t ORDER BY -a", "SELECT -a AS \"a #1\" FROM t ORDER BY -a"),
            ("SELECT -a AS a FROM t ORDER BY a, -a", "SELECT -a AS \"a #1\" FROM t ORDER BY \"a #1\", -a"),
            ("SELECT -a AS a FROM t ORDER BY a", "SELECT -a AS a FROM t ORDER BY a"),
            ("SELECT a::text FROM t ORDER BY a", "SELECT a::TEXT AS \"a\" FROM t ORDER BY a"),
            ("SELECT a::text FROM t ORDER BY t.a", "SELECT a::TEXT AS \"a #1\" FROM t ORDER BY t.a"),
            ("SELECT a::text FROM t ORDER BY a + 1", "SELECT a::TEXT AS \"a #1\" FROM t ORDER BY a + 1"),
            ("SELECT count(*) FROM t ORDER BY count", "SELECT count(*) AS \"count\" FROM t ORDER BY count"),
            (
                "SELECT a::text FROM t UNION SELECT b FROM u ORDER BY a",
                "SELECT a::TEXT AS \"a\" FROM t UNION SELECT b FROM u ORDER BY a",
            ),
            ("SELECT a, t.a FROM t ORDER BY a", "SELECT a, t.a FROM t ORDER BY a"),
            ("SELECT t.a AS a FROM t ORDER BY a + 1", "SELECT t.a AS a FROM t ORDER BY a + 1"),
            (
                "SELECT x FROM (SELECT -a AS a FROM t ORDER BY -a) s",
                "SELECT x FROM (SELECT -a AS a FROM t ORDER BY -a) s",
            ),
        ] {
            let mut query = parse_query(sql).unwrap();
            separate_aliases(&mut query).unwrap();
            assert_eq!(query.to_string(), expected);
        }
        let mut query = parse_query("SELECT a, a::text FROM t ORDER BY a").unwrap();
        assert_eq!(separate_aliases(&mut query).unwrap_err().sqlstate(), "42702");
        let mut query = parse_query("SELECT x FROM (SELECT -a AS a FROM t ORDER BY -a LIMIT 1) s").unwrap();
        assert_eq!(separate_aliases(&mut query).unwrap_err().sqlstate(), "0A000");
    }
}
