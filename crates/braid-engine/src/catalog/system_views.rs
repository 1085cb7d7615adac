//! Braid's own views in schema `pg_catalog`: what the server does, computed when a query on them is planned.
//!
//! A view belongs to the room whose state it shows; here are the names, and the view as a table. As in PostgreSQL, a name without a
//! schema means the system's view before any table of schema `public`, unless it is a query's of the same statement (WITH).
//!
//! Views show the present, not a snapshot. They can therefore be read in any transaction block, unlike the other system tables, and
//! their queries are not rewritten for clients' catalog queries ([`super::system_queries`]).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Query, TableFactor, VisitMut, VisitorMut};

use super::snapshot_catalog::SYSTEM_SCHEMA;
use crate::names::fold;

/// The view of the templates of statements.
pub(crate) const TEMPLATES_VIEW: &str = "braid_templates";

/// The view of the passes that run and have run.
pub(crate) const PASSES_VIEW: &str = "braid_passes";

/// The view of the queries that wait and run.
pub(crate) const QUERIES_VIEW: &str = "braid_queries";

/// The view of the totals of all passes.
pub(crate) const SHARING_VIEW: &str = "braid_sharing";

/// The view of what Braid's own front end answers.
pub(crate) const FRONT_END_VIEW: &str = "braid_front_end";

/// All views.
pub(crate) const SYSTEM_VIEWS: [&str; 5] = [TEMPLATES_VIEW, PASSES_VIEW, QUERIES_VIEW, SHARING_VIEW, FRONT_END_VIEW];

/// A view.
pub(crate) trait SystemView: fmt::Debug + Send + Sync {
    /// Its name, one of [`SYSTEM_VIEWS`].
    fn name(&self) -> &'static str;

    /// Its columns.
    fn schema(&self) -> SchemaRef;

    /// What it shows now, by column. Takes no lock while it makes arrays.
    fn columns(&self) -> Vec<ArrayRef>;
}

/// A view as a table.
#[derive(Debug)]
pub(super) struct ViewTable {
    view: Arc<dyn SystemView>,
}

impl ViewTable {
    pub fn new(view: Arc<dyn SystemView>) -> Self {
        Self { view }
    }
}

#[async_trait]
impl TableProvider for ViewTable {
    fn schema(&self) -> SchemaRef {
        self.view.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.view.schema();
        let rows = RecordBatch::try_new(schema.clone(), self.view.columns())?;
        MemTable::try_new(schema, vec![vec![rows]])?.scan(session, projection, filters, limit).await
    }
}

/// Whether this is the name of a view.
pub(super) fn is_system_view(name: &str) -> bool {
    SYSTEM_VIEWS.contains(&name)
}

/// Adds the schema to the names of views that have none.
pub(crate) fn qualify_views(query: &mut Query) {
    let mut names = ViewNames { hidden: Vec::new() };
    // The visitor never stops early.
    let _: ControlFlow<()> = query.visit(&mut names);
}

/// The queries in WITH around a place hide views of their names.
struct ViewNames {
    /// For each query around, the names of its queries in WITH.
    hidden: Vec<Vec<String>>,
}

impl ViewNames {
    fn is_hidden(&self, name: &str) -> bool {
        self.hidden.iter().flatten().any(|hidden| hidden == name)
    }
}

impl VisitorMut for ViewNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.push(tables.map(|table| fold(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.hidden.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name: ObjectName(parts), args: None, .. } = table
            && let [ObjectNamePart::Identifier(ident)] = &parts[..]
            && is_system_view(&fold(ident))
            && !self.is_hidden(&fold(ident))
        {
            parts.insert(0, ObjectNamePart::Identifier(Ident::new(SYSTEM_SCHEMA)));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn check(sql: &str, expected: &str) {
        let mut query = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_query().unwrap();
        qualify_views(&mut query);
        assert_eq!(query.to_string(), expected);
    }

    #[test]
    fn names_of_views_get_their_schema() {
        check("SELECT * FROM Braid_Passes AS p", "SELECT * FROM pg_catalog.Braid_Passes AS p");
        check("SELECT * FROM public.braid_passes", "SELECT * FROM public.braid_passes");
        check("SELECT * FROM \"BRAID_PASSES\"", "SELECT * FROM \"BRAID_PASSES\"");
        check(
            "SELECT * FROM t WHERE a IN (SELECT number FROM braid_templates)",
            "SELECT * FROM t WHERE a IN (SELECT number FROM pg_catalog.braid_templates)",
        );
    }

    #[test]
    fn queries_in_with_hide_views() {
        let hides = "WITH braid_queries AS (SELECT 1) SELECT * FROM braid_queries";
        check(hides, hides);
        check(
            "SELECT (WITH braid_queries AS (SELECT 1) SELECT * FROM braid_queries) FROM braid_queries",
            "SELECT (WITH braid_queries AS (SELECT 1) SELECT * FROM braid_queries) FROM pg_catalog.braid_queries",
        );
    }
}
