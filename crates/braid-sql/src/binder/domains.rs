//! Casts to domains.
//!
//! A value is cast to the base type in the same context, and then checked against the constraints of the domain and of those that it is
//! of: NOT NULL first, then the conditions, those of the innermost domain first, by their names (`load_domaintype_info`).
//!
//! PostgreSQL has the domain as the type of the expression, and looks at the base type where it chooses functions and operators. Here
//! expressions have the base type, and what a column is declared with is noted beside it ([`Columns::domain`](crate::relation::Columns)),
//! for the columns of tables and views that are made of a query, and for `pg_typeof`.

use std::sync::Arc;

use braid_base::{DomainBase, DomainCheck, DomainType, DomainTypeId};
use sqlparser::ast::Expr;

use super::places::Place;
use super::precedence::rebind_all;
use super::{Binder, Statement};
use crate::expression::{DomainCast, DomainConstraint, Expression, Node};
use crate::functions::SessionFacts;
use crate::functions::in_formats::InFormats;
use crate::pg_catalog::{CastContext, TypeId};
use crate::relation::{ColumnId, Output};
use crate::syntax::{SqlDialect, parser_of};
use crate::tables::{NoTables, TableColumn, TableEntry};
use crate::{SqlError, SqlState, SqlType};

/// The name of the value in the conditions of a domain.
pub const DOMAIN_VALUE: &str = "value";

impl Binder<'_> {
    /// An expression as a value of a domain; the expression itself if there is no cast to the base type in this context.
    pub(super) fn cast_to_domain(
        &self,
        operand: Expression,
        place: Place<'_>,
        domain: DomainTypeId,
        context: CastContext,
    ) -> Result<Result<Expression, Expression>, SqlError> {
        let base = SqlType::of(TypeId::of_domain(domain)).base();
        let operand = match self.coerced(operand, place, base, context)? {
            Ok(operand) => Expression { sql_type: base, ..operand },
            Err(operand) => return Ok(Err(operand)),
        };
        let constraints = constraints_of(domain, self.session)?;
        let cast = DomainCast { operand, domain, constraints };
        Ok(Ok(Expression { node: Node::Domain(Box::new(cast)), sql_type: base }))
    }

    /// The domain that an expression is of in PostgreSQL.
    pub(super) fn domain_of(&self, expression: &Expression) -> Option<DomainTypeId> {
        match &expression.node {
            Node::Column(column, _) => self.statement.columns.borrow().domain(*column),
            Node::Domain(cast) => Some(cast.domain),
            _ => None,
        }
    }

    /// A call that is told of the domains of its arguments.
    pub(super) fn with_domains(&self, mut expression: Expression) -> Result<Expression, SqlError> {
        if let Node::Call(call) = &mut expression.node {
            for (argument, sql_type) in call.arguments.iter().zip(&mut call.argument_types) {
                if let Some(domain) = self.domain_of(argument) {
                    *sql_type = SqlType::of(TypeId::of_domain(domain));
                }
            }
        }
        Ok(expression)
    }

    /// Notes that a new column has the values of an expression.
    pub(super) fn note_domain(&self, column: ColumnId, expression: &Expression) {
        let domain = self.domain_of(expression);
        if domain.is_some() {
            self.statement.columns.borrow_mut().set_domain(column, domain);
        }
    }

    /// A column of a query as that of a table.
    pub(super) fn table_column(&self, output: &Output) -> TableColumn {
        let Output { name, column, sql_type } = output.clone();
        TableColumn { name, sql_type, domain: self.statement.columns.borrow().domain(column) }
    }

    /// A new column of the table or view that a name means.
    pub(super) fn new_table_column(&self, column: &TableColumn) -> ColumnId {
        let mut columns = self.statement.columns.borrow_mut();
        let id = columns.add(column.name.clone(), column.sql_type);
        columns.set_domain(id, column.domain);
        id
    }
}

impl Statement<'_> {
    /// The type that a column of a bound query is declared with: a domain, or that of its values.
    pub fn declared_type(&self, output: &Output) -> SqlType {
        let domain = self.columns.borrow().domain(output.column);
        domain.map_or(output.sql_type, |domain| SqlType::of(TypeId::of_domain(domain)))
    }
}

/// The domains that a domain is of, the innermost first, and itself behind them, as a statement sees them.
pub fn domain_levels(domain: DomainTypeId, session: &dyn SessionFacts) -> Vec<Arc<DomainType>> {
    let (mut levels, mut next) = (Vec::new(), Some(domain));
    let objects = session.objects();
    while let Some(id) = next {
        levels.push(objects.as_ref().map_or_else(|| id.definition(), |objects| objects.domain(id)));
        next = match id.base() {
            DomainBase::Domain(other) => Some(other),
            DomainBase::System(_) | DomainBase::Enum(_) => None,
        };
    }
    levels.reverse();
    levels
}

/// What values of a domain must satisfy.
fn constraints_of(domain: DomainTypeId, session: &dyn SessionFacts) -> Result<Vec<DomainConstraint>, SqlError> {
    let levels = domain_levels(domain, session);
    let mut constraints = Vec::new();
    if levels.iter().any(|level| level.is_not_null) {
        constraints.push(DomainConstraint::NotNull);
    }
    let base = SqlType::of(TypeId::of_domain(domain)).base();
    for level in &levels {
        let mut checks: Vec<&DomainCheck> = level.checks.iter().collect();
        checks.sort_by(|a, b| a.name.cmp(&b.name));
        for check in checks {
            let condition = condition_of(&check.condition, base, session).map_err(SqlError::without_position)?;
            constraints.push(DomainConstraint::Check { name: check.name.clone(), condition });
        }
    }
    Ok(constraints)
}

/// A condition over a value of this type, which is parameter 0 of it.
fn condition_of(text: &str, base: SqlType, session: &dyn SessionFacts) -> Result<Expression, SqlError> {
    let session = &InFormats::of_stored_texts(session);
    let mut syntax = condition_syntax(text)?;
    rebind_all(&mut syntax);
    let statement = Statement::new(text, session, &NoTables);
    let mut bound = statement.binder().check_condition(&syntax, &table_of_value(base))?;
    with_parameter(&mut bound.expression);
    Ok(bound.expression)
}

/// The syntax of a domain's condition.
///
/// # Errors
/// When it does not parse.
pub fn condition_syntax(text: &str) -> Result<Expr, SqlError> {
    let dialect = SqlDialect::for_text(text);
    parser_of(&dialect, text).and_then(|mut parser| parser.parse_expr()).map_err(|error| {
        SqlError::new(SqlState::InternalError, format!("the condition \"{text}\" of a domain does not parse: {error}"))
    })
}

/// The table whose only column is the value.
pub fn table_of_value(base: SqlType) -> TableEntry {
    TableEntry {
        id: 0,
        schema: String::new(),
        name: String::new(),
        columns: vec![TableColumn::new(DOMAIN_VALUE, base)],
        primary_key: Vec::new(),
    }
}

fn with_parameter(expression: &mut Expression) {
    match &mut expression.node {
        Node::Column(..) => expression.node = Node::Parameter(0),
        _ => expression.operands_mut().into_iter().for_each(with_parameter),
    }
}
