//! The columns of the table that a statement changes which its conditions, values and RETURNING read.
//!
//! They are found by their names, without what the names mean in subqueries: a name that is a column's of the table counts as that, also where a
//! subquery's table has one of the same name. So a role may be refused that has privileges on single columns only, never the other way round.

use std::collections::BTreeSet;

use braid_base::ColumnId;
use braid_sql::syntax::walk::{Tree, Walk};
use braid_storage::TableDef;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind,
};

use crate::names::fold;

/// What a statement reads of a table.
pub(super) struct ReadColumns<'a> {
    table: &'a TableDef,
    /// What it is called, and what else has its columns: `excluded`.
    name: String,
    other_name: Option<&'static str>,
    read: BTreeSet<ColumnId>,
}

impl<'a> ReadColumns<'a> {
    /// Nothing yet, of a table that the statement calls so.
    pub fn new(table: &'a TableDef, alias: Option<&Ident>) -> Self {
        let name = alias.map_or_else(|| table.name.clone(), fold);
        Self { table, name, other_name: None, read: BTreeSet::new() }
    }

    /// From now on the rows of this name count as those of the table, too.
    pub fn call_also(&mut self, name: &'static str) {
        self.other_name = Some(name);
    }

    /// Adds what a part of the statement reads.
    pub fn add(&mut self, part: &impl Tree) {
        part.walk(self);
    }

    /// Adds what the items of a list read.
    pub fn add_items(&mut self, items: &[SelectItem]) {
        items.iter().for_each(|item| self.add_item(item));
    }

    /// Adds a column by its name.
    pub fn add_name(&mut self, name: &str) {
        self.read.extend(self.table.column(name).map(|(id, _)| id));
    }

    /// The columns; none if nothing is read.
    pub fn into_columns(self) -> Vec<ColumnId> {
        self.read.into_iter().collect()
    }

    fn add_all(&mut self) {
        self.read.extend(self.table.columns.iter().map(|column| column.id));
    }

    fn is_own_name(&self, name: Option<&Ident>) -> bool {
        name.map(fold).is_some_and(|name| name == self.name || self.other_name == Some(&*name))
    }

    fn add_item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Wildcard(_) => self.add_all(),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _)
                if self.is_own_name(last_of(name)) =>
            {
                self.add_all();
            }
            SelectItem::QualifiedWildcard(..) => {}
            SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
                self.add(expression);
            }
            SelectItem::ExprWithAliases { expr, .. } => self.add(expr),
        }
    }
}

fn last_of(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(|part| part.as_ident())
}

impl Walk for ReadColumns<'_> {
    fn enter_select(&mut self, select: &Select) {
        // A subquery that takes all columns of what is outside of it by the name of the table.
        select.projection.iter().for_each(|item| {
            if let SelectItem::QualifiedWildcard(..) = item {
                self.add_item(item);
            }
        });
    }

    fn enter_expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Identifier(name) if self.is_own_name(Some(name)) => {
                self.add_all();
            }
            Expr::Identifier(name) => self.add_name(&fold(name)),
            Expr::CompoundIdentifier(parts) => {
                let [.., qualifier, last] = &parts[..] else { return };
                match self.is_own_name(Some(qualifier)) {
                    // Also a star: it is a column that no table has.
                    true if self.table.column(&fold(last)).is_none() => self.add_all(),
                    true => self.add_name(&fold(last)),
                    false => {}
                }
            }
            Expr::QualifiedWildcard(name, _) if self.is_own_name(last_of(name)) => self.add_all(),
            Expr::Function(function) => {
                let FunctionArguments::List(list) = &function.args else { return };
                let is_row = |argument: &FunctionArg| {
                    let (FunctionArg::Unnamed(value)
                    | FunctionArg::Named { arg: value, .. }
                    | FunctionArg::ExprNamed { arg: value, .. }) = argument;
                    matches!(value, FunctionArgExpr::QualifiedWildcard(name) if self.is_own_name(last_of(name)))
                };
                if list.args.iter().any(is_row) {
                    self.add_all();
                }
            }
            _ => {}
        }
    }
}
