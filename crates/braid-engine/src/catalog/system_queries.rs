//! Queries on the system tables, as clients send them: rewritten by datafusion-pg-catalog's parser rules.
//!
//! psql's `\d` and the metadata calls of drivers use features that ordinary queries do not use: casts to `regclass`,
//! `OPERATOR(pg_catalog.~)`, arrays of letters, correlated subqueries in the select list. The rules rewrite these, with
//! answers that are acceptable only for catalogs. The rules therefore apply only to queries that name a system table. They
//! make NULL of a correlated subquery in a select list: such a query is refused, unless NULL is the right answer.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, Ident, LimitClause, ObjectName, ObjectNamePart, Query, Select, SelectItem, Statement,
    TableFactor, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use datafusion_pg_catalog::pg_catalog::PG_CATALOG_TABLES;
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;

use super::snapshot_catalog::SYSTEM_SCHEMA;
use super::system_tables::ATTRIBUTE_DEFAULT;
use super::system_views::is_system_view;
use crate::EngineError;
use crate::names::fold;
use crate::statement_limits::StatementSize;

static RULES: LazyLock<PostgresCompatibilityParser> = LazyLock::new(PostgresCompatibilityParser::new);

/// The query, rewritten if it is on the system tables. `text` is the client's text if it consists of this query only; the
/// rules know the exact texts of some queries.
pub(crate) fn make_fit(mut query: Statement, text: Option<&str>) -> Result<Statement, EngineError> {
    if !is_on_system_tables(&query) {
        return Ok(query);
    }
    StatementSize::of(&query).check_on_system_tables()?;
    let mut own = OwnRules { changed: false };
    // The visitor never stops early.
    let _: ControlFlow<()> = VisitMut::visit(&mut query, &mut own);
    if query.visit(&mut NullSubqueries).is_break() {
        return Err(EngineError::unsupported(
            "a correlated subquery in the select list of a query on the system tables is not supported",
        )
        .with_hint("Join the tables instead."));
    }
    let printed = query.to_string();
    let text = if own.changed { &printed } else { text.unwrap_or(&printed) };
    let rewritten = RULES.parse(text).map_err(|error| {
        EngineError::unsupported(format!("this query on the system tables is not supported: {error}"))
    })?;
    match rewritten.into_iter().next() {
        Some(rewritten) => Ok(rewritten),
        None => Ok(query),
    }
}

/// Rewrites expressions for which the rules would give NULL or an error, although their value is known.
struct OwnRules {
    changed: bool,
}

impl VisitorMut for OwnRules {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let replacement = match expr {
            // psql's \d selects a column's default with a correlated subquery.
            Expr::Subquery(query) if is_default_of_attribute(query) => {
                Some(Expr::CompoundIdentifier(vec![Ident::new("a"), Ident::new(ATTRIBUTE_DEFAULT)]))
            }
            // psql's \du selects the roles that a role is a member of. Braid has no memberships.
            Expr::Function(function)
                if matches!(function.args, FunctionArguments::Subquery(_))
                    && function.name.to_string().eq_ignore_ascii_case("array")
                    && function.to_string().contains("pg_auth_members") =>
            {
                Some(Expr::Value(Value::SingleQuotedString("{}".to_owned()).with_empty_span()))
            }
            // psql's \\d+ selects storage parameters. Braid's tables have none.
            Expr::Function(function)
                if function.name.to_string().to_lowercase().ends_with("array_to_string")
                    && function.to_string().contains("reloptions") =>
            {
                Some(Expr::Value(Value::SingleQuotedString(String::new()).with_empty_span()))
            }
            // The rules would give a subquery without a limit the limit 1, and so hide that it has several rows.
            Expr::Subquery(query) if may_have_rows(query) => {
                query.limit_clause = two_rows();
                self.changed = true;
                None
            }
            _ => None,
        };
        if let Some(replacement) = replacement {
            *expr = replacement;
            self.changed = true;
        }
        ControlFlow::Continue(())
    }
}

/// Whether a subquery that no other rule replaces may have several rows.
fn may_have_rows(query: &Query) -> bool {
    let has_limit = query.limit_clause.is_some() || query.fetch.is_some();
    !has_limit && !is_correlated(query) && !is_collation_of_attribute(query)
}

fn two_rows() -> Option<LimitClause> {
    let two = Expr::Value(Value::Number("2".to_owned(), false).with_empty_span());
    Some(LimitClause::LimitOffset { limit: Some(two), offset: None, limit_by: Vec::new() })
}

fn is_default_of_attribute(query: &Query) -> bool {
    let text = query.to_string();
    text.contains("pg_attrdef") && text.contains("a.attrelid") && text.contains("a.attnum")
}

/// Finds a subquery of a select list that the rules would make NULL, where NULL is not its answer: a qualified name in it
/// is of no alias of its own.
struct NullSubqueries;

impl Visitor for NullSubqueries {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let becomes_null = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(Expr::Subquery(query))
            | SelectItem::ExprWithAlias { expr: Expr::Subquery(query), .. } => {
                is_correlated(query) && !is_collation_of_attribute(query)
            }
            _ => false,
        };
        if select.projection.iter().any(becomes_null) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn is_correlated(query: &Query) -> bool {
    struct ForeignNames<'a>(Vec<&'a str>);
    impl Visitor for ForeignNames<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::CompoundIdentifier(idents) if !self.0.contains(&idents[0].value.as_str()) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let Some(select) = query.body.as_select() else { return false };
    let relations = select
        .from
        .iter()
        .flat_map(|tables| std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation)));
    let aliases = relations.filter_map(|relation| match relation {
        TableFactor::Table { alias: Some(alias), .. } => Some(alias.name.value.as_str()),
        _ => None,
    });
    query.visit(&mut ForeignNames(aliases.collect())).is_break()
}

/// Whether this is psql's \d query for columns whose collation differs from that of their type. Braid has no such columns.
fn is_collation_of_attribute(query: &Query) -> bool {
    let text = query.to_string();
    text.contains("pg_collation") && text.contains("a.attcollation")
}

/// Whether a query names a system table.
pub(crate) fn is_on_system_tables(query: &Statement) -> bool {
    matches!(query.visit(&mut SystemNames), ControlFlow::Break(()))
}

struct SystemNames;

impl Visitor for SystemNames {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let parts: Vec<String> = relation
            .0
            .iter()
            .filter_map(|part| match part {
                ObjectNamePart::Identifier(ident) => Some(fold(ident)),
                ObjectNamePart::Function(_) => None,
            })
            .collect();
        match parts.as_slice() {
            // Braid's own views need no rewriting.
            [schema, view] if schema == SYSTEM_SCHEMA && is_system_view(view) => ControlFlow::Continue(()),
            [schema, ..] if schema == SYSTEM_SCHEMA => ControlFlow::Break(()),
            [table] if PG_CATALOG_TABLES.contains(&table.as_str()) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { data_type, .. } if data_type.to_string().to_lowercase().contains("reg") => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn only_queries_on_system_tables_are_touched() {
        let is_system =
            |sql: &str| is_on_system_tables(&Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop().unwrap());
        assert!(is_system("select * from pg_catalog.pg_class"));
        assert!(is_system("select * from t where exists (select 1 from pg_type)"));
        assert!(is_system("select 't'::regclass"));
        assert!(!is_system("select * from pg_statistics_of_mine"));
        assert!(!is_system("select * from pg_catalog.braid_passes"));
        assert!(!is_system("select a::text from t"));
    }

    #[test]
    fn correlated_subqueries_do_not_become_null() {
        let fit = |sql: &str| {
            let query = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop().unwrap();
            make_fit(query, None).map(|_| ()).map_err(|error| error.sqlstate())
        };
        let of_class = "select (select n.nspname from pg_namespace n where n.oid = c.relnamespace) from pg_class c";
        assert_eq!(fit(of_class), Err("0A000"));
        assert_eq!(
            fit(&format!("select * from ({}) s", of_class.replace(" from pg_class", " as x from pg_class"))),
            Err("0A000")
        );
        assert_eq!(fit("select (select count(*) from pg_namespace n where n.oid > 0) from pg_class c"), Ok(()));
    }
}
