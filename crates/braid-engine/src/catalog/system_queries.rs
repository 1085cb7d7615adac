//! Queries on the system tables, as clients send them: rewritten by datafusion-pg-catalog's parser rules.
//!
//! psql's `\d` and the metadata calls of drivers use much of PostgreSQL that ordinary queries do not: casts to
//! `regclass`, `OPERATOR(pg_catalog.~)`, arrays of letters, correlated subqueries in the select list. The rules make
//! them fit, at the price of answers that are only good for catalogs (a correlated subquery in a select list becomes
//! NULL). So only a query that names a system table goes through them.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, ObjectNamePart, Statement, Visit, Visitor};
use datafusion_pg_catalog::pg_catalog::PG_CATALOG_TABLES;
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;

use crate::EngineError;
use crate::names::fold;

static RULES: LazyLock<PostgresCompatibilityParser> = LazyLock::new(PostgresCompatibilityParser::new);

/// The query as it is, or rewritten if it is on the system tables.
pub(crate) fn make_fit(query: Statement) -> Result<Statement, EngineError> {
    if !is_on_system_tables(&query) {
        return Ok(query);
    }
    let rewritten = RULES.parse(&query.to_string()).map_err(|error| {
        EngineError::unsupported(format!("this query on the system tables is not understood: {error}"))
    })?;
    match rewritten.into_iter().next() {
        Some(rewritten) => Ok(rewritten),
        None => Ok(query),
    }
}

fn is_on_system_tables(query: &Statement) -> bool {
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
            [schema, ..] if schema == "pg_catalog" => ControlFlow::Break(()),
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
        assert!(!is_system("select a::text from t"));
    }
}
