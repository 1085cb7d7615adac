//! CASE, COALESCE, NULLIF, GREATEST, LEAST and ARRAY: values of several expressions under one type.

use sqlparser::ast::{CaseWhen, Expr};

use super::places::Place;
use super::{Binder, Placed, computed, unnested};
use crate::expression::{Expression, Node};
use crate::pg_catalog::{CastContext, TypeId, pg_catalog};
use crate::resolution::{Pathway, coercion_pathway, common_type, resolve_operator};
use crate::types::type_names::{format_type, type_name};
use crate::values::Value;
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// `CASE [operand] WHEN … THEN … ELSE … END`
    pub(super) fn case(
        &self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<Expression, SqlError> {
        let operand = operand
            .map(|operand| self.expression(operand).and_then(|bound| self.resolve_unknown(bound)))
            .transpose()?;
        let tests = conditions.iter().map(|when| match &operand {
            None => self.boolean(&when.condition, "argument of CASE/WHEN"),
            Some(operand) => self.case_test(operand.sql_type, &when.condition),
        });
        let tests = tests.collect::<Result<Vec<_>, _>>()?;
        // ELSE is looked at first when the types are made one.
        let otherwise = match otherwise {
            Some(syntax) => self.placed(syntax)?,
            None => (Expression::of(Value::Null, TypeId::UNKNOWN), Place::Nowhere),
        };
        let mut results = vec![otherwise];
        for when in conditions {
            results.push(self.placed(&when.result)?);
        }
        let (mut results, sql_type) = self.of_one_type(results, "CASE")?;
        let branches = tests.into_iter().zip(results.split_off(1)).collect();
        let otherwise = Box::new(results.remove(0));
        let case = Expression { node: Node::Case { branches, otherwise }, sql_type };
        let case = match operand {
            None => case,
            Some(operand) => {
                Expression { sql_type, node: Node::Let { operand: Box::new(operand), body: Box::new(case) } }
            }
        };
        self.without_sets(case, "CASE")
    }

    /// `operand = condition`
    fn case_test(&self, operand: SqlType, condition: &Expr) -> Result<Expression, SqlError> {
        let operand = Expression { node: Node::Operand, sql_type: operand };
        let condition_value = self.placed(condition)?;
        self.operator("=", Place::Before("when", condition), (operand, Place::Nowhere), condition_value)
    }

    /// `COALESCE(a, b)`
    pub(super) fn coalesce(&self, arguments: &[&Expr]) -> Result<Expression, SqlError> {
        let (values, sql_type) = self.all_of_one_type(arguments, "COALESCE")?;
        self.without_sets(Expression { node: Node::Coalesce(values), sql_type }, "COALESCE")
    }

    /// `GREATEST(a, b)`, `LEAST(a, b)`
    pub(super) fn extreme(&self, arguments: &[&Expr], name: &str) -> Result<Expression, SqlError> {
        let (values, sql_type) = self.all_of_one_type(arguments, name)?;
        let operator = if name == "GREATEST" { ">" } else { "<" };
        let resolved = resolve_operator(operator, Some(sql_type.id), sql_type.id)?;
        let is_relabelled =
            |id: &TypeId| coercion_pathway(sql_type.id, *id, CastContext::Implicit) == Some(Pathway::Relabel);
        if !resolved.argument_types.iter().all(is_relabelled) {
            return Err(SqlError::unsupported(format!("{name} of type {} is not supported", format_type(sql_type))));
        }
        let is_beyond = computed(pg_catalog().function(resolved.function))?;
        Ok(Expression { node: Node::Extreme { values, is_beyond }, sql_type })
    }

    /// `NULLIF(a, b)`: the first, evaluated once, or null where both are equal.
    pub(super) fn null_if(&self, left: &Expr, right: &Expr, place: Place<'_>) -> Result<Expression, SqlError> {
        let equal = self.operator("=", place, self.placed(left)?, self.placed(right)?)?;
        let Node::Call(mut call) = equal.node else {
            return Err(SqlError::unsupported("NULLIF is not supported here"));
        };
        // The type of the first argument as it is compared.
        let operand = call.arguments.remove(0);
        let sql_type = operand.sql_type;
        call.arguments.insert(0, Expression { node: Node::Operand, sql_type });
        let is_equal = Expression { node: Node::Call(call), sql_type: equal.sql_type };
        let branches = vec![(is_equal, Expression::null(sql_type))];
        let otherwise = Box::new(Expression { node: Node::Operand, sql_type });
        let body = Box::new(Expression { node: Node::Case { branches, otherwise }, sql_type });
        Ok(Expression { node: Node::Let { operand: Box::new(operand), body }, sql_type })
    }

    /// `ARRAY[a, b]`
    pub(super) fn array(&self, elements: &[Expr]) -> Result<Expression, SqlError> {
        if elements.is_empty() {
            return Err(SqlError::new(SqlState::IndeterminateDatatype, "cannot determine type of empty array")
                .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let syntax: Vec<&Expr> = elements.iter().collect();
        let (values, common) = self.all_of_one_type(&syntax, "ARRAY")?;
        let catalog = pg_catalog();
        // Arrays of arrays are arrays with more dimensions.
        if let Some(element) = catalog.element_of_dimension(common.id) {
            return Ok(Expression { node: Node::Array(element, values), sql_type: SqlType::of(common.id) });
        }
        let Some(array_type) = catalog.type_entry(common.id).array else {
            let message = format!("could not find array type for data type {}", type_name(common.id));
            return Err(SqlError::new(SqlState::UndefinedObject, message));
        };
        Ok(Expression {
            node: Node::Array(common.id, values),
            sql_type: SqlType { id: array_type, modifier: common.modifier },
        })
    }

    /// `ARRAY[a, b]::type[]`: each element is cast.
    pub(super) fn array_of(&self, elements: &[Expr], target: SqlType, element: TypeId) -> Result<Expression, SqlError> {
        let values = elements.iter().map(|syntax| match unnested(syntax) {
            Expr::Array(inner) => self.array_of(&inner.elem, target, element),
            _ => {
                let (value, place) = self.placed(syntax)?;
                let is_array = pg_catalog().element_of_dimension(value.sql_type.id).is_some();
                let target = if is_array { target } else { SqlType { id: element, modifier: target.modifier } };
                self.coerce(value, place, target, CastContext::Explicit)
            }
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        Ok(Expression { node: Node::Array(element, values), sql_type: target })
    }

    pub(super) fn placed<'s>(&self, syntax: &'s Expr) -> Result<Placed<'s>, SqlError> {
        Ok((self.expression(syntax)?, Place::Start(syntax)))
    }

    fn all_of_one_type(&self, syntax: &[&Expr], what: &str) -> Result<(Vec<Expression>, SqlType), SqlError> {
        let values = syntax.iter().map(|syntax| self.placed(syntax)).collect::<Result<Vec<_>, _>>()?;
        self.of_one_type(values, what)
    }

    /// The expressions cast to their common type, which has a modifier if all of them have it.
    pub(in crate::binder) fn of_one_type(
        &self,
        values: Vec<Placed<'_>>,
        what: &str,
    ) -> Result<(Vec<Expression>, SqlType), SqlError> {
        let ids: Vec<TypeId> = values.iter().map(|(value, _)| value.sql_type.id).collect();
        let common = common_type(&ids).map_err(|(left, right)| {
            let (left_name, right_name) = (type_name(left), type_name(right));
            let message = format!("{what} types {left_name} and {right_name} cannot be matched");
            let place =
                values.iter().find(|(value, _)| value.sql_type.id == right).map_or(Place::Nowhere, |(_, place)| *place);
            self.places.mark(SqlError::new(SqlState::DatatypeMismatch, message), place)
        })?;
        let modifier = common_modifier(&values, common);
        let target = SqlType::of(common);
        let cast = values.into_iter().map(|(value, place)| {
            let source = value.sql_type.id;
            self.coerced(value, place, target, CastContext::Implicit)?.map_err(|_| {
                let (source, target) = (type_name(source), type_name(common));
                let message = format!("{what} could not convert type {source} to {target}");
                self.places.mark(SqlError::new(SqlState::CannotCoerce, message), place)
            })
        });
        Ok((cast.collect::<Result<Vec<_>, _>>()?, SqlType { id: common, modifier }))
    }
}

/// The modifier that all expressions of a type have (`select_common_typmod`); -1 if they differ.
fn common_modifier(values: &[Placed<'_>], common: TypeId) -> i32 {
    let mut modifiers = values.iter().map(|(value, _)| match value.sql_type.id == common {
        true => value.sql_type.modifier,
        false => -1,
    });
    let first = modifiers.next().unwrap_or(-1);
    if modifiers.all(|modifier| modifier == first) { first } else { -1 }
}
