//! UNION, INTERSECT, EXCEPT and VALUES: rows of one type from several queries.

use sqlparser::ast::{Expr, SetExpr, SetOperator as OperatorSyntax, SetQuantifier, Values};

use super::ordering::Tail;
use super::scope::Scope;
use super::subqueries::column_expression;
use super::{Pending, Target, rows};
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::{Binder, Placed};
use crate::expression::Expression;
use crate::pg_catalog::TypeId;
use crate::relation::{ColumnId, Relation, Rows, SetOperator};
use crate::resolution::resolve_operator;
use crate::types::type_names::type_name;
use crate::values::Value;
use crate::{SqlError, SqlState};

impl Binder<'_> {
    /// A tree of set operations, whose leaves are queries.
    pub(super) fn set_tree<'s>(&self, body: &'s SetExpr) -> Result<Pending<'s>, SqlError> {
        match body {
            SetExpr::Select(select) => self.select(select, &Tail::of(None, None, None)?, Scope::within(self)),
            SetExpr::Query(query) => self.pending_query(query, Scope::within(self)),
            SetExpr::Values(values) => self.values(values),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let is_all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::Distinct | SetQuantifier::None => false,
                    _ => return Err(SqlError::unsupported("set operations by name are not supported")),
                };
                let (operator, name) = match op {
                    OperatorSyntax::Union => (None, "UNION"),
                    OperatorSyntax::Intersect => (Some(SetOperator::Intersect), "INTERSECT"),
                    OperatorSyntax::Except => (Some(SetOperator::Except), "EXCEPT"),
                    OperatorSyntax::Minus => return Err(SqlError::unsupported("MINUS is not supported")),
                };
                let (left, right) = (self.set_tree(left)?, self.set_tree(right)?);
                self.set_operation(operator, name, is_all, left, right)
            }
            SetExpr::Table(table) => Err(SqlError::unsupported(format!("{table} is not supported"))),
            _ => Err(SqlError::unsupported("statements that write are not supported within a query")),
        }
    }

    /// Both queries under one list of columns. `operator` is `None` for a union.
    fn set_operation<'s>(
        &self,
        operator: Option<SetOperator>,
        name: &str,
        is_all: bool,
        left: Pending<'s>,
        right: Pending<'s>,
    ) -> Result<Pending<'s>, SqlError> {
        if left.targets.len() != right.targets.len() {
            let message = format!("each {name} query must have the same number of columns");
            let place = right.targets.first().map_or(Place::Nowhere, |target| target.place);
            return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), place));
        }
        let (mut left_targets, mut right_targets, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_same = true;
        for (left, right) in left.targets.into_iter().zip(right.targets) {
            let before = left.expression.sql_type;
            let domain = self.domain_of(&left.expression);
            let domain = domain.filter(|domain| self.domain_of(&right.expression) == Some(*domain));
            let pair = vec![(left.expression, left.place), (right.expression, right.place)];
            let (mut values, sql_type) = self.of_one_type(pair, name)?;
            // Only UNION ALL compares nothing.
            if !is_all || operator.is_some() {
                check_equality(sql_type.id)?;
            }
            is_same &= before == sql_type;
            let column = self.new_column(&left.name, sql_type);
            self.statement.columns.borrow_mut().set_domain(column, domain);
            let (right_value, left_value) = (values.remove(1), values.remove(0));
            targets.push((left.name.clone(), column, sql_type));
            left_targets.push(Target { expression: Expression { sql_type, ..left_value }, ..left });
            right_targets.push(Target { expression: Expression { sql_type, ..right_value }, ..right });
        }
        let columns: Vec<ColumnId> = targets.iter().map(|(_, column, _)| *column).collect();
        let right = rows(self.computed_columns(right.relation, right_targets));
        let left = rows(self.computed_columns(left.relation, left_targets));
        let relation = match operator {
            Some(operator) => {
                let (left, right) = (Box::new(left), Box::new(right));
                Relation::SetOperation { operator, is_all, left, right, columns }
            }
            None => {
                let relation = union(left, right, columns.clone(), is_same);
                match is_all {
                    true => relation,
                    // Rows without columns are equal.
                    false if columns.is_empty() => first_row(relation),
                    false => Relation::Distinct { input: Box::new(relation), columns },
                }
            }
        };
        let targets = targets.into_iter().map(|(name, column, sql_type)| Target {
            name,
            expression: column_expression(column, sql_type),
            place: Place::Nowhere,
        });
        Ok(Pending { relation, targets: targets.collect() })
    }

    /// `VALUES (…), (…)`: columns `column1`, `column2`, … of the common types.
    fn values<'s>(&self, values: &'s Values) -> Result<Pending<'s>, SqlError> {
        let scope = Scope::within(self);
        let binder = self.in_scope(&scope, Clause::Values);
        let syntax: Vec<&Vec<Expr>> = values.rows.iter().map(|row| &row.content).collect();
        let width = syntax.first().map_or(0, |row| row.len());
        if let Some(row) = syntax.iter().find(|row| row.len() != width) {
            let place = row.first().map_or(Place::Nowhere, Place::Start);
            return Err(self
                .places
                .mark(SqlError::new(SqlState::SyntaxError, "VALUES lists must all be the same length"), place));
        }
        let bound = syntax.iter().map(|row| binder.row_members(row));
        let mut by_column: Vec<Vec<Placed<'_>>> = (0..width).map(|_| Vec::new()).collect();
        for row in bound {
            let row = row?;
            if row.len() != width {
                return Err(SqlError::unsupported("all columns of a relation in VALUES are not supported"));
            }
            for (column, value) in by_column.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let mut rows: Vec<Vec<Expression>> = syntax.iter().map(|_| Vec::with_capacity(width)).collect();
        let (mut columns, mut targets) = (Vec::new(), Vec::new());
        for (at, values) in by_column.into_iter().enumerate() {
            let (values, sql_type) = binder.of_one_type(values, "VALUES")?;
            let name = format!("column{}", at + 1);
            let column = self.new_column(&name, sql_type);
            columns.push(column);
            targets.push(Target { name, expression: column_expression(column, sql_type), place: Place::Nowhere });
            for (row, value) in rows.iter_mut().zip(values) {
                row.push(value);
            }
        }
        Ok(Pending { relation: Relation::Values { columns, rows }, targets })
    }
}

/// A union, with the inputs of a union on the left as its own, unless these get other types.
fn union(left: Rows, right: Rows, columns: Vec<ColumnId>, is_same: bool) -> Relation {
    match left.relation {
        Relation::Union { mut inputs, columns: before } if is_same && before == left.columns => {
            inputs.push(right);
            Relation::Union { inputs, columns }
        }
        relation => Relation::Union { inputs: vec![Rows { relation, columns: left.columns }, right], columns },
    }
}

/// One row, if there is one.
fn first_row(relation: Relation) -> Relation {
    let limit = Some(Expression::of(Value::Int8(1), TypeId::INT8));
    Relation::Limit { input: Box::new(relation), offset: None, limit, ties: None }
}

/// Refuses a type whose values cannot be equal.
pub(super) fn check_equality(id: TypeId) -> Result<(), SqlError> {
    if resolve_operator("=", Some(id), id).is_err() {
        let message = format!("could not identify an equality operator for type {}", type_name(id));
        return Err(SqlError::new(SqlState::UndefinedFunction, message));
    }
    Ok(())
}
