//! `$1`, `$2`, …: of the types that a client declared, or of those that their uses tell.
//!
//! The rules are those of PostgreSQL's `parse_param.c`. A parameter without a declared type is of type `unknown` until a coercion gives
//! it a type; all uses must then have this type. A use that was bound before and needed no type stays `unknown`, which is an error if
//! another one tells the type: PostgreSQL does not go back either.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sqlparser::ast::ValueWithSpan;
use sqlparser::tokenizer::Location;

use super::places::Place;
use super::{Binder, Placed, Statement};
use crate::expression::{Expression, Node};
use crate::pg_catalog::{TypeId, TypeKind, pg_catalog};
use crate::relation::Relation;
use crate::types::type_names::type_name;
use crate::{SqlError, SqlState, SqlType};

/// The largest number of a parameter: the numbers of all types, of 4 bytes each, must have a size that an integer holds.
const NUMBER_MAX: i32 = i32::MAX / 4;

/// What is known of the parameters of a statement, by their numbers from 0.
#[derive(Debug)]
pub(super) struct Parameters(RefCell<BTreeMap<usize, Parameter>>);

#[derive(Debug)]
struct Parameter {
    /// `unknown` until a use tells the type.
    id: TypeId,
    /// Where uses are written that had no type when they were bound.
    open: Vec<Location>,
    /// Whether a use is bound for good and has no type.
    stays_unknown: bool,
}

impl Parameter {
    fn of(id: TypeId) -> Self {
        Self { id, open: Vec::new(), stays_unknown: false }
    }
}

impl Parameters {
    fn declared(types: &[Option<SqlType>]) -> Self {
        let parameter = |declared: &Option<SqlType>| Parameter::of(declared.map_or(TypeId::UNKNOWN, |of| of.id));
        Self(RefCell::new(types.iter().map(parameter).enumerate().collect()))
    }

    /// The type of a parameter that is used at a place.
    fn used(&self, number: usize, location: Location) -> TypeId {
        let mut known = self.0.borrow_mut();
        let parameter = known.entry(number).or_insert_with(|| Parameter::of(TypeId::UNKNOWN));
        if parameter.id == TypeId::UNKNOWN {
            parameter.open.push(location);
        }
        parameter.id
    }

    /// Gives a type to a use that had none (`variable_coerce_param_hook`). `location` is that of the use, if it is known.
    fn decide(
        &self,
        number: usize,
        id: TypeId,
        location: Option<Location>,
    ) -> Result<(), (SqlError, Option<Location>)> {
        let mut known = self.0.borrow_mut();
        let parameter = known.entry(number).or_insert_with(|| Parameter::of(TypeId::UNKNOWN));
        let own = parameter.open.iter().position(|open| Some(*open) == location);
        let own = own.or_else(|| (location.is_none() && !parameter.open.is_empty()).then_some(0));
        let location = own.map(|own| parameter.open.remove(own)).or(location);
        if parameter.id == TypeId::UNKNOWN {
            parameter.id = id;
        }
        if parameter.id == id {
            return Ok(());
        }
        let message = format!("inconsistent types deduced for parameter ${}", number + 1);
        let detail = format!("{} versus {}", type_name(parameter.id), type_name(id));
        Err((SqlError::new(SqlState::AmbiguousParameter, message).with_detail(detail), location))
    }

    fn has_open_uses(&self) -> bool {
        self.0.borrow().values().any(|parameter| !parameter.open.is_empty())
    }

    /// Notes the parameters of an expression that have no type.
    fn note_unknown(&self, expression: &Expression) {
        match &expression.node {
            Node::Parameter(number) if expression.sql_type.id == TypeId::UNKNOWN => {
                if let Some(parameter) = self.0.borrow_mut().get_mut(number) {
                    parameter.stays_unknown = true;
                }
            }
            Node::Subquery(subquery) => self.note_unknown_in(&subquery.relation),
            _ => {}
        }
        expression.operands().into_iter().for_each(|operand| self.note_unknown(operand));
    }

    fn note_unknown_in(&self, relation: &Relation) {
        relation.expressions().into_iter().for_each(|expression| self.note_unknown(expression));
        relation.inputs().into_iter().for_each(|input| self.note_unknown_in(input));
    }
}

impl<'a> Statement<'a> {
    /// The statement with parameters `$1`, `$2`, … of these types, without their modifiers; a type that is missing or `None` is found
    /// from the uses of the parameter. Without this call, parameters are unsupported.
    ///
    /// `$1` becomes [`Node::Parameter`] 0.
    #[must_use]
    pub fn with_parameters(self, declared: &[Option<SqlType>]) -> Self {
        Self { parameters: Some(Parameters::declared(declared)), ..self }
    }

    /// The types of `$1`, `$2`, … to the last one that is declared or used. To be called when all of the statement is bound.
    ///
    /// # Errors
    /// 42P18 if nothing tells the type of a parameter, 42P08 if one of its uses is bound without the type that another one tells.
    pub fn parameter_types(&self) -> Result<Vec<SqlType>, SqlError> {
        let Some(parameters) = &self.parameters else { return Ok(Vec::new()) };
        let known = parameters.0.borrow();
        let undetermined = |state, number: usize| {
            SqlError::new(state, format!("could not determine data type of parameter ${}", number + 1))
        };
        let differs = |parameter: &&Parameter| parameter.stays_unknown && parameter.id != TypeId::UNKNOWN;
        if let Some((number, parameter)) = known.iter().find(|(_, parameter)| differs(parameter)) {
            let place = parameter.open.first().map_or(Place::Nowhere, |location| Place::At(*location));
            return Err(self.places.mark(undetermined(SqlState::AmbiguousParameter, *number), place));
        }
        let types = known.iter().enumerate().map(|(at, (number, parameter))| {
            match *number == at && parameter.id != TypeId::UNKNOWN {
                true => Ok(SqlType::of(parameter.id)),
                false => Err(undetermined(SqlState::IndeterminateDatatype, at)),
            }
        });
        types.collect()
    }

    /// The same of a part of a statement, in which the types of some may not be told: `unknown`.
    pub fn parameter_types_of_part(&self) -> Vec<SqlType> {
        let Some(parameters) = &self.parameters else { return Vec::new() };
        let known = parameters.0.borrow();
        let count = known.keys().last().map_or(0, |last| last + 1);
        let id_of = |number: usize| known.get(&number).map_or(TypeId::UNKNOWN, |parameter| parameter.id);
        (0..count).map(|number| SqlType::of(id_of(number))).collect()
    }

    /// Notes the parameters of an expression that is bound for good and has no type for them.
    pub(super) fn note_unknown(&self, expression: &Expression) {
        if let Some(parameters) = self.parameters.as_ref().filter(|parameters| parameters.has_open_uses()) {
            parameters.note_unknown(expression);
        }
    }

    /// The same for a query.
    pub(super) fn note_unknown_in(&self, relation: &Relation) {
        if let Some(parameters) = self.parameters.as_ref().filter(|parameters| parameters.has_open_uses()) {
            parameters.note_unknown_in(relation);
        }
    }
}

impl Binder<'_> {
    /// `$1`
    pub(super) fn parameter(&self, written: &str, literal: &ValueWithSpan) -> Result<Expression, SqlError> {
        let unsupported = || SqlError::unsupported(format!("the parameter {written} is not supported here"));
        let digits = written.strip_prefix('$').filter(|digits| digits.bytes().all(|c| c.is_ascii_digit()));
        let digits = digits.filter(|digits| !digits.is_empty()).ok_or_else(unsupported)?;
        let number = written_number(digits);
        let is_possible = (1..=NUMBER_MAX).contains(&number);
        let Some(parameters) = self.statement.parameters.as_ref().filter(|_| is_possible) else {
            let error = SqlError::new(SqlState::UndefinedParameter, format!("there is no parameter ${number}"));
            return Err(self.places.mark(error, Place::At(literal.span.start)));
        };
        let number = usize::try_from(number - 1).map_err(|_| unsupported())?;
        if self.statement.varying.has_number(number) {
            let message = format!("a varying literal has the number of the parameter {written}");
            return Err(SqlError::new(SqlState::InternalError, message));
        }
        let id = parameters.used(number, literal.span.start);
        Ok(Expression { node: Node::Parameter(number), sql_type: SqlType::of(id) })
    }

    /// A parameter without a type as a value of `target`, without its modifier.
    pub(super) fn typed_parameter(
        &self,
        number: usize,
        place: Place<'_>,
        target: SqlType,
    ) -> Result<Expression, SqlError> {
        let node = Node::Parameter(number);
        if target.id == TypeId::UNKNOWN {
            return Ok(Expression { node, sql_type: target });
        }
        let entry = pg_catalog().type_entry(target.id);
        if entry.kind == TypeKind::Pseudo && target.id != TypeId::CSTRING {
            return Err(SqlError::unsupported(format!("a parameter of type {} is not supported", entry.name)));
        }
        if let Some(parameters) = &self.statement.parameters {
            parameters
                .decide(number, target.id, place.location())
                .map_err(|(error, location)| self.places.mark(error, location.map_or(place, Place::At)))?;
        }
        Ok(Expression { node, sql_type: SqlType::of(target.id) })
    }

    /// Whether an expression is a parameter of which nothing has told the type.
    pub(super) fn is_open_parameter(&self, expression: &Expression) -> bool {
        let is_unknown = expression.sql_type.id == TypeId::UNKNOWN;
        is_unknown && matches!(expression.node, Node::Parameter(number) if !self.statement.varying.has_number(number))
    }

    /// An operand that PostgreSQL binds once more where it is used again: a parameter has the type that the use before told.
    pub(super) fn bound_again<'s>(&self, (operand, place): Placed<'s>) -> Placed<'s> {
        match (&operand.node, &self.statement.parameters) {
            (Node::Parameter(number), Some(parameters)) if operand.sql_type.id == TypeId::UNKNOWN => {
                let known = parameters.0.borrow().get(number).map_or(TypeId::UNKNOWN, |parameter| parameter.id);
                (Expression { sql_type: SqlType::of(known), ..operand }, place)
            }
            _ => (operand, place),
        }
    }
}

/// The number of `$…` as PostgreSQL's scanner reads it: the largest number if it has too many digits, and 32 bits of it.
fn written_number(digits: &str) -> i32 {
    digits.parse::<i64>().unwrap_or(i64::MAX) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_scanner_reads_them() {
        // From PostgreSQL 15: SELECT $2147483648, SELECT $99999999999999999999.
        let read = ["0", "7", "2147483648", "4294967297", "99999999999999999999"].map(written_number);
        assert_eq!(read, [0, 7, i32::MIN, 1, -1]);
    }
}
