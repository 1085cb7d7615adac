//! Walks over syntax trees, compiled once.
//!
//! `Visit` of sqlparser is generic over the visitor. Each visitor of its own type therefore has the walk over every kind of node compiled again,
//! some 500 functions, in each crate that starts it. These were more than a third of the code of this crate. Here one walk that reads and one
//! that rewrites exist, and call a [`Walk`] or a [`Rewrite`] through a pointer at each node.
//!
//! Walks recurse as deeply as a tree is. None breaks off.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CreateTable, Expr, ObjectName, Query, Select, Statement, TableFactor, TableWithJoins, Visit, VisitMut, Visitor,
    VisitorMut,
};

/// What is done at the nodes of a tree: on entering before the nodes within, on leaving after them.
#[expect(missing_docs, reason = "each is the event that its name says")]
pub trait Walk {
    fn enter_query(&mut self, _query: &Query) {}
    fn leave_query(&mut self, _query: &Query) {}
    fn enter_select(&mut self, _select: &Select) {}
    /// The name of a table where it stands for its rows.
    fn enter_relation(&mut self, _name: &ObjectName) {}
    fn enter_table_factor(&mut self, _factor: &TableFactor) {}
    fn leave_table_factor(&mut self, _factor: &TableFactor) {}
    fn enter_expression(&mut self, _expression: &Expr) {}
    fn leave_expression(&mut self, _expression: &Expr) {}
}

/// What is made of the expressions and queries of a tree: on entering before those within, on leaving after them.
#[expect(missing_docs, reason = "each is the event that its name says")]
pub trait Rewrite {
    fn enter_query(&mut self, _query: &mut Query) {}
    fn leave_query(&mut self, _query: &mut Query) {}
    fn enter_expression(&mut self, _expression: &mut Expr) {}
    fn leave_expression(&mut self, _expression: &mut Expr) {}
}

/// A syntax tree.
pub trait Tree {
    /// Walks over it.
    fn walk(&self, walk: &mut dyn Walk);

    /// Walks over it and changes it.
    fn rewrite(&mut self, rewrite: &mut dyn Rewrite);
}

macro_rules! trees {
    ($($node:ty),*) => {
        $(impl Tree for $node {
            fn walk(&self, walk: &mut dyn Walk) {
                let _: ControlFlow<()> = Visit::visit(self, &mut Walking(walk));
            }

            fn rewrite(&mut self, rewrite: &mut dyn Rewrite) {
                let _: ControlFlow<()> = VisitMut::visit(self, &mut Rewriting(rewrite));
            }
        })*
    };
}

trees!(Statement, CreateTable, Query, Box<Query>, Expr, TableWithJoins);

/// A walk as sqlparser's visitor.
struct Walking<'w>(&'w mut dyn Walk);

/// Hands a call on.
macro_rules! events {
    ($($visit:ident($node:ty) is $event:ident),* $(,)?) => {
        $(fn $visit(&mut self, node: $node) -> ControlFlow<()> {
            self.0.$event(node);
            ControlFlow::Continue(())
        })*
    };
}

impl Visitor for Walking<'_> {
    type Break = ();

    events! {
        pre_visit_query(&Query) is enter_query,
        post_visit_query(&Query) is leave_query,
        pre_visit_select(&Select) is enter_select,
        pre_visit_relation(&ObjectName) is enter_relation,
        pre_visit_table_factor(&TableFactor) is enter_table_factor,
        post_visit_table_factor(&TableFactor) is leave_table_factor,
        pre_visit_expr(&Expr) is enter_expression,
        post_visit_expr(&Expr) is leave_expression,
    }
}

/// A rewriting walk as sqlparser's visitor.
struct Rewriting<'w>(&'w mut dyn Rewrite);

impl VisitorMut for Rewriting<'_> {
    type Break = ();

    events! {
        pre_visit_query(&mut Query) is enter_query,
        post_visit_query(&mut Query) is leave_query,
        pre_visit_expr(&mut Expr) is enter_expression,
        post_visit_expr(&mut Expr) is leave_expression,
    }
}
