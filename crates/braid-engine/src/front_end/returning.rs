//! RETURNING of a statement, as it is planned: a select list over the rows that the statement has changed.

use std::sync::Arc;

use braid_plan::lowering::LoweredQuery;
use braid_plan::values::Form;
use braid_sql::binder::Returning;
use braid_storage::{ColumnType, TableDef};
use sqlparser::ast::{Ident, Query, SelectItem, SetExpr, With};

use super::snapshot_tables::entry_of;
use crate::names::fold;
use crate::rows::KeptTable;

/// RETURNING of a statement.
#[derive(Clone, Debug)]
pub(crate) struct ReturningList {
    /// As it is bound.
    pub(super) syntax: Returning,
    /// The types of the target's columns.
    types: Vec<ColumnType>,
}

/// The plan of RETURNING.
pub(crate) struct ReturnedPlan {
    /// The plan.
    pub query: LoweredQuery,
    /// The rows that it reads.
    pub table: Arc<KeptTable>,
}

impl ReturningList {
    /// The list of a statement that changes `target`, which has this alias. `query` is any SELECT without other clauses than its list.
    pub fn new(
        items: &[SelectItem],
        (schema, target): (&str, &TableDef),
        alias: Option<&Ident>,
        with: Option<&With>,
        mut query: Query,
    ) -> Self {
        put_items(&mut query, items.to_vec());
        let names = with.iter().flat_map(|with| &with.cte_tables).map(|cte| fold(&cte.alias.name));
        let syntax = Returning {
            list: query,
            target: entry_of(schema, target),
            alias: alias.cloned(),
            common_tables: names.collect(),
        };
        Self { syntax, types: target.columns.iter().map(|column| column.column_type).collect() }
    }

    /// A query without columns, for a statement whose rows are found without one.
    pub(super) fn no_query(&self) -> Query {
        let mut query = self.syntax.list.clone();
        put_items(&mut query, Vec::new());
        query
    }

    /// The rows that it reads: those of the target as they are stored, and `others`, the last columns of the query that finds them.
    pub(super) fn table(&self, found: &LoweredQuery, others: usize) -> Arc<KeptTable> {
        let own = self.types.iter().copied().map(Form::of_column);
        let others = &found.forms[found.forms.len() - others..];
        KeptTable::new(own.chain(others.iter().copied()).collect())
    }
}

fn put_items(query: &mut Query, items: Vec<SelectItem>) {
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = items;
    }
}
