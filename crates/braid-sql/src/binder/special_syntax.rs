//! Syntax that stands for calls: `EXTRACT`, `POSITION`, `SUBSTRING`, `TRIM`, `OVERLAY`, `CEIL`, `AT TIME ZONE`, `LIKE`, `SIMILAR TO`,
//! `OVERLAPS`.
//!
//! PostgreSQL's grammar makes the same calls of it.

use sqlparser::ast::{CeilFloorKind, Expr, TrimWhereField, ValueWithSpan};

use super::places::Place;
use super::{Binder, negation, unsupported};
use crate::SqlError;
use crate::expression::Expression;
use crate::pg_catalog::TypeId;
use crate::values::Value;

impl Binder<'_> {
    /// An expression of special syntax.
    pub(super) fn special(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        match syntax {
            Expr::Extract { field, expr, .. } => {
                let field = field.to_string();
                let is_quote = |c| c == '\'' || c == '"';
                let field = field.trim_matches(is_quote);
                let field = Expression::of(Value::text(field.to_lowercase()), TypeId::TEXT);
                self.call_on("extract", vec![(field, Place::Nowhere), self.placed(expr)?])
            }
            Expr::Position { expr, r#in } => self.call_on("position", vec![self.placed(r#in)?, self.placed(expr)?]),
            Expr::Substring { expr, substring_from, substring_for, special, shorthand } => {
                let name = if *shorthand { "substr" } else { "substring" };
                self.substring(name, expr, substring_from.as_deref(), substring_for.as_deref(), *special || *shorthand)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "btrim",
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                };
                let characters = match (trim_what, trim_characters.as_deref()) {
                    (Some(what), None) => Some(&**what),
                    (None, Some([characters])) => Some(characters),
                    (None, None) => None,
                    _ => return Err(unsupported(syntax)),
                };
                self.call_with(name, expr, characters)
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut arguments = vec![self.placed(expr)?, self.placed(overlay_what)?, self.placed(overlay_from)?];
                if let Some(length) = overlay_for {
                    arguments.push(self.placed(length)?);
                }
                self.call_on("overlay", arguments)
            }
            Expr::Ceil { expr, field } => self.rounded("ceil", expr, field, syntax),
            Expr::Floor { expr, field } => self.rounded("floor", expr, field, syntax),
            Expr::AtTimeZone { timestamp, time_zone } => {
                self.call_on("timezone", vec![self.placed(time_zone)?, self.placed(timestamp)?])
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, if *negated { "!~~" } else { "~~" }, pattern, escape_char.as_ref())
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, if *negated { "!~~*" } else { "~~*" }, pattern, escape_char.as_ref())
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                let mut arguments = vec![self.placed(pattern)?];
                if let Some(escape) = escape_char {
                    arguments.push((self.literal(escape)?, Place::At(escape.span.start)));
                }
                let pattern = self.call_on("similar_to_escape", arguments)?;
                let place = Place::After(expr);
                self.operator(if *negated { "!~" } else { "~" }, place, self.placed(expr)?, (pattern, Place::Nowhere))
            }
            Expr::IsNormalized { expr, form, negated } => {
                let mut arguments = vec![self.placed(expr)?];
                if let Some(form) = form {
                    let form = Expression::of(Value::text(form.to_string()), TypeId::TEXT);
                    arguments.push((form, Place::Nowhere));
                }
                let is_normalized = self.call_on("is_normalized", arguments)?;
                Ok(if *negated { negation(is_normalized) } else { is_normalized })
            }
            other => Err(unsupported(other)),
        }
    }

    fn call_with(&self, name: &str, first: &Expr, second: Option<&Expr>) -> Result<Expression, SqlError> {
        let mut arguments = vec![self.placed(first)?];
        if let Some(second) = second {
            arguments.push(self.placed(second)?);
        }
        self.call_on(name, arguments)
    }

    /// `FOR` without `FROM` begins at the first character.
    fn substring(
        &self,
        name: &str,
        text: &Expr,
        from: Option<&Expr>,
        length: Option<&Expr>,
        is_call: bool,
    ) -> Result<Expression, SqlError> {
        let mut arguments = vec![self.placed(text)?];
        match (from, length) {
            (None, Some(_)) if is_call => return Err(SqlError::unsupported("this form of substring is not supported")),
            (None, Some(length)) => {
                arguments.push((Expression::of(Value::Int4(1), TypeId::INT4), Place::Nowhere));
                let (length, place) = self.placed(length)?;
                let integer = crate::SqlType::of(TypeId::INT4);
                let length = self.coerce(length, place, integer, crate::pg_catalog::CastContext::Explicit)?;
                arguments.push((length, place));
            }
            (from, length) => {
                for argument in [from, length].into_iter().flatten() {
                    arguments.push(self.placed(argument)?);
                }
            }
        }
        self.call_on(name, arguments)
    }

    fn rounded(
        &self,
        name: &str,
        operand: &Expr,
        field: &CeilFloorKind,
        syntax: &Expr,
    ) -> Result<Expression, SqlError> {
        match field {
            CeilFloorKind::DateTimeField(sqlparser::ast::DateTimeField::NoDateTime) => {
                self.call_on(name, vec![self.placed(operand)?])
            }
            _ => Err(unsupported(syntax)),
        }
    }

    fn like(
        &self,
        operand: &Expr,
        name: &str,
        pattern: &Expr,
        escape: Option<&ValueWithSpan>,
    ) -> Result<Expression, SqlError> {
        let Some(escape) = escape else { return self.infix(operand, name, pattern) };
        let escape = (self.literal(escape)?, Place::At(escape.span.start));
        let pattern = self.call_on("like_escape", vec![self.placed(pattern)?, escape])?;
        self.operator(name, Place::After(operand), self.placed(operand)?, (pattern, Place::Nowhere))
    }
}
