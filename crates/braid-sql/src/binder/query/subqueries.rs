//! Queries within expressions: EXISTS, scalar subqueries, IN, ANY, ALL, ARRAY.

use sqlparser::ast::{BinaryOperator, Expr, Query};

use super::scope::Scope;
use crate::binder::clause::Clause;
use crate::binder::operators::operator_name;
use crate::binder::places::Place;
use crate::binder::{Binder, negation, truth, unnested, unsupported};
use crate::expression::{Expression, Node, Origin};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::relation::{self, ColumnId, Output, Subquery, SubqueryKind};
use crate::types::type_names::format_type;
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// `EXISTS (…)`
    pub(in crate::binder) fn exists(&self, query: &Query, negated: bool) -> Result<Expression, SqlError> {
        let bound = self.nested_query(query)?;
        let exists = truth(subquery(SubqueryKind::Exists, bound));
        Ok(if negated { negation(exists) } else { exists })
    }

    /// `(SELECT …)` as a value.
    pub(in crate::binder) fn scalar_subquery(&self, query: &Query) -> Result<Expression, SqlError> {
        let bound = self.nested_query(query)?;
        let [output] = &bound.outputs[..] else { return Err(self.one_column_only("subquery", query)) };
        let sql_type = output.sql_type;
        Ok(Expression { node: subquery(SubqueryKind::Scalar, bound), sql_type })
    }

    /// `ARRAY(SELECT …)`
    pub(in crate::binder) fn array_subquery(&self, query: &Query) -> Result<Expression, SqlError> {
        let bound = self.nested_query(query)?;
        let [output] = &bound.outputs[..] else { return Err(self.one_column_only("subquery", query)) };
        // A vector is no array of one dimension more.
        if [TypeId::INT2VECTOR, TypeId::OIDVECTOR].contains(&output.sql_type.id) {
            let message = format!("arrays of type {} are not supported", format_type(output.sql_type));
            return Err(SqlError::unsupported(message));
        }
        let array = match pg_catalog().element_of_array(output.sql_type.id) {
            Some(_) => Some(output.sql_type.id),
            None => pg_catalog().type_entry(output.sql_type.id).array,
        };
        let Some(array) = array else {
            let message = format!("could not find array type for data type {}", format_type(output.sql_type));
            return Err(SqlError::new(SqlState::UndefinedObject, message));
        };
        let sql_type = SqlType { id: array, modifier: output.sql_type.modifier };
        Ok(Expression { node: subquery(SubqueryKind::Array, bound), sql_type })
    }

    /// `x IN (SELECT …)`
    pub(in crate::binder) fn in_subquery(
        &self,
        operand: &Expr,
        query: &Query,
        negated: bool,
    ) -> Result<Expression, SqlError> {
        let is_in = self.quantified_subquery(operand, "=", query, false)?;
        Ok(if negated { negation(is_in) } else { is_in })
    }

    /// `x op ANY (SELECT …)`, or ALL.
    pub(in crate::binder) fn quantified_operator(
        &self,
        operand: &Expr,
        op: &BinaryOperator,
        query: &Query,
        is_all: bool,
    ) -> Result<Expression, SqlError> {
        let name = operator_name(op).ok_or_else(|| unsupported(operand))?;
        self.quantified_subquery(operand, name, query, is_all)
    }

    fn quantified_subquery(
        &self,
        operand: &Expr,
        operator: &str,
        query: &Query,
        is_all: bool,
    ) -> Result<Expression, SqlError> {
        // The subquery first, so that of two errors its own is reported, as by PostgreSQL.
        let bound = self.nested_query(query)?;
        let left = match unnested(operand) {
            Expr::Tuple(members) => self.row_members(members)?,
            _ => vec![self.placed(operand)?],
        };
        let place = Place::After(operand);
        if left.len() != bound.outputs.len() {
            let words = if left.len() < bound.outputs.len() { "too many" } else { "too few" };
            return Err(self
                .places
                .mark(SqlError::new(SqlState::SyntaxError, format!("subquery has {words} columns")), place));
        }
        let right = bound.outputs.iter().map(|output| (column_of(output), Place::Nowhere)).collect();
        let comparison = self.compare_rows(operator, place, left, right)?;
        if comparison.sql_type.id != TypeId::BOOL {
            let message = "operator ANY/ALL requires operator to yield boolean";
            return Err(self.places.mark(SqlError::new(SqlState::DatatypeMismatch, message), place));
        }
        let kind = SubqueryKind::Quantified { comparison: Box::new(comparison), is_all };
        Ok(truth(subquery(kind, bound)))
    }

    /// A query that may read this one's columns.
    fn nested_query(&self, query: &Query) -> Result<relation::Query, SqlError> {
        if self.clause == Clause::ExecuteArgument {
            return Err(SqlError::unsupported("cannot use subquery in EXECUTE parameter"));
        }
        if self.clause == Clause::Default {
            return Err(SqlError::unsupported("cannot use subquery in DEFAULT expression"));
        }
        if self.clause == Clause::CopyWhere {
            return Err(SqlError::unsupported("cannot use subquery in COPY FROM WHERE condition"));
        }
        if self.clause == Clause::Check {
            return Err(SqlError::unsupported("cannot use subquery in check constraint"));
        }
        if self.clause == Clause::Generation {
            return Err(SqlError::unsupported("cannot use subquery in column generation expression"));
        }
        if self.clause == Clause::IndexExpression {
            return Err(SqlError::unsupported("cannot use subquery in index expression"));
        }
        if self.clause == Clause::IndexPredicate {
            return Err(SqlError::unsupported("cannot use subquery in index predicate"));
        }
        if self.scope.is_none() {
            return Err(SqlError::unsupported("subqueries are not supported outside of queries"));
        }
        self.query(query, Scope::within(self))
    }

    fn one_column_only(&self, what: &str, query: &Query) -> SqlError {
        let place = Place::Query(query);
        self.places.mark(SqlError::new(SqlState::SyntaxError, format!("{what} must return only one column")), place)
    }
}

fn subquery(kind: SubqueryKind, query: relation::Query) -> Node {
    let columns: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    Node::Subquery(Box::new(Subquery { kind, relation: query.relation, columns }))
}

/// A column of a query as an expression.
pub(super) fn column_of(output: &Output) -> Expression {
    Expression { node: Node::Column(output.column, Origin::default()), sql_type: output.sql_type }
}

/// A column that is a new one.
pub(super) fn column_expression(column: ColumnId, sql_type: SqlType) -> Expression {
    Expression { node: Node::Column(column, Origin::default()), sql_type }
}
