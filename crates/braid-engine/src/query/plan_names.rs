//! Names that tell the columns of a plan apart.
//!
//! DataFusion names a column by its expression, without casts and parentheses, and refuses two of one name where
//! PostgreSQL does not: `1 + 2 * 3, (1 + 2) * 3`, `sum(a::int), sum(a::bigint)`. In select lists the later one gets an alias
//! of ours. Functions that differ in their casts alone get the casts' types into their names, by way of a function that
//! does nothing and that the analyzer takes out again (`shown_cast`).

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, Query, Select, SelectItem, SetExpr, Value, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};

use super::column_names::item_name;
use super::rewrite::{call, string};
use crate::names::fold;
use crate::semantics::shown_cast::SHOWN_CAST;

/// Makes the names of a query's columns differ, and those of its subqueries' and of its functions.
pub(crate) fn separate_names(query: &mut Query) {
    separate_in_body(&mut query.body);
    // It never breaks off.
    let _: ControlFlow<()> = VisitMut::visit(query, &mut Separate);
}

struct Separate;

impl VisitorMut for Separate {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let functions = Functions::of(query);
        if functions.differ_in_casts() {
            let _: ControlFlow<()> = VisitMut::visit(query, &mut ShowCasts { depth: 0 });
        }
        ControlFlow::Continue(())
    }

    /// Expressions only: a column of a subquery keeps its name, by which it is known outside.
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        separate_items(&mut select.projection, false);
        ControlFlow::Continue(())
    }
}

fn separate_in_body(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            separate_in_body(left);
            separate_in_body(right);
        }
        SetExpr::Query(query) => separate_in_body(&mut query.body),
        SetExpr::Select(select) => separate_items(&mut select.projection, true),
        _ => {}
    }
}

fn separate_items(items: &mut [SelectItem], columns_too: bool) {
    let star = items.iter().any(|item| item_name(item).is_none());
    let mut seen = HashSet::new();
    for (at, item) in items.iter_mut().enumerate() {
        let (key, expr) = match item {
            SelectItem::UnnamedExpr(expr) => (plan_name(expr), expr.clone()),
            SelectItem::ExprWithAlias { expr, alias } => (PlanName::Column(fold(alias)), expr.clone()),
            _ => continue,
        };
        let plain_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let is_free = seen.insert(key.clone()) && !(star && plain_column);
        let may_rename = columns_too || matches!(item, SelectItem::UnnamedExpr(_)) && !plain_column;
        if !is_free && may_rename {
            let name = match key {
                PlanName::Column(name) => name,
                PlanName::Expression(_) => expr.to_string().to_lowercase(),
            };
            let alias = Ident::with_quote('"', format!("{name} #{}", at + 1));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

/// What DataFusion would name an expression, as far as it matters for being the same.
#[derive(Clone, PartialEq, Eq, Hash)]
enum PlanName {
    Column(String),
    /// Its columns and literals in alphabetical order: two names that are the same have the same.
    Expression(Vec<String>),
}

fn plan_name(expr: &Expr) -> PlanName {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => plan_name(expr),
        Expr::Identifier(ident) => PlanName::Column(fold(ident)),
        Expr::CompoundIdentifier(idents) => PlanName::Column(idents.last().map(fold).unwrap_or_default()),
        other => PlanName::Expression(leaves(other)),
    }
}

fn leaves<T: Visit>(tree: &T) -> Vec<String> {
    struct Leaves(Vec<String>);
    impl Visitor for Leaves {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) => self.0.push(fold(ident)),
                Expr::CompoundIdentifier(idents) => self.0.extend(idents.last().map(fold)),
                _ => {}
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            self.0.push(value.to_string());
            ControlFlow::Continue(())
        }
    }
    let mut leaves = Leaves(Vec::new());
    let _: ControlFlow<()> = tree.visit(&mut leaves);
    leaves.0.sort();
    leaves.0
}

/// The function calls of a query: by their name and leaves, the texts.
struct Functions(HashMap<(String, Vec<String>), HashSet<String>>);

impl Functions {
    fn of(query: &Query) -> Self {
        let mut functions = Self(HashMap::new());
        let _: ControlFlow<()> = query.visit(&mut functions);
        functions
    }

    fn differ_in_casts(&self) -> bool {
        let has_cast = |text: &String| text.contains("::") || text.contains("CAST(");
        self.0.values().any(|texts| texts.len() > 1 && texts.iter().any(has_cast))
    }
}

impl Visitor for Functions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            let key = (function.name.to_string().to_lowercase(), leaves(function));
            self.0.entry(key).or_default().insert(function.to_string());
        }
        ControlFlow::Continue(())
    }
}

/// Puts the types of casts within functions into view.
struct ShowCasts {
    /// Function calls around.
    depth: usize,
}

impl VisitorMut for ShowCasts {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Function(_)) {
            self.depth += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(Function { .. }) => self.depth -= 1,
            Expr::Cast { data_type, .. } if self.depth > 0 => {
                let shown = string(&data_type.to_string());
                let cast = std::mem::replace(expr, Expr::Value(Value::Null.with_empty_span()));
                *expr = call(SHOWN_CAST, vec![cast, shown]);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::rewrite::parse_query;

    #[test]
    fn equal_names_are_told_apart() {
        for (sql, expected) in [
            ("select a, a, b::text, b, 1, 2 from t", "SELECT a, a AS \"a #2\", b::TEXT, b AS \"b #4\", 1, 2 FROM t"),
            ("select *, a from t", "SELECT *, a AS \"a #2\" FROM t"),
            ("select 1+2*3, (1+2)*3", "SELECT 1 + 2 * 3, (1 + 2) * 3 AS \"(1 + 2) * 3 #2\""),
            ("select * from (select 1, 1, a, a) s", "SELECT * FROM (SELECT 1, 1 AS \"1 #2\", a, a) s"),
            ("select min(a::int)", "SELECT min(a::INT)"),
            (
                "select min(a) from t having min(a::int) > 1::int",
                "SELECT min(a) FROM t HAVING min(shown_cast(a::INT, 'INT')) > 1::INT",
            ),
        ] {
            let mut query = parse_query(sql).unwrap();
            separate_names(&mut query);
            assert_eq!(query.to_string(), expected);
        }
    }
}
