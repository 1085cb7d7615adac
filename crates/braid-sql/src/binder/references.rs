//! The relations and columns that a statement names, for who must know what depends on them.
//!
//! What stands in the texts of views is not among them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::query::scope::ScopeColumn;
use super::{Binder, Statement};
use crate::expression::{Expression, Origin};
use crate::relation::ColumnId;
use crate::tables::TableEntry;

/// A table or view that a statement names.
#[derive(Clone, Debug)]
pub struct Referenced {
    /// The schema, if it is written.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// What it means.
    pub table: Arc<TableEntry>,
    /// Which of its columns are read, in order.
    pub is_read: Vec<bool>,
}

/// What a statement has named so far.
#[derive(Debug, Default)]
pub(super) struct References {
    tables: RefCell<Vec<(Referenced, Vec<ColumnId>)>>,
    columns: RefCell<BTreeSet<ColumnId>>,
}

impl Statement<'_> {
    /// The statement, which notes what it names.
    #[must_use]
    pub fn with_references(self) -> Self {
        Self { references: Some(References::default()), ..self }
    }

    /// The tables and views that it has named, each as often as it has.
    pub fn referenced(&self) -> Vec<Referenced> {
        let Some(References { tables, columns }) = &self.references else { return Vec::new() };
        let columns = columns.borrow();
        let is_read = |ids: &[ColumnId]| ids.iter().map(|id| columns.contains(id)).collect();
        let tables = tables.borrow();
        tables.iter().map(|(named, ids)| Referenced { is_read: is_read(ids), ..named.clone() }).collect()
    }
}

impl Binder<'_> {
    /// A column where it is named.
    pub(super) fn reference(&self, column: &ScopeColumn, origin: Origin) -> Expression {
        self.note_reference(column.id);
        column.expression(origin)
    }

    /// Notes a column that is named.
    pub(super) fn note_reference(&self, column: ColumnId) {
        if let Some(references) = &self.statement.references {
            references.columns.borrow_mut().insert(column);
        }
    }

    /// Notes a table or view that is named, with its columns.
    pub(super) fn note_table(
        &self,
        (schema, name): (Option<&str>, &str),
        table: &Arc<TableEntry>,
        columns: &[ScopeColumn],
    ) {
        if let Some(references) = &self.statement.references
            && !self.is_in_view()
        {
            let (schema, name) = (schema.map(str::to_owned), name.to_owned());
            let named = Referenced { schema, name, table: table.clone(), is_read: Vec::new() };
            references.tables.borrow_mut().push((named, columns.iter().map(|column| column.id).collect()));
        }
    }
}
