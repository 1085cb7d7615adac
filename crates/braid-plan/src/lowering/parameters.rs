//! The parameters of a plan for many statements: expressions over the parameters of a query that read no row.
//!
//! A statement computes them once, when it is bound to the plan. What a query asks about its session or the time is such an expression,
//! too, so that a plan does not depend on who runs it. Where the plan itself would depend on a value, there is no plan: the caller gets
//! the number of the query's parameter, and plans anew with its value in place.

use braid_exec::Expression as Lowered;
use braid_exec::expression::Comparison;
use braid_sql::expression::{ElementCast, Expression, Node};
use braid_sql::functions::{Function, LimitedMemory, SessionFacts};
use braid_sql::pg_catalog::{TypeId, Volatility};
use braid_sql::relation::{ColumnId, Relation, SetFunctionCall};
use braid_sql::{Evaluation, SqlError, SqlState, Value};
use braid_storage::Scalar;

use super::numeric_comparisons::place_for;
use super::query::{Lowering, Purpose};
use super::session_dependence::{asks_names, depends_on_session};
use crate::rewriting::failing::{ends_in_escape, is_like};
use crate::values::Form;
use crate::values::arrays::{integer_scalar, scalar_of};
use crate::values::comparison_key::comparison_key;
use crate::values::form::DIGITS_MAX;

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// Bytes of all values on the way to one that a plan depends on: 16 MiB.
const KNOWN_VALUE_BYTES_MAX: usize = 16 << 20;

/// A parameter of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanParameter {
    /// Over the parameters of the query.
    pub expression: Expression,
    /// What the plan has of its value.
    pub reading: Reading,
}

/// What a plan has of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The value.
    Value,
    /// Its comparison key.
    Key,
    /// A pattern of LIKE, which does not end in an escape character.
    Pattern,
    /// Of a timestamp, the first day that does not begin before it.
    DayFrom,
    /// Of a timestamp, the last day that does not begin after it.
    DayUpTo,
    /// A numeric that shows `scale` digits after the point, as an integer.
    Fixed {
        /// Digits after the point.
        scale: u8,
    },
    /// The place of a numeric among integers that are numbers with `scale` digits after the point.
    Place {
        /// Digits after the point.
        scale: u8,
        /// What the integers are compared by.
        comparison: Comparison,
    },
}

impl PlanParameter {
    /// The parameter of a statement with these values of the query's parameters, with what its long values are counted under.
    ///
    /// # Errors
    /// Those of the expression; out of memory (53200), where a plan of its own may still answer the statement; an error if a pattern ends in
    /// its escape character, which is an error for some rows only.
    pub fn value(
        &self,
        values: &[Value],
        session: &dyn SessionFacts,
        memory: &LimitedMemory,
    ) -> Result<Option<Scalar>, SqlError> {
        let evaluation = Evaluation::new(session, values);
        let value = memory.only(|memory| evaluation.with_memory(memory).value(&self.expression))?;
        read(&value, self.reading, self.expression.sql_type.id)
    }
}

/// What a plan has of a value of this type.
pub(super) fn read(value: &Value, reading: Reading, id: TypeId) -> Result<Option<Scalar>, SqlError> {
    match (reading, value) {
        (_, Value::Null) => Ok(None),
        (Reading::Value, value) => scalar_of(value, Form::of(id)),
        (Reading::Key, value) => Ok(Some(Scalar::Bytes(comparison_key(value)?))),
        (Reading::Pattern, Value::Text(pattern)) if !ends_in_escape(pattern) => {
            Ok(Some(Scalar::Bytes(pattern.as_bytes().to_vec())))
        }
        (Reading::Fixed { scale }, value) => scalar_of(value, Form::Fixed { digits: DIGITS_MAX, scale }),
        (Reading::Place { scale, comparison }, Value::Numeric(number)) => {
            Ok(Some(integer_scalar(place_for(number, scale, comparison)?)))
        }
        (Reading::DayFrom, Value::Timestamp(us)) => Ok(Some(Scalar::Int(day(*us, true)))),
        (Reading::DayUpTo, Value::Timestamp(us)) => Ok(Some(Scalar::Int(day(*us, false)))),
        (reading, value) => Err(SqlError::new(
            SqlState::InternalError,
            format!("{value:?} is no parameter that is read as {reading:?}"),
        )),
    }
}

/// The first day that does not begin before a timestamp, or the last one that does not begin after it. Infinite timestamps are infinite days.
fn day(us: i64, from: bool) -> i64 {
    match us {
        i64::MAX => i64::from(i32::MAX),
        i64::MIN => i64::from(i32::MIN),
        us if from => us.div_euclid(DAY_US) + i64::from(us.rem_euclid(DAY_US) > 0),
        us => us.div_euclid(DAY_US),
    }
}

impl Lowering<'_> {
    /// A parameter of the plan for an expression that reads no row, or its value where that is known; `None` for other expressions.
    pub(super) fn without_rows(&self, expression: &Expression, reading: Reading) -> Result<Option<Lowered>, SqlError> {
        if reads_rows(expression) || expression.is_volatile() {
            return Ok(None);
        }
        if self.is_parameter(expression) {
            return Ok(Some(self.parameter(expression, reading)));
        }
        // What fails is left to fail when it is computed for a row, and what is long is left to be counted.
        let value = self.constant_value(expression);
        let scalar = value.and_then(|value| read(&value, reading, expression.sql_type.id));
        Ok(scalar.ok().map(Lowered::Constant))
    }

    /// Whether an expression is a parameter of the plan.
    pub(super) fn is_parameter(&self, expression: &Expression) -> bool {
        self.is_for_many()
            && !reads_rows(expression)
            && !expression.is_volatile()
            && (has_parameter(expression) || !is_immutable(expression))
    }

    /// Whether the plan is for many statements.
    pub(super) fn is_for_many(&self) -> bool {
        matches!(self.environment.purpose, Purpose::ManyStatements { .. })
    }

    /// The form of all values of a parameter of the query, where it is not that of its type.
    pub(super) fn form_of_parameter(&self, number: usize) -> Option<Form> {
        match self.environment.purpose {
            Purpose::OneStatement => None,
            Purpose::ManyStatements { forms } => forms.get(&number).copied(),
        }
    }

    /// A parameter of the plan.
    pub(super) fn parameter(&self, expression: &Expression, reading: Reading) -> Lowered {
        let mut parameters = self.parameters.borrow_mut();
        let known = parameters.iter().position(|known| known.reading == reading && known.expression == *expression);
        Lowered::Parameter(known.unwrap_or_else(|| {
            parameters.push(PlanParameter { expression: expression.clone(), reading });
            parameters.len() - 1
        }))
    }

    /// The value of an expression that reads no row, and that the plan depends on.
    ///
    /// # Errors
    /// Those of the expression; out of memory (53200) if it needs long values. In a plan for many statements its parameters must be known,
    /// and it must be the same for all sessions.
    pub(super) fn known_value(&self, expression: &Expression) -> Result<Value, SqlError> {
        self.check_is_known(expression)?;
        let evaluation = Evaluation::new(&*self.session, &[]);
        evaluation.with_memory(&LimitedMemory::new(KNOWN_VALUE_BYTES_MAX)).value(expression)
    }

    /// The value of an expression that reads no row, as a constant of the plan.
    ///
    /// # Errors
    /// Those of the expression; out of memory (53200) if a plan does not hold so much.
    pub(super) fn constant_value(&self, expression: &Expression) -> Result<Value, SqlError> {
        let evaluation = Evaluation::new(&*self.session, &[]);
        self.memory.only(|memory| evaluation.with_memory(memory).value(expression))
    }

    /// Refuses an expression that has no value before the plan runs.
    pub(super) fn check_is_known(&self, expression: &Expression) -> Result<(), SqlError> {
        if reads_rows(expression) {
            return Err(SqlError::unsupported("columns and subqueries in VALUES, LIMIT and frames are not supported"));
        }
        if self.is_for_many() {
            if let Some(number) = first_parameter(expression) {
                self.value_that_matters.set(Some(number));
                return Err(SqlError::unsupported("the plan depends on the value of a parameter"));
            }
            if !is_immutable(expression) {
                return Err(of_one_session());
            }
        }
        Ok(())
    }

    /// Puts a column in place of each part of the expression that reads no row and is a parameter of the plan. A pattern is read as one, too,
    /// so that a pattern that fails is bound to no plan.
    pub(super) fn parameters_as_columns(
        &self,
        expression: &mut Expression,
        next: &mut dyn FnMut() -> ColumnId,
        made: &mut Vec<(ColumnId, TypeId, (Lowered, Form))>,
    ) {
        if self.is_parameter(expression) {
            let (column, id) = (next(), expression.sql_type.id);
            made.push((column, id, (self.parameter(expression, Reading::Value), Form::of(id))));
            expression.node = Node::Column(column, braid_sql::expression::Origin::default());
            return;
        }
        if let Node::Call(call) = &expression.node
            && is_like(call)
            && self.is_parameter(&call.arguments[1])
        {
            self.parameter(&call.arguments[1], Reading::Pattern);
        }
        for operand in expression.operands_mut() {
            self.parameters_as_columns(operand, next, made);
        }
    }
}

/// Refuses what is computed for each row and differs from session to session, in a plan for many of them.
pub(super) fn check_is_for_many_sessions(relation: &Relation) -> Result<(), SqlError> {
    relation.expressions().into_iter().try_for_each(check_expression_is_for_many)?;
    let is_stable = |volatility: Volatility| volatility != Volatility::Immutable;
    let depends = match relation {
        Relation::Aggregate(aggregation) => {
            let mut calls = aggregation.aggregates.iter();
            calls.any(|(_, call)| depends_on_session(call.function))
        }
        Relation::Window(windowing) => {
            let mut calls = windowing.calls.iter();
            calls.any(|(_, call)| depends_on_session(call.function))
        }
        Relation::Expand(expansion) => expansion
            .functions
            .iter()
            .any(|function| matches!(function, SetFunctionCall::Set { call, .. } if is_stable(call.volatility))),
        _ => false,
    };
    if depends {
        return Err(of_one_session());
    }
    relation.inputs().into_iter().try_for_each(check_is_for_many_sessions)
}

fn check_expression_is_for_many(expression: &Expression) -> Result<(), SqlError> {
    if let Node::Subquery(subquery) = &expression.node {
        check_is_for_many_sessions(&subquery.relation)?;
    }
    // What reads no row is a parameter of the plan.
    if !reads_rows(expression) && !expression.is_volatile() {
        return Ok(());
    }
    if !is_immutable_itself(expression) {
        return Err(of_one_session());
    }
    expression.operands().into_iter().try_for_each(check_expression_is_for_many)
}

/// The error of what is computed for each row and differs from session to session.
fn of_one_session() -> SqlError {
    SqlError::unsupported("a plan for many sessions that depends on one of them is not supported")
}

/// Whether the value depends on a row, on a subquery, or on an operand that is evaluated around it.
pub(super) fn reads_rows(expression: &Expression) -> bool {
    fn reads(expression: &Expression, within_let: bool) -> bool {
        match &expression.node {
            Node::Column(..) | Node::Subquery(_) => true,
            Node::Operand => !within_let,
            Node::Let { operand, body } => reads(operand, within_let) || reads(body, true),
            Node::Chain { first, steps } => reads(first, within_let) || steps.iter().any(|step| reads(step, true)),
            _ => expression.any_operand(&mut |operand| reads(operand, within_let)),
        }
    }
    reads(expression, false)
}

fn has_parameter(expression: &Expression) -> bool {
    first_parameter(expression).is_some()
}

fn first_parameter(expression: &Expression) -> Option<usize> {
    match expression.node {
        Node::Parameter(number) => Some(number),
        _ => expression.operands().into_iter().find_map(first_parameter),
    }
}

/// Whether its value depends on its operands alone, and theirs as well.
fn is_immutable(expression: &Expression) -> bool {
    is_immutable_itself(expression) && !expression.any_operand(&mut |operand| !is_immutable(operand))
}

/// Whether its value depends on those of its operands alone, in all sessions of one zone.
fn is_immutable_itself(expression: &Expression) -> bool {
    let of_function = |function: &Function| !depends_on_session(function.id);
    match &expression.node {
        Node::Call(call) => {
            let is_immutable = call.volatility == Volatility::Immutable && !asks_names(call.function.id);
            is_immutable || of_function(&call.function)
        }
        Node::ThroughText(cast) => of_function(&cast.output) && of_function(&cast.input),
        Node::EachElement { cast, .. } => match cast {
            ElementCast::Relabel => true,
            ElementCast::Function { function, .. } => of_function(function),
            ElementCast::ThroughText(output, input) => of_function(output) && of_function(input),
        },
        Node::Extreme { is_beyond, .. } => of_function(is_beyond),
        Node::Distinct(_, _, equals) => of_function(equals),
        Node::Quantified(quantified) => of_function(&quantified.compare),
        Node::Domain(cast) => cast.conditions().all(is_immutable),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_compared_in_place_of_their_first_instants() {
        for (us, from, up_to) in [
            (0, 0, 0),
            (1, 1, 0),
            (DAY_US - 1, 1, 0),
            (DAY_US, 1, 1),
            (-1, 0, -1),
            (-DAY_US, -1, -1),
            (-DAY_US - 1, -1, -2),
            (i64::MAX, i64::from(i32::MAX), i64::from(i32::MAX)),
            (i64::MIN, i64::from(i32::MIN), i64::from(i32::MIN)),
        ] {
            let read_as = |reading| read(&Value::Timestamp(us), reading, TypeId::TIMESTAMP).unwrap();
            assert_eq!(read_as(Reading::DayFrom), Some(Scalar::Int(from)), "{us}");
            assert_eq!(read_as(Reading::DayUpTo), Some(Scalar::Int(up_to)), "{us}");
        }
    }

    #[test]
    fn patterns_that_end_in_their_escape_character_are_refused() {
        for (pattern, fits) in [("a%", true), ("a\\", false), ("a\\\\", true), ("", true)] {
            assert_eq!(read(&Value::text(pattern), Reading::Pattern, TypeId::TEXT).is_ok(), fits, "{pattern}");
        }
    }
}
