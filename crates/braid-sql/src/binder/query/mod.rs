//! Queries: names looked up, types made equal, clauses in the order in which PostgreSQL's parser analysis looks at them.
//!
//! | module | contents |
//! |---|---|
//! | [`clauses`] | WITH, ORDER BY and LIMIT around queries in parentheses |
//! | [`select`] | one SELECT: its clauses in order |
//! | [`select_list`] | the expressions of the select list, `*` |
//! | [`from`] | tables, functions and joins |
//! | [`locking`] | which queries may lock the rows that they read |
//! | [`grouping`] | GROUP BY, grouping sets, and what may stand above them |
//! | [`ordering`] | ORDER BY, DISTINCT ON, LIMIT |
//! | [`set_operations`] | UNION, INTERSECT, EXCEPT, VALUES |
//! | [`common_tables`] | WITH |
//! | [`calls`] | aggregates, window functions, set-returning functions |
//! | [`table_order`] | the order in which the queries of WITH RECURSIVE are bound |
//! | [`samples`] | TABLESAMPLE |
//! | [`views`] | views |
//! | [`view_session`] | the session in which the text of a view is bound |
//! | [`windows`] | OVER and WINDOW |
//! | [`subqueries`] | queries within expressions |
//! | [`rows`] | comparisons of rows |
//! | [`row_expressions`] | expressions over one row of a table |
//! | [`assignment`] | queries whose rows are stored in a table |
//! | [`returning`] | RETURNING |
//! | [`value_sources`] | queries that give new values of several columns |
//! | [`whole_rows`] | names of relations that stand for their rows |
//! | [`output_names`] | the names of columns |
//! | [`system_columns`] | the oid of the table that a row is of |
//! | [`scope`], [`column_suggestions`] | what names mean; what they may have meant |

pub mod assignment;
mod calls;
mod clauses;
mod column_suggestions;
mod common_tables;
mod from;
mod grouping;
mod locking;
mod nested_sets;
mod ordering;
pub(super) mod output_names;
pub mod returning;
pub mod row_expressions;
mod rows;
mod samples;
pub(super) mod scope;
mod select;
mod select_list;
mod set_operations;
mod subqueries;
mod system_columns;
mod table_order;
mod value_sources;
mod view_session;
mod views;
pub(super) mod whole_rows;
mod windows;

use std::collections::BTreeSet;

use sqlparser::ast::{Query as Syntax, SetExpr};

use super::Binder;
use super::places::Place;
use super::records::without_record_number;
use crate::SqlError;
use crate::expression::{Expression, Node};
use crate::pg_catalog::TypeId;
use crate::relation::{ColumnId, Output, Query, Relation, Rows};
use clauses::Clauses;
use scope::Scope;

/// A query whose columns are not computed yet: a literal among them may still get another type.
struct Pending<'s> {
    relation: Relation,
    targets: Vec<Target<'s>>,
}

/// A column of a query.
#[derive(Clone)]
struct Target<'s> {
    name: String,
    expression: Expression,
    place: Place<'s>,
}

impl<'a> Binder<'a> {
    /// A query that stands alone.
    pub fn whole_query(&self, syntax: &Syntax) -> Result<Query, SqlError> {
        self.statement.row_names.note(syntax);
        let mut query = self.query(syntax, Scope::within(self))?;
        self.statement.note_unknown_in(&query.relation);
        query.outputs.iter_mut().for_each(|output| output.sql_type = without_record_number(output.sql_type));
        Ok(query)
    }

    /// A query, with the scope that it has.
    fn query(&self, syntax: &Syntax, scope: Scope<'_>) -> Result<Query, SqlError> {
        let pending = self.pending_query(syntax, scope)?;
        self.finished(pending)
    }

    /// A query whose literals may still get another type.
    fn pending_query<'s>(&self, syntax: &'s Syntax, mut scope: Scope<'_>) -> Result<Pending<'s>, SqlError> {
        let Clauses { with, body, tail } = self.clauses(syntax)?;
        let definitions = match with {
            Some(with) => self.common_tables(with, &mut scope)?,
            None => Vec::new(),
        };
        let pending = match body {
            SetExpr::Select(select) => self.select(select, &tail, scope)?,
            SetExpr::Values(_) | SetExpr::Table(_) | SetExpr::Query(_) | SetExpr::SetOperation { .. } => {
                let binder = self.in_scope(&scope, self.clause);
                let pending = binder.set_tree(body)?;
                binder.with_tail(pending, &tail)?
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                let message = "WITH clause containing a data-modifying statement must be at the top level";
                return Err(SqlError::unsupported(message));
            }
        };
        if definitions.is_empty() {
            return Ok(pending);
        }
        // What reads the definitions comes below them, also where it stands in the select list.
        let is_needed = |_, target: &Target<'_>| target.expression.sql_type.id != TypeId::UNKNOWN;
        let (mut relation, targets) = self.with_computed(pending.relation, pending.targets, is_needed)?;
        for definition in definitions.into_iter().rev() {
            relation = definition.around(relation);
        }
        Ok(Pending { relation, targets })
    }

    /// The relation with columns for some of the targets, which then are these columns.
    fn with_computed<'q>(
        &self,
        relation: Relation,
        targets: Vec<Target<'q>>,
        is_needed: impl Fn(usize, &Target<'q>) -> bool,
    ) -> Result<(Relation, Vec<Target<'q>>), SqlError> {
        let there: BTreeSet<ColumnId> = relation.columns().into_iter().collect();
        let (mut computed, mut expressions) = (Vec::new(), Vec::new());
        for (at, target) in targets.into_iter().enumerate() {
            let is_there = matches!(target.expression.node, Node::Column(column, _) if there.contains(&column));
            if is_there || !is_needed(at, &target) {
                computed.push(target);
                continue;
            }
            let expression = self.resolve_unknown(target.expression)?;
            let sql_type = expression.sql_type;
            let column = self.new_column(&target.name, sql_type);
            self.note_domain(column, &expression);
            expressions.push((column, expression));
            computed.push(Target { expression: subqueries::column_expression(column, sql_type), ..target });
        }
        let relation = match expressions.is_empty() {
            true => relation,
            false => Relation::Map { input: Box::new(relation), expressions },
        };
        Ok((relation, computed))
    }

    /// The query with its columns computed; a literal whose type nothing told is a text.
    fn finished(&self, pending: Pending<'_>) -> Result<Query, SqlError> {
        let targets = pending
            .targets
            .into_iter()
            .map(|target| Ok(Target { expression: self.resolve_unknown(target.expression)?, ..target }));
        Ok(self.computed_columns(pending.relation, targets.collect::<Result<Vec<_>, SqlError>>()?))
    }

    /// The targets as columns of the relation.
    fn computed_columns(&self, relation: Relation, targets: Vec<Target<'_>>) -> Query {
        let (mut outputs, mut expressions) = (Vec::new(), Vec::new());
        let there: BTreeSet<ColumnId> = relation.columns().into_iter().collect();
        for Target { name, expression, .. } in targets {
            let sql_type = expression.sql_type;
            let column = match expression.node {
                Node::Column(column, _) if there.contains(&column) => column,
                // A column of a query around it becomes one of its own.
                _ => {
                    let column = self.new_column(&name, sql_type);
                    self.note_domain(column, &expression);
                    expressions.push((column, expression));
                    column
                }
            };
            outputs.push(Output { name, column, sql_type });
        }
        let relation = match expressions.is_empty() {
            true => relation,
            false => Relation::Map { input: Box::new(relation), expressions },
        };
        Query { relation, outputs }
    }
}

impl Pending<'_> {
    /// A query whose columns are computed.
    fn of(query: Query) -> Self {
        let targets = query.outputs.iter().map(|output| Target {
            name: output.name.clone(),
            expression: subqueries::column_of(output),
            place: Place::Nowhere,
        });
        Self { targets: targets.collect(), relation: query.relation }
    }
}

/// The columns of a query as those of an input.
fn rows(query: Query) -> Rows {
    Rows { columns: query.outputs.iter().map(|output| output.column).collect(), relation: query.relation }
}
