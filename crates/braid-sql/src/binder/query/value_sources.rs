//! `SET (a, b) = (SELECT …)`: queries that give new values of several columns at once.
//!
//! Each is evaluated once for each row that is changed. It stands behind the items of FROM under a name that begins with [`VALUE_SOURCE`]
//! and has a name for each value.

use sqlparser::ast::{Query as Syntax, SelectItem, SetExpr, TableFactor, TableWithJoins};

use super::scope::{Scope, ScopeColumn, ScopeRelation};
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::pg_catalog::TypeId;
use crate::relation::{ColumnId, JoinKind, Relation};
use crate::tables::{COMPUTED, VALUE_SOURCE};
use crate::values::Value;
use crate::{Expression, SqlError, SqlState};

/// What gives values to the rows of a query.
pub(super) enum ValueSource {
    /// A query of one row for each of them.
    Query(Relation),
    /// An expression over them.
    Expression(ColumnId, Expression),
}

impl ValueSource {
    /// The rows with the values.
    pub fn beside(self, rows: Relation) -> Relation {
        let input = Box::new(rows);
        match self {
            Self::Query(query) => {
                let (kind, condition) = (JoinKind::Single, Expression::of(Value::Bool(true), TypeId::BOOL));
                Relation::Join { kind, left: input, right: Box::new(query), condition }
            }
            Self::Expression(column, expression) => Relation::Map { input, expressions: vec![(column, expression)] },
        }
    }
}

/// The items of FROM, and the sources of values behind them.
pub(super) fn split_value_sources(items: &[TableWithJoins]) -> (&[TableWithJoins], &[TableWithJoins]) {
    let is_source = |item: &TableWithJoins| match &item.relation {
        TableFactor::Derived { alias: Some(alias), .. } => {
            alias.name.value.starts_with(VALUE_SOURCE) || alias.name.value == COMPUTED
        }
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
    ) -> Result<Vec<ValueSource>, SqlError> {
        let mut bound = Vec::new();
        for source in sources {
            let TableFactor::Derived { subquery, alias: Some(alias), .. } = &source.relation else { continue };
            if alias.name.value == COMPUTED {
                bound.push(self.computed(subquery, scope)?);
                continue;
            }
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
            bound.push(ValueSource::Query(query.relation));
        }
        Ok(bound)
    }

    /// The only expression of a query as one over the rows of this one.
    fn computed(&self, syntax: &Syntax, scope: &mut Scope<'_>) -> Result<ValueSource, SqlError> {
        let items = match &*syntax.body {
            SetExpr::Select(select) => &select.projection[..],
            _ => &[],
        };
        let [SelectItem::UnnamedExpr(item)] = items else {
            return Err(SqlError::new(SqlState::InternalError, "an expression over rows is none"));
        };
        let binder = self.in_scope(scope, Clause::MergeWhen);
        let expression = binder.resolve_unknown(binder.expression(item)?)?;
        let sql_type = expression.sql_type;
        let id = self.new_column(COMPUTED, sql_type);
        let own =
            ScopeRelation::named(COMPUTED.to_owned(), vec![ScopeColumn { name: COMPUTED.to_owned(), id, sql_type }]);
        scope.relations.push(ScopeRelation { has_visible_columns: false, ..own });
        Ok(ValueSource::Expression(id, expression))
    }
}
