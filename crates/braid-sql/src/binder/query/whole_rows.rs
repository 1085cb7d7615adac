//! Names of relations that stand for their rows: `count(t.*)`, `t IS NULL`, `row_to_json(t)`.
//!
//! A row is a [record](crate::binder::records) of the columns. Whether it is there at all is a column that FROM makes beside its relation:
//! true, and null where an outer join found no row. `IS NULL` and `count` need no record: they ask the columns.

use std::cell::RefCell;
use std::collections::BTreeSet;

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, Ident, Query};

use super::from::FromItem;
use super::scope::ScopeRelation;
use super::system_columns::READABLE;
use crate::binder::places::Place;
use crate::binder::{Binder, Placed, fold, negation, truth};
use crate::expression::{Expression, Node, Origin};
use crate::pg_catalog::TypeId;
use crate::relation::Relation;
use crate::syntax::WHOLE_ROW;
use crate::syntax::walk::{Tree, Walk};
use crate::values::Value;
use crate::{SqlError, SqlType};

/// The names of relations whose rows a statement may read, and `tableoid` if it may read that.
#[derive(Debug, Default)]
pub(in crate::binder) struct RowNames(RefCell<BTreeSet<String>>);

impl RowNames {
    /// Whether a name is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.borrow().contains(name)
    }

    /// Adds those of a query.
    pub fn note(&self, query: &Query) {
        query.walk(&mut RelationNames(&mut self.0.borrow_mut()));
    }
}

/// Looks for names that may be those of relations.
struct RelationNames<'n>(&'n mut BTreeSet<String>);

impl Walk for RelationNames<'_> {
    fn enter_expression(&mut self, expression: &Expr) {
        self.0.extend(relation_name(expression).map(fold));
        if let Expr::CompoundIdentifier(names) = expression
            && let Some(last) = names.last().map(fold)
            && READABLE.contains(&&*last)
        {
            self.0.insert(last);
        }
    }
}

/// The name of a relation that an expression may be.
fn relation_name(syntax: &Expr) -> Option<&Ident> {
    match syntax {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => match &names[..] {
            [.., relation, last] if last.value == WHOLE_ROW => Some(relation),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Binder<'a> {
    /// The item with a column that tells whether its row is there, if an expression may ask that.
    pub(super) fn with_presence(&self, mut item: FromItem) -> FromItem {
        let Some(relation) = item.names.iter_mut().rfind(|relation| !relation.is_of_identities()) else { return item };
        let is_read = relation.name.as_ref().is_some_and(|name| self.statement.row_names.has(name));
        // A name that is a column's, too, means the column, except before `.*`.
        if is_read && relation.presence.is_none() {
            let id = self.new_column("*", SqlType::of(TypeId::BOOL));
            relation.presence = Some(id);
            let expressions = vec![(id, Expression::of(Value::Bool(true), TypeId::BOOL))];
            item.relation = Relation::Map { input: Box::new(item.relation), expressions };
        }
        item
    }

    /// The relation whose row a name means: there is no such column.
    pub(in crate::binder) fn whole_row(&self, name: &Ident) -> Option<&'a ScopeRelation> {
        let name = fold(name);
        let is_column = self
            .scopes()
            .flat_map(|scope| &scope.relations)
            .any(|relation| relation.has_visible_columns && relation.columns.iter().any(|column| column.name == name));
        if is_column { None } else { self.relation_named(None, &name).ok() }
    }

    /// The relation whose row a name means.
    pub(in crate::binder) fn relation_of_names(
        &self,
        names: &[Ident],
    ) -> Result<Option<(&'a ScopeRelation, Origin)>, SqlError> {
        match names {
            [name] => Ok(self.whole_row(name).map(|relation| (relation, Origin(Some(name.span.start))))),
            names => self.relation_of_star(names),
        }
    }

    /// `t IS NULL`: whether all columns are null; `t IS NOT NULL`: whether none is. `None` if it is no row.
    pub(in crate::binder) fn whole_row_is_null(
        &self,
        syntax: &Expr,
        is_null: bool,
    ) -> Result<Option<Expression>, SqlError> {
        let Some((relation, origin)) = self.relation_of_row(syntax)? else { return Ok(None) };
        let tests = relation.row_fields().map(|(_, column)| {
            let test = truth(Node::IsNull(Box::new(self.reference(column, origin))));
            if is_null { test } else { negation(test) }
        });
        Ok(Some(truth(Node::And(tests.collect()))))
    }

    /// What is null where there is no row, if the only argument is the row of a relation.
    pub(in crate::binder) fn counted_row<'s>(
        &self,
        arguments: &'s [FunctionArg],
    ) -> Result<Option<Placed<'s>>, SqlError> {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(syntax))] = arguments else { return Ok(None) };
        let Some((relation, origin)) = self.relation_of_row(syntax)? else { return Ok(None) };
        let Some(presence) = relation.presence else { return Ok(None) };
        let is_there = Expression { node: Node::Column(presence, origin), sql_type: SqlType::of(TypeId::BOOL) };
        Ok(Some((is_there, Place::Start(syntax))))
    }
}
