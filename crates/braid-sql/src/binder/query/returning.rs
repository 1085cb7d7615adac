//! RETURNING: a select list over the rows that a statement has changed.
//!
//! The list is a query of its own, which runs when the changed rows are complete: a table of the number [`RETURNED_ROWS`] stands for them. It
//! has the columns of the target as they are stored, then the columns that the list reads of the other relations of FROM or USING. These
//! have the same numbers as in the query that finds the rows, which has to make them, too.

use std::collections::BTreeSet;
use std::rc::Rc;

use sqlparser::ast::{Ident, Query as Syntax, SetExpr};

use super::Pending;
use super::common_tables::unavailable;
use super::scope::{Scope, ScopeColumn, ScopeRelation};
use crate::binder::clause::Clause;
use crate::binder::records::without_record_number;
use crate::binder::{Binder, fold};
use crate::pg_catalog::TypeId;
use crate::relation::{ColumnId, Output, Query, Relation, TableScan};
use crate::tables::{RETURNED_ROWS, ROW_IDS, TableEntry};
use crate::values::Value;
use crate::{Expression, SqlError, SqlState, SqlType};

/// RETURNING of a statement.
#[derive(Clone, Debug)]
pub struct Returning {
    /// `SELECT` of the list, without any other clause.
    pub list: Syntax,
    /// The table that the statement changes.
    pub target: TableEntry,
    /// Its alias.
    pub alias: Option<Ident>,
    /// The names of the statement's common tables, which the list cannot read.
    pub common_tables: Vec<String>,
}

/// The rows of RETURNING.
#[derive(Clone, Debug)]
pub struct ReturnedRows {
    /// The list over the rows of [`RETURNED_ROWS`].
    pub query: Query,
    /// The columns of other relations that it reads, in their order in [`RETURNED_ROWS`].
    pub others: Vec<Output>,
}

impl Binder<'_> {
    /// Notes what the list may read before the query is bound that finds the rows.
    pub fn note_returning(&self, returning: &Returning) {
        self.statement.row_names.note(&returning.list);
    }

    /// Notes the relations of FROM, if they are those of a query over the rows that a statement changes.
    pub(super) fn note_changed_relations(&self, scope: &Scope<'_>) {
        if scope.relations.iter().any(|relation| relation.name.as_deref() == Some(ROW_IDS)) {
            self.statement.changed_relations.replace(scope.relations.clone());
        }
    }

    /// The select list of RETURNING. The query that finds the rows, if there is one, has been bound.
    pub fn returned_rows(&self, returning: &Returning) -> Result<ReturnedRows, SqlError> {
        let SetExpr::Select(select) = &*returning.list.body else {
            return Err(SqlError::new(SqlState::InternalError, "RETURNING without a select list"));
        };
        let target = self.returned_target(returning);
        let own: Vec<ColumnId> = target.columns.iter().map(|column| column.id).collect();
        let presence = target.presence;
        let mut scope = Scope::within(self);
        // The target and the identities of its rows come first.
        let others = self.statement.changed_relations.take().into_iter().skip(2);
        scope.relations = std::iter::once(target).chain(others).collect();
        scope.common_tables = returning.common_tables.iter().cloned().map(unavailable).map(Rc::new).collect();
        let targets = self.in_scope(&scope, Clause::Returning).select_list(&select.projection, &scope)?;
        let free: BTreeSet<ColumnId> = targets.iter().flat_map(|target| target.expression.free_columns()).collect();
        let is_other = |column: &ColumnId| !own.contains(column) && Some(*column) != presence;
        let others: Vec<Output> = free.into_iter().filter(is_other).map(|column| self.output_of(column)).collect();
        let columns = own.into_iter().chain(others.iter().map(|other| other.column)).collect();
        let table = Relation::Table(TableScan {
            table: RETURNED_ROWS,
            name: returning.target.name.clone(),
            columns,
            sample: None,
        });
        let there = |id| (id, Expression::of(Value::Bool(true), TypeId::BOOL));
        let relation = match presence {
            Some(id) => Relation::Map { input: Box::new(table), expressions: vec![there(id)] },
            None => table,
        };
        let mut query = self.finished(Pending { relation, targets })?;
        self.statement.note_unknown_in(&query.relation);
        query.outputs.iter_mut().for_each(|output| output.sql_type = without_record_number(output.sql_type));
        Ok(ReturnedRows { query, others })
    }

    /// The target, with columns for its rows as they are stored.
    fn returned_target(&self, returning: &Returning) -> ScopeRelation {
        let Returning { target, alias, .. } = returning;
        let column = |column: &crate::tables::TableColumn| ScopeColumn {
            name: column.name.clone(),
            id: self.new_table_column(column),
            sql_type: column.sql_type,
        };
        let name = alias.as_ref().map_or_else(|| target.name.clone(), fold);
        let relation = ScopeRelation::named(name, target.columns.iter().map(column).collect()).with_own_fields();
        let schema = alias.is_none().then(|| target.schema.clone());
        let presence = Some(self.new_column("*", SqlType::of(TypeId::BOOL)));
        ScopeRelation { schema, table: Some(target.id), presence, ..relation }
    }

    fn output_of(&self, column: ColumnId) -> Output {
        let known = self.statement.columns.borrow();
        Output { name: known.name(column).to_owned(), column, sql_type: known.sql_type(column) }
    }
}
