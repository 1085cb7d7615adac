//! Expressions over one row of a table, outside of queries: the conditions of CHECK.
//!
//! Names are those of the table's columns, also behind the table's name. What a row alone does not decide (aggregates, windows, sets of
//! rows, subqueries) is refused as PostgreSQL refuses it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use sqlparser::ast::Expr;

use super::scope::{Scope, ScopeColumn, ScopeRelation};
use crate::SqlError;
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::expression::Expression;
use crate::relation::ColumnId;
use crate::tables::TableEntry;

/// An expression over the columns of a table.
#[derive(Clone, Debug)]
pub struct RowExpression {
    /// The expression.
    pub expression: Expression,
    /// The columns that it reads, as it names them, with their places in the table, ascending.
    pub columns: Vec<(usize, ColumnId)>,
}

impl Binder<'_> {
    /// The condition of a CHECK over the rows of a table.
    ///
    /// # Errors
    /// Those of the expression; 42804 for one that is no boolean.
    pub fn check_condition(&self, syntax: &Expr, table: &TableEntry) -> Result<RowExpression, SqlError> {
        let scope = self.scope_of_row(table);
        let expression = self.in_scope(&scope, Clause::Check).boolean(syntax, "argument of CHECK")?;
        self.statement.note_unknown(&expression);
        Ok(RowExpression { columns: columns_read(&expression, &scope), expression })
    }

    fn scope_of_row(&self, table: &TableEntry) -> Scope<'_> {
        let column = |column: &crate::tables::TableColumn| ScopeColumn {
            name: column.name.clone(),
            id: self.new_column(&column.name, column.sql_type),
            sql_type: column.sql_type,
        };
        let columns = table.columns.iter().map(column).collect();
        let own = ScopeRelation::named(table.name.clone(), columns);
        Scope::within(self).with_relations(vec![ScopeRelation { schema: Some(table.schema.clone()), ..own }])
    }
}

/// The places of the columns that an expression reads.
fn columns_read(expression: &Expression, scope: &Scope<'_>) -> Vec<(usize, ColumnId)> {
    let read = RefCell::new(BTreeSet::new());
    let note = |column: ColumnId| {
        read.borrow_mut().insert(column);
        false
    };
    // Nothing is such a column, so that all are looked at.
    let _ = expression.place_of(&note);
    let read = read.into_inner();
    let columns = scope.relations.iter().flat_map(|relation| &relation.columns).enumerate();
    columns.filter(|(_, column)| read.contains(&column.id)).map(|(at, column)| (at, column.id)).collect()
}
