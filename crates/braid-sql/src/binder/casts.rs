//! Casts: what is written, and what is added where types differ.

use sqlparser::ast::{CastKind, Expr};

use super::places::Place;
use super::{Binder, computed, unnested, unsupported};
use crate::expression::{ElementCast, Expression, FunctionCall, Node, ThroughText};
use crate::functions::text_input::read_text;
use crate::pg_catalog::{CastContext, FunctionId, TypeId, TypeKind, pg_catalog};
use crate::resolution::{Pathway, coercion_pathway, length_coercion};
use crate::types::type_names::type_name;
use crate::values::{ArrayValue, Value};
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// `x::type`, `CAST(x AS type)`
    pub(super) fn cast_syntax(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        let Expr::Cast { kind, expr, data_type, array: false, format: None } = syntax else {
            return Err(unsupported(syntax));
        };
        let target = self.type_of(data_type).map_err(|error| self.places.mark(error, Place::CastType(expr)))?;
        if let (Expr::Array(array), Some(element)) = (unnested(expr), pg_catalog().element_of_array(target.id)) {
            return self.array_of(&array.elem, target, element);
        }
        let place = match kind {
            CastKind::DoubleColon => Place::CastOperator(expr),
            CastKind::Cast => Place::Cast(expr),
            CastKind::TryCast | CastKind::SafeCast => return Err(unsupported(syntax)),
        };
        let operand = self.expression(expr)?;
        let place = if operand.sql_type.id == TypeId::UNKNOWN { Place::Start(expr) } else { place };
        let cast = self.coerce(operand, place, target, CastContext::Explicit)?;
        // A type without a modifier says that the values may have any.
        Ok(match cast.sql_type.id == target.id && cast.sql_type.modifier >= 0 && target.modifier < 0 {
            true => Expression { sql_type: target, node: Node::Relabel(Box::new(cast)) },
            false => cast,
        })
    }

    /// An expression as a value of `target`, or PostgreSQL's refusal of a written cast.
    pub(super) fn coerce(
        &self,
        operand: Expression,
        place: Place<'_>,
        target: SqlType,
        context: CastContext,
    ) -> Result<Expression, SqlError> {
        let source = operand.sql_type;
        match self.coerced(operand, place, target, context)? {
            Ok(coerced) => Ok(coerced),
            Err(_) => {
                let (from, to) = (type_name(source.id), type_name(target.id));
                let message = format!("cannot cast type {from} to {to}");
                Err(self.places.mark(SqlError::new(SqlState::CannotCoerce, message), place))
            }
        }
    }

    /// An expression as a value of `target`; the expression itself if there is no such cast in this context.
    pub(super) fn coerced(
        &self,
        operand: Expression,
        place: Place<'_>,
        target: SqlType,
        context: CastContext,
    ) -> Result<Result<Expression, Expression>, SqlError> {
        if let Some(domain) = target.id.domain() {
            return self.cast_to_domain(operand, place, domain, context);
        }
        if let Some(literal) = operand.unknown_literal() {
            let read = self.read_literal(literal, target).map_err(|error| self.places.mark(error, place))?;
            if let (Some(notes), Node::Constant(value)) = (self.session.literal_notes(), &read.node) {
                notes.note((self.places.text(), || place.of_literal()), literal, (value, read.sql_type));
            }
            return Ok(Ok(self.with_modifier(read, target, context)?));
        }
        if let (Node::Parameter(number), TypeId::UNKNOWN) = (&operand.node, operand.sql_type.id) {
            let typed = match self.statement.varying.has_number(*number) {
                true => self.varying_input(*number, target).map_err(|error| self.places.mark(error, place))?,
                false => self.typed_parameter(*number, place, target)?,
            };
            return Ok(Ok(self.with_modifier(typed, target, context)?));
        }
        let source = operand.sql_type;
        let Some(pathway) = coercion_pathway(source.id, target.id, context) else { return Ok(Err(operand)) };
        let coerced = self.along(operand, &pathway, target, context)?;
        Ok(Ok(self.with_modifier(coerced, target, context)?))
    }

    /// The value of a literal, read by the type's input function. Only intervals look at the modifier while they are read.
    fn read_literal(&self, literal: &Value, target: SqlType) -> Result<Expression, SqlError> {
        let modifier = if target.id == TypeId::INTERVAL { target.modifier } else { -1 };
        let read_type = SqlType { id: target.id, modifier };
        if literal.is_null() {
            return Ok(Expression::null(read_type));
        }
        if [TypeId::UNKNOWN, TypeId::CSTRING].contains(&target.id) {
            return Ok(Expression::of(literal.clone(), target.id));
        }
        let entry = pg_catalog().type_entry(target.id);
        // An array of nothing has no records to be read.
        if target.id == TypeId::RECORD_ARRAY && matches!(literal, Value::Text(text) if text.trim() == "{}") {
            let empty = ArrayValue::of(TypeId::RECORD, Vec::new());
            return Ok(Expression::constant(Value::Array(empty.into()), read_type));
        }
        if target.id == TypeId::RECORD {
            return Err(SqlError::unsupported("input of anonymous composite types is not implemented"));
        }
        if entry.kind == TypeKind::Pseudo {
            return Err(SqlError::unsupported(format!("cannot accept a value of type {}", entry.name)));
        }
        let input = computed(pg_catalog().function(entry.input))?;
        let value = read_text(input, literal.clone(), read_type, modifier, self.session)?;
        Ok(Expression::constant(value, read_type))
    }

    /// A cast along a pathway, without the target's modifier.
    pub(super) fn along(
        &self,
        operand: Expression,
        pathway: &Pathway,
        target: SqlType,
        context: CastContext,
    ) -> Result<Expression, SqlError> {
        let is_explicit = context == CastContext::Explicit;
        let bare = SqlType::of(target.id);
        Ok(match pathway {
            Pathway::Relabel if operand.sql_type.id == target.id => operand,
            Pathway::Relabel => Expression { node: Node::Relabel(Box::new(operand)), sql_type: bare },
            Pathway::Function(function) => cast_call(*function, operand, target, is_explicit)?,
            Pathway::InputOutput => {
                let catalog = pg_catalog();
                let output = catalog.function(catalog.type_entry(operand.sql_type.id).output);
                let input = catalog.function(catalog.type_entry(target.id).input);
                let (output, input) = (computed(output)?, computed(input)?);
                Expression {
                    node: Node::ThroughText(Box::new(ThroughText { argument: operand, output, input })),
                    sql_type: bare,
                }
            }
            Pathway::ArrayElements(element, source, element_target) => {
                let cast = element_cast(element, (*source, *element_target), is_explicit)?;
                Expression { node: Node::EachElement { array: Box::new(operand), cast }, sql_type: bare }
            }
        })
    }

    /// The cast of a type to itself that applies a modifier.
    fn with_modifier(
        &self,
        operand: Expression,
        target: SqlType,
        context: CastContext,
    ) -> Result<Expression, SqlError> {
        // No cast changes the fields of a record.
        let is_record = [TypeId::RECORD, TypeId::RECORD_ARRAY].contains(&target.id);
        if target.modifier < 0 || operand.sql_type == target || is_record {
            return Ok(operand);
        }
        let Some(function) = length_coercion(target.id) else {
            return Ok(Expression { sql_type: target, ..operand });
        };
        if pg_catalog().element_of_array(target.id).is_some() {
            let entry = pg_catalog().function(function);
            let (function, argument_count) = (computed(entry)?, entry.arguments.len());
            let is_explicit = context == CastContext::Explicit;
            let cast = ElementCast::Function { function, argument_count, is_explicit };
            return Ok(Expression { node: Node::EachElement { array: Box::new(operand), cast }, sql_type: target });
        }
        cast_call(function, operand, target, context == CastContext::Explicit)
    }

    /// A boolean, for `what` (`argument of AND`).
    pub(super) fn boolean(&self, syntax: &Expr, what: &str) -> Result<Expression, SqlError> {
        let place = Place::Start(syntax);
        match self.coerced(self.expression(syntax)?, place, SqlType::of(TypeId::BOOL), CastContext::Assignment)? {
            Ok(boolean) => Ok(boolean),
            Err(other) => {
                let message = format!("{what} must be type boolean, not type {}", type_name(other.sql_type.id));
                Err(self.places.mark(SqlError::new(SqlState::DatatypeMismatch, message), place))
            }
        }
    }

    /// A literal that nothing gave a type is a text.
    pub(super) fn resolve_unknown(&self, operand: Expression) -> Result<Expression, SqlError> {
        match operand.sql_type.id {
            TypeId::UNKNOWN => self.coerce(operand, Place::Nowhere, SqlType::of(TypeId::TEXT), CastContext::Implicit),
            _ => Ok(operand),
        }
    }
}

/// A call of a cast's function; some take the target's modifier, and whether the cast is written.
fn cast_call(
    function: FunctionId,
    operand: Expression,
    target: SqlType,
    is_explicit: bool,
) -> Result<Expression, SqlError> {
    let entry = pg_catalog().function(function);
    let mut arguments = vec![operand];
    let takes_modifier = entry.arguments.len() > 1;
    if takes_modifier {
        arguments.push(Expression::of(Value::Int4(target.modifier), TypeId::INT4));
    }
    if entry.arguments.len() > 2 {
        arguments.push(Expression::of(Value::Bool(is_explicit), TypeId::BOOL));
    }
    if takes_modifier {
        return call(function, arguments, target);
    }
    let sql_type = SqlType::of(target.id);
    if entry.result == target.id {
        return call(function, arguments, sql_type);
    }
    // smallint becomes oid by the function that makes an integer of it.
    let result = call(function, arguments, SqlType::of(entry.result))?;
    Ok(Expression { node: Node::Relabel(Box::new(result)), sql_type })
}

fn element_cast(
    pathway: &Pathway,
    (source, target): (TypeId, TypeId),
    is_explicit: bool,
) -> Result<ElementCast, SqlError> {
    let catalog = pg_catalog();
    Ok(match pathway {
        Pathway::Relabel => ElementCast::Relabel,
        Pathway::Function(function) => {
            let entry = catalog.function(*function);
            ElementCast::Function { function: computed(entry)?, argument_count: entry.arguments.len(), is_explicit }
        }
        Pathway::InputOutput => ElementCast::ThroughText(
            computed(catalog.function(catalog.type_entry(source).output))?,
            computed(catalog.function(catalog.type_entry(target).input))?,
        ),
        Pathway::ArrayElements(..) => return Err(SqlError::unsupported("arrays of arrays are not supported")),
    })
}

/// A call of a function with arguments of its types.
pub(super) fn call(
    function: FunctionId,
    arguments: Vec<Expression>,
    sql_type: SqlType,
) -> Result<Expression, SqlError> {
    let entry = pg_catalog().function(function);
    let call = FunctionCall {
        function: computed(entry)?,
        is_strict: entry.is_strict,
        volatility: entry.volatility,
        argument_types: arguments.iter().map(|argument| argument.sql_type).collect(),
        arguments,
    };
    Ok(Expression { node: Node::Call(Box::new(call)), sql_type })
}
