//! The clauses of a query, with those around it where it stands in parentheses.
//!
//! In PostgreSQL `(SELECT … LIMIT 1) ORDER BY a` is one query: its rows are sorted before they are limited. Each clause may stand once.

use sqlparser::ast::{Query as Syntax, SetExpr, With};

use super::ordering::{Tail, ties_without_order};
use crate::binder::Binder;
use crate::binder::places::Place;
use crate::{SqlError, SqlState};

/// The clauses of a query.
pub(super) struct Clauses<'q> {
    /// WITH.
    pub with: Option<&'q With>,
    /// What it selects; no query in parentheses.
    pub body: &'q SetExpr,
    /// ORDER BY, LIMIT, OFFSET and FETCH.
    pub tail: Tail<'q>,
}

impl Binder<'_> {
    /// The clauses of a query.
    pub(super) fn clauses<'q>(&self, syntax: &'q Syntax) -> Result<Clauses<'q>, SqlError> {
        let Syntax {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators,
        } = syntax
        else {
            return Err(SqlError::unsupported("this form of a query is not supported"));
        };
        if !locks.is_empty() || !pipe_operators.is_empty() {
            return Err(SqlError::unsupported("row locks are not supported"));
        }
        let tail = Tail::of(order_by.as_ref(), limit_clause.as_ref(), fetch.as_ref())?;
        match &**body {
            SetExpr::Query(inner) => self.around(with.as_ref(), tail, self.clauses(inner)?),
            body => Ok(Clauses { with: with.as_ref(), body, tail }),
        }
    }

    /// The clauses of a query in parentheses with those around it.
    fn around<'q>(&self, with: Option<&'q With>, tail: Tail<'q>, inner: Clauses<'q>) -> Result<Clauses<'q>, SqlError> {
        let twice = |clause: &str, place: Place<'_>| {
            let message = format!("multiple {clause} clauses not allowed");
            self.places.mark(SqlError::new(SqlState::SyntaxError, message), place)
        };
        if inner.tail.has_ties_without_order() {
            return Err(ties_without_order());
        }
        let tail = inner.tail.within(tail).map_err(|(clause, place)| twice(clause, place))?;
        if let (Some(with), Some(_)) = (with, inner.with) {
            return Err(twice("WITH", Place::At(with.with_token.0.span.start)));
        }
        Ok(Clauses { with: with.or(inner.with), body: inner.body, tail })
    }
}
