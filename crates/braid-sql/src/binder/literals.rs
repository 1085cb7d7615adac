//! Literals: numbers by their size, strings of a type that their place tells, typed strings, intervals.

use sqlparser::ast::{DateTimeField, Expr, Interval, TypedString, Value as Syntax, ValueWithSpan};

use super::type_syntax::interval_of;
use super::{Binder, unsupported};
use crate::expression::{Expression, Node};
use crate::pg_catalog::{CastContext, TypeId};
use crate::values::{Numeric, Value};
use crate::{SqlError, SqlType};

impl Binder<'_> {
    /// A literal. A string is of type `unknown`, and so is NULL.
    pub(super) fn literal(&self, literal: &ValueWithSpan) -> Result<Expression, SqlError> {
        Ok(match &literal.value {
            Syntax::Number(digits, _) => {
                number(digits).map_err(|error| error.at(self.places.of(literal.span.start)))?
            }
            Syntax::Boolean(truth) => Expression::of(Value::Bool(*truth), TypeId::BOOL),
            Syntax::Null => Expression::of(Value::Null, TypeId::UNKNOWN),
            other => match string(other) {
                Some(text) => Expression::of(Value::text(text), TypeId::UNKNOWN),
                None => return Err(unsupported(&Expr::Value(literal.clone()))),
            },
        })
    }

    /// `- 9223372036854775808` is one literal: without its sign it is no bigint.
    pub(super) fn negative_literal(&self, operand: &Expr) -> Result<Option<Expression>, SqlError> {
        match operand {
            Expr::Value(ValueWithSpan { value: Syntax::Number(digits, _), span }) => {
                number(&format!("-{digits}")).map(Some).map_err(|error| error.at(self.places.of(span.start)))
            }
            _ => Ok(None),
        }
    }

    /// `DATE '2024-01-01'`
    pub(super) fn typed_string(&self, typed: &TypedString) -> Result<Expression, SqlError> {
        let target = self.type_of(&typed.data_type)?;
        let literal = self.literal(&typed.value)?;
        let place = self.places.of(typed.value.span.start);
        self.coerce(literal, place, target, CastContext::Explicit)
    }

    /// `INTERVAL '1' DAY`, `INTERVAL '1 day'`
    pub(super) fn interval_literal(&self, interval: &Interval) -> Result<Expression, SqlError> {
        let unsupported_here = || unsupported(&Expr::Interval(interval.clone()));
        let word = |field: &DateTimeField| field.to_string().to_lowercase();
        let target = match (&interval.leading_field, &interval.last_field, interval.leading_precision) {
            (None, None, None) => SqlType::of(TypeId::INTERVAL),
            // `SECOND(3)`: the digits after the point, which the parser takes for those before it.
            (Some(field), None, digits) => interval_of(&word(field), digits)?,
            (Some(first), Some(last), None) => {
                interval_of(&format!("{} to {}", word(first), word(last)), interval.fractional_seconds_precision)?
            }
            _ => return Err(unsupported_here()),
        };
        let Expr::Value(value) = &*interval.value else { return Err(unsupported_here()) };
        let literal = self.literal(value)?;
        let place = self.places.of(value.span.start);
        if literal.sql_type.id != TypeId::UNKNOWN {
            return Err(unsupported_here());
        }
        self.coerce(literal, place, target, CastContext::Explicit)
    }
}

/// A number: integer, bigint, or numeric.
fn number(digits: &str) -> Result<Expression, SqlError> {
    if let Ok(value) = digits.parse::<i32>() {
        return Ok(Expression::of(Value::Int4(value), TypeId::INT4));
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Ok(Expression::of(Value::Int8(value), TypeId::INT8));
    }
    Ok(Expression::of(Value::Numeric(Numeric::parse(digits)?), TypeId::NUMERIC))
}

/// The text of a string literal; `None` for literals of other kinds.
fn string(literal: &Syntax) -> Option<&str> {
    match literal {
        Syntax::SingleQuotedString(text)
        | Syntax::EscapedStringLiteral(text)
        | Syntax::UnicodeStringLiteral(text)
        | Syntax::NationalStringLiteral(text) => Some(text),
        Syntax::DollarQuotedString(dollar_quoted) => Some(&dollar_quoted.value),
        _ => None,
    }
}

impl Expression {
    /// A null of this type.
    pub(super) fn null(sql_type: SqlType) -> Self {
        Self { node: Node::Constant(Value::Null), sql_type }
    }
}
