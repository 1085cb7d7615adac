//! ORDER BY, DISTINCT ON and GROUP BY as references to the select list; LIMIT, OFFSET and FETCH.

use sqlparser::ast::{
    Expr, Fetch, Ident, LimitClause, Offset, OrderBy, OrderByExpr, OrderByKind, Value as Syntax, ValueWithSpan,
};

use super::calls::{check_ordered, sort_key};
use super::{Pending, Target};
use crate::binder::clause::Clause;
use crate::binder::literals::signed_number;
use crate::binder::places::Place;
use crate::binder::{Binder, fold, without_parentheses};
use crate::expression::Expression;
use crate::pg_catalog::{CastContext, TypeId};
use crate::relation::{Relation, SortKey};
use crate::syntax::fetch_count;
use crate::types::type_names::format_type;
use crate::values::Value;
use crate::{SqlError, SqlState, SqlType};

/// What follows a query: its order, and how many rows are wanted.
pub(super) struct Tail<'q> {
    pub order_by: &'q [OrderByExpr],
    limit: Option<&'q Expr>,
    offset: Option<&'q Expr>,
    fetch: Option<&'q Fetch>,
    with_ties: bool,
}

/// How many rows are wanted.
pub(super) struct Limits {
    limit: Option<Expression>,
    offset: Option<Expression>,
    with_ties: bool,
}

impl<'q> Tail<'q> {
    pub fn of(
        order_by: Option<&'q OrderBy>,
        limit: Option<&'q LimitClause>,
        fetch: Option<&'q Fetch>,
    ) -> Result<Self, SqlError> {
        let order_by: &[OrderByExpr] = match order_by {
            None => &[],
            Some(OrderBy { kind: OrderByKind::Expressions(keys), interpolate: None }) => keys,
            Some(_) => return Err(SqlError::unsupported("this form of ORDER BY is not supported")),
        };
        let (limit, offset) = match limit {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|Offset { value, .. }| value))
            }
            Some(_) => return Err(SqlError::unsupported("this form of LIMIT is not supported")),
        };
        let (limit, with_ties) = match limit.map(|limit| (limit, fetch_count(limit))) {
            Some((_, Some((count, with_ties)))) => (Some(count), with_ties),
            other => (other.map(|(limit, _)| limit), fetch.is_some_and(|fetch| fetch.with_ties)),
        };
        if fetch.is_some_and(|fetch| fetch.percent) || (fetch.is_some() && limit.is_some()) {
            return Err(SqlError::unsupported("this form of FETCH is not supported"));
        }
        Ok(Self { order_by, limit, offset, fetch, with_ties })
    }

    /// What follows a query in parentheses, whose own is `self`.
    ///
    /// # Errors
    /// The clause that both have, and its place.
    pub fn within(self, around: Self) -> Result<Self, (&'static str, Place<'q>)> {
        if let ([_, ..], [first, ..]) = (self.order_by, around.order_by) {
            return Err(("ORDER BY", Place::Start(&first.expr)));
        }
        if let (Some(_), Some(offset)) = (self.offset, around.offset) {
            return Err(("OFFSET", Place::Start(offset)));
        }
        let is_limited = |tail: &Self| tail.limit.is_some() || tail.fetch.is_some();
        if is_limited(&self) && is_limited(&around) {
            let count = around.limit.or_else(|| around.fetch.and_then(|fetch| fetch.quantity.as_ref()));
            return Err(("LIMIT", count.map_or(Place::Nowhere, Place::Start)));
        }
        Ok(Self {
            order_by: if self.order_by.is_empty() { around.order_by } else { self.order_by },
            limit: self.limit.or(around.limit),
            offset: self.offset.or(around.offset),
            fetch: self.fetch.or(around.fetch),
            with_ties: self.with_ties || around.with_ties,
        })
    }

    /// Whether it keeps the peers of the last row of no order.
    pub fn has_ties_without_order(&self) -> bool {
        self.with_ties && self.order_by.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.order_by.is_empty() && self.limit.is_none() && self.offset.is_none() && self.fetch.is_none()
    }
}

/// The error of WITH TIES where rows have no order.
pub(super) fn ties_without_order() -> SqlError {
    SqlError::new(SqlState::SyntaxError, "WITH TIES cannot be specified without ORDER BY clause")
}

impl Limits {
    /// The rows that are wanted of a relation, which is sorted by `keys`.
    pub fn around(self, relation: Relation, keys: &[SortKey]) -> Result<Relation, SqlError> {
        if self.with_ties && keys.is_empty() {
            return Err(ties_without_order());
        }
        if self.limit.is_none() && self.offset.is_none() {
            return Ok(relation);
        }
        let ties = self.with_ties.then(|| keys.to_vec());
        Ok(Relation::Limit { input: Box::new(relation), offset: self.offset, limit: self.limit, ties })
    }
}

impl Binder<'_> {
    /// The keys of ORDER BY as positions of targets, to which further ones are added.
    pub(super) fn order_targets<'s>(
        &self,
        order_by: &'s [OrderByExpr],
        targets: &mut Vec<Target<'s>>,
        visible: usize,
    ) -> Result<Vec<(usize, SortKey)>, SqlError> {
        let binder = self.within(Clause::OrderBy);
        let mut keys: Vec<(usize, SortKey)> = Vec::new();
        for syntax in order_by {
            if syntax.with_fill.is_some() {
                return Err(SqlError::unsupported("WITH FILL is not supported"));
            }
            let at = binder.key_target(&syntax.expr, targets, visible)?;
            // A key that was there before changes nothing.
            if keys.iter().any(|(other, _)| *other == at) {
                continue;
            }
            let expression = binder.resolve_unknown(targets[at].expression.clone())?;
            check_ordered(&expression).map_err(|error| self.places.mark(error, Place::Start(&syntax.expr)))?;
            targets[at].expression = expression.clone();
            keys.push((at, sort_key(expression, syntax)));
        }
        Ok(keys)
    }

    /// The target that a key means: by name, by position, or as an expression, for which there may be none yet.
    pub(super) fn key_target<'s>(
        &self,
        syntax: &'s Expr,
        targets: &mut Vec<Target<'s>>,
        visible: usize,
    ) -> Result<usize, SqlError> {
        if let Some(at) = self.named_target(syntax, targets, visible)? {
            return Ok(at);
        }
        let expression = self.expression(syntax)?;
        if let Some(at) = targets.iter().position(|target| target.expression.is_same(&expression)) {
            return Ok(at);
        }
        let (name, place) = (self.expression_name(syntax), Place::Start(syntax));
        targets.push(Target { name, expression: self.resolve_unknown(expression)?, place });
        Ok(targets.len() - 1)
    }

    /// A key of GROUP BY, and the target that it is: by name, by position, or the first equal one.
    pub(super) fn key_expression(
        &self,
        syntax: &Expr,
        targets: &mut [Target<'_>],
        visible: usize,
    ) -> Result<(Option<usize>, Expression), SqlError> {
        match self.named_target(syntax, targets, visible)? {
            Some(at) => {
                targets[at].expression = self.resolve_unknown(targets[at].expression.clone())?;
                Ok((Some(at), targets[at].expression.clone()))
            }
            None => {
                let key = self.resolve_unknown(self.expression(syntax)?)?;
                Ok((targets.iter().position(|target| target.expression.is_same(&key)), key))
            }
        }
    }

    /// The target that a name or a position means; `None` for other expressions.
    fn named_target(&self, syntax: &Expr, targets: &[Target<'_>], visible: usize) -> Result<Option<usize>, SqlError> {
        // Parentheses mean nothing to PostgreSQL's grammar.
        if let Expr::Nested(inner) = syntax {
            return self.named_target(inner, targets, visible);
        }
        let place = Place::Start(syntax);
        let clause = self.clause.name();
        if let Expr::Value(literal) = syntax {
            self.look_at(literal)?;
        }
        if let Some((digits, literal)) = signed_number(syntax) {
            self.look_at(literal)?;
            let place = match syntax {
                Expr::UnaryOp { expr, .. } => Place::Before("-", expr),
                _ => place,
            };
            return match digits.parse::<i32>() {
                Ok(position) => match usize::try_from(position) {
                    Ok(position @ 1..) if position <= visible => Ok(Some(position - 1)),
                    _ => Err(self.places.mark(not_in_list(clause, &digits), place)),
                },
                Err(_) => Err(self.places.mark(non_integer(clause), place)),
            };
        }
        match syntax {
            Expr::Identifier(name) => self.target_called(name, targets, visible),
            Expr::Value(ValueWithSpan { value: Syntax::Placeholder(_), .. }) => Ok(None),
            Expr::Value(_) => Err(self.places.mark(non_integer(clause), place)),
            _ => Ok(None),
        }
    }

    /// The target of this name. In GROUP BY a column of FROM comes first.
    fn target_called(&self, name: &Ident, targets: &[Target<'_>], visible: usize) -> Result<Option<usize>, SqlError> {
        let folded = fold(name);
        if self.clause == Clause::GroupBy
            && let Some(scope) = self.scope
            && scope.visible_columns().any(|column| column.name == folded)
        {
            return Ok(None);
        }
        let mut found: Option<usize> = None;
        for (at, target) in targets.iter().enumerate().take(visible).filter(|(_, target)| target.name == folded) {
            match found {
                Some(first) if !targets[first].expression.is_same(&target.expression) => {
                    let message = format!("{} \"{folded}\" is ambiguous", self.clause.name());
                    let place = Place::At(name.span.start);
                    return Err(self.places.mark(SqlError::new(SqlState::AmbiguousColumn, message), place));
                }
                Some(_) => {}
                None => found = Some(at),
            }
        }
        Ok(found)
    }

    /// LIMIT, OFFSET and FETCH.
    pub(super) fn limits(&self, tail: &Tail<'_>) -> Result<Limits, SqlError> {
        let count = tail.limit.or_else(|| tail.fetch.and_then(|fetch| fetch.quantity.as_ref()));
        if tail.with_ties && count.is_some_and(|count| is_null(without_parentheses(count))) {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(SqlError::new(SqlState::InvalidLimit, message));
        }
        let offset = tail.offset.map(|syntax| self.row_count(syntax, Clause::Offset)).transpose()?;
        let limit = match (tail.limit, tail.fetch) {
            (Some(limit), _) => Some(self.row_count(limit, Clause::Limit)?),
            (None, Some(Fetch { quantity: Some(count), .. })) => Some(self.row_count(count, Clause::Limit)?),
            (None, Some(Fetch { quantity: None, .. })) => Some(Expression::of(Value::Int8(1), TypeId::INT8)),
            (None, None) => None,
        };
        Ok(Limits { limit, offset, with_ties: tail.with_ties })
    }

    /// A number of rows.
    fn row_count(&self, syntax: &Expr, clause: Clause) -> Result<Expression, SqlError> {
        let binder = self.within(clause);
        let place = Place::Start(syntax);
        let bound = binder.expression(syntax)?;
        let source = bound.sql_type;
        let target = SqlType::of(TypeId::INT8);
        let Ok(count) = binder.coerced(bound, place, target, CastContext::Assignment)? else {
            let message =
                format!("argument of {} must be type bigint, not type {}", clause.name(), format_type(source));
            return Err(self.places.mark(SqlError::new(SqlState::DatatypeMismatch, message), place));
        };
        let own = count.free_columns().into_iter().any(|column| self.scope.is_some_and(|scope| scope.owns(column)));
        if own {
            let message = format!("argument of {} must not contain variables", clause.name());
            return Err(self.places.mark(SqlError::new(SqlState::InvalidColumnReference, message), place));
        }
        Ok(count)
    }

    /// Order and limits of a set operation or of a query in parentheses: keys are names or positions of its columns.
    pub(super) fn with_tail<'s>(&self, pending: Pending<'s>, tail: &Tail<'s>) -> Result<Pending<'s>, SqlError> {
        if tail.is_empty() {
            return Ok(pending);
        }
        let query = self.finished(pending)?;
        let pending = Pending::of(query);
        let binder = self.within(Clause::OrderBy);
        let mut keys: Vec<SortKey> = Vec::new();
        for syntax in tail.order_by {
            let Some(at) = binder.named_target(&syntax.expr, &pending.targets, pending.targets.len())? else {
                if let Expr::Identifier(name) = &syntax.expr {
                    let message = format!("column \"{}\" does not exist", fold(name));
                    return Err(self
                        .places
                        .mark(SqlError::new(SqlState::UndefinedColumn, message), Place::At(name.span.start)));
                }
                let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                let detail = "Only result column names can be used, not expressions or functions.";
                let hint = "Add the expression/function to every SELECT, or move the UNION into a FROM clause.";
                let place = Place::Start(&syntax.expr);
                return Err(self
                    .places
                    .mark(SqlError::unsupported(message).with_detail(detail).with_hint(hint), place));
            };
            let expression = pending.targets[at].expression.clone();
            check_ordered(&expression).map_err(|error| self.places.mark(error, Place::Start(&syntax.expr)))?;
            keys.push(sort_key(expression, syntax));
        }
        let limits = binder.limits(tail)?;
        let relation = match keys.is_empty() {
            true => pending.relation,
            false => Relation::Sort { input: Box::new(pending.relation), keys: keys.clone() },
        };
        Ok(Pending { relation: limits.around(relation, &keys)?, targets: pending.targets })
    }
}

fn is_null(syntax: &Expr) -> bool {
    matches!(syntax, Expr::Value(ValueWithSpan { value: Syntax::Null, .. }))
}

fn not_in_list(clause: &str, position: &str) -> SqlError {
    let message = format!("{clause} position {position} is not in select list");
    SqlError::new(SqlState::InvalidColumnReference, message)
}

fn non_integer(clause: &str) -> SqlError {
    SqlError::new(SqlState::SyntaxError, format!("non-integer constant in {clause}"))
}
