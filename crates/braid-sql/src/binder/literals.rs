//! Literals: numbers by their size, bit strings, strings of a type that their place tells, typed strings, intervals.

use sqlparser::ast::{
    DataType, DateTimeField, Expr, Interval, TypedString, UnaryOperator, Value as Syntax, ValueWithSpan,
};

use super::places::Place;
use super::type_syntax::interval_of;
use super::{Binder, unsupported};
use crate::expression::{Expression, Node};
use crate::functions::strings::bits::parsed;
use crate::pg_catalog::{CastContext, TypeId};
use crate::values::{Numeric, Value};
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// A literal. A string is of type `unknown`, and so is NULL.
    pub(super) fn literal(&self, literal: &ValueWithSpan) -> Result<Expression, SqlError> {
        if let Some(parameter) = self.varying_literal(literal)? {
            return Ok(parameter);
        }
        Ok(match &literal.value {
            Syntax::Number(digits, _) => {
                number(digits).map_err(|error| self.places.mark(error, Place::At(literal.span.start)))?
            }
            Syntax::Boolean(truth) => Expression::of(Value::Bool(*truth), TypeId::BOOL),
            // A string of type `character` without a length.
            Syntax::NationalStringLiteral(text) => {
                Expression::of(Value::text(text.trim_end_matches(' ').to_owned()), TypeId::BPCHAR)
            }
            Syntax::SingleQuotedByteStringLiteral(digits) => self.bit_literal('b', digits, literal)?,
            Syntax::HexStringLiteral(digits) => self.bit_literal('x', digits, literal)?,
            Syntax::Placeholder(written) => self.parameter(written, literal)?,
            Syntax::Null => Expression::of(Value::Null, TypeId::UNKNOWN),
            other => match string(other) {
                Some(text) => Expression::of(Value::text(text), TypeId::UNKNOWN),
                None => return Err(unsupported(&Expr::Value(literal.clone()))),
            },
        })
    }

    /// `B'101'`, `X'1F'`
    fn bit_literal(&self, kind: char, digits: &str, literal: &ValueWithSpan) -> Result<Expression, SqlError> {
        let place = Place::At(literal.span.start);
        // The parser also takes `0x1F` for such a literal.
        if self.places.begins_with(literal.span.start, '0') {
            let message = format!("trailing junk after numeric literal at or near \"0{kind}{digits}\"");
            return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), place));
        }
        let bits = parsed(&format!("{kind}{digits}"));
        let bits = bits.map_err(|error| self.places.mark(error, place))?;
        Ok(Expression::of(Value::text(bits), TypeId::BIT))
    }

    /// `- 9223372036854775808` is one literal: without its sign it is no bigint. So are further signs and parentheses around it.
    pub(super) fn negative_literal(&self, operand: &Expr) -> Result<Option<Expression>, SqlError> {
        let Some((digits, literal)) = signed_number(operand) else { return Ok(None) };
        if self.keeps_type_negated(literal) {
            return Ok(None);
        }
        self.look_at(literal)?;
        let place = Place::At(literal.span.start);
        number(&negated(&digits)).map(Some).map_err(|error| self.places.mark(error, place))
    }

    /// `DATE '2024-01-01'`
    pub(super) fn typed_string(&self, typed: &TypedString) -> Result<Expression, SqlError> {
        let target = match typed.data_type {
            // Here they take any length, where elsewhere they have the length 1.
            DataType::Bit(None) => SqlType::of(TypeId::BIT),
            // A literal of this type has no length, other than a column.
            DataType::Char(None) | DataType::Character(None) => SqlType::of(TypeId::BPCHAR),
            ref array @ DataType::Array(_) => {
                let error = SqlError::new(SqlState::SyntaxError, format!("{array} has no literals of this form"));
                return Err(self.places.mark(error, Place::At(typed.value.span.start)));
            }
            ref named => self.type_of(named)?,
        };
        self.check_constant(&typed.value)?;
        let literal = self.literal(&typed.value)?;
        let place = Place::At(typed.value.span.start);
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
        self.check_constant(value)?;
        let literal = self.literal(value)?;
        let place = Place::At(value.span.start);
        if literal.sql_type.id != TypeId::UNKNOWN {
            return Err(unsupported_here());
        }
        self.coerce(literal, place, target, CastContext::Explicit)
    }

    /// Refuses `date $1`: PostgreSQL's grammar has a constant there.
    pub(super) fn check_constant(&self, literal: &ValueWithSpan) -> Result<(), SqlError> {
        let Syntax::Placeholder(written) = &literal.value else { return Ok(()) };
        let error = SqlError::new(SqlState::SyntaxError, format!("syntax error at or near \"{written}\""));
        Err(self.places.mark(error, Place::At(literal.span.start)))
    }
}

/// A number with the signs before it as one sign, as PostgreSQL's grammar reads it, and the literal in it; `None` for other expressions.
pub(super) fn signed_number(syntax: &Expr) -> Option<(String, &ValueWithSpan)> {
    match syntax {
        Expr::Value(literal @ ValueWithSpan { value: Syntax::Number(digits, _), .. }) => {
            Some((digits.clone(), literal))
        }
        Expr::Nested(inner) => signed_number(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            signed_number(expr).map(|(digits, literal)| (negated(&digits), literal))
        }
        _ => None,
    }
}

/// The digits with the other sign.
fn negated(digits: &str) -> String {
    digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_owned)
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
pub(super) fn string(literal: &Syntax) -> Option<&str> {
    match literal {
        Syntax::SingleQuotedString(text) | Syntax::EscapedStringLiteral(text) | Syntax::UnicodeStringLiteral(text) => {
            Some(text)
        }
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
