//! `SET (a, b) = (SELECT …)`: queries that give new values of several columns at once.
//!
//! Each is evaluated once for each row that is changed. It stands behind the items of FROM under a name that begins with [`VALUE_SOURCE`]
//! and has a name for each value.

use sqlparser::ast::{TableFactor, TableWithJoins};

use super::scope::{Scope, ScopeColumn, ScopeRelation};
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::relation::Relation;
use crate::tables::VALUE_SOURCE;
use crate::{SqlError, SqlState};

/// The items of FROM, and the sources of values behind them.
pub(super) fn split_value_sources(items: &[TableWithJoins]) -> (&[TableWithJoins], &[TableWithJoins]) {
    let is_source = |item: &TableWithJoins| match &item.relation {
        TableFactor::Derived { alias: Some(alias), .. } => alias.name.value.starts_with(VALUE_SOURCE),
        _ => false,
    };
    items.split_at(items.iter().position(is_source).unwrap_or(items.len()))
}

impl Binder<'_> {
    /// The queries of sources of values. Their columns go to `scope`, and can be named by nothing that a text says.
    pub(super) fn value_sources(
        &self,
        sources: &[TableWithJoins],
        scope: &mut Scope<'_>,
    ) -> Result<Vec<Relation>, SqlError> {
        let mut relations = Vec::new();
        for source in sources {
            let TableFactor::Derived { subquery, alias: Some(alias), .. } = &source.relation else { continue };
            let query = {
                let binder = self.in_scope(scope, Clause::Update);
                let query = binder.query(subquery, Scope::within(&binder))?;
                if query.outputs.len() != alias.columns.len() {
                    let message = "number of columns does not match number of values";
                    let error = SqlError::new(SqlState::SyntaxError, message);
                    return Err(self.places.mark(error, Place::Query(subquery)));
                }
                query
            };
            let columns = alias.columns.iter().zip(&query.outputs).map(|(name, output)| ScopeColumn {
                name: name.name.value.clone(),
                id: output.column,
                sql_type: output.sql_type,
            });
            let own = ScopeRelation::named(alias.name.value.clone(), columns.collect());
            scope.relations.push(ScopeRelation { has_visible_columns: false, ..own });
            relations.push(query.relation);
        }
        Ok(relations)
    }
}
