//! Literals whose values vary between the statements that one plan serves: parameters of the plan instead of constants.
//!
//! Such a literal is bound as any other of its kind, without a look at its value. A number is a parameter of its type. A string is a
//! text of type `unknown`; where the input function of a type would read it, the expression is a call of this function. What cannot be
//! bound without the value says so, and the caller binds again with the literal as a constant.
//!
//! These rules keep a plan right for all values:
//! 1. Every varying literal is bound as a parameter, or else it counts as looked at: the parser or a rule has used its value otherwise
//!    (`varchar(5)`, `ORDER BY 1`, `current_timestamp(3)`). [`Statement::literal_inputs`] checks it.
//! 2. Two literals are equal if they have one number. So literals of one number must be equal in all statements. Literals of two
//!    numbers that happen to be equal make `GROUP BY a + 1` fail where the constants would not: an error of binding says nothing of the
//!    statement while literals vary.
//! 3. Where equal constants would give other rows, which are several grouping sets, expressions that are compared have no varying
//!    literals.
//! 4. PostgreSQL reads all literals before it runs a statement. So [`Statement::literal_inputs`] are evaluated first, in their order, and
//!    their first error is that of the statement.

use std::cell::{Cell, RefCell};

use sqlparser::ast::{Value as Syntax, ValueWithSpan};
use sqlparser::tokenizer::Location;

use super::casts::call;
use super::literals::string;
use super::{Binder, Statement};
use crate::expression::{Expression, Node};
use crate::pg_catalog::{TypeId, TypeKind, pg_catalog};
use crate::values::Value;
use crate::{SqlError, SqlType};

/// A literal whose value varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VaryingLiteral {
    /// Where its token begins.
    pub location: Location,
    /// What all its values are.
    pub kind: VaryingKind,
    /// The number of its parameter, behind those of `$1`, `$2`, …. Literals of one number are equal in all statements.
    pub number: usize,
}

/// What the values of a varying literal have in common: PostgreSQL gives them one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaryingKind {
    /// A number of type `integer`.
    Integer,
    /// A number of type `bigint`.
    BigInt,
    /// A number of type `numeric`.
    Numeric {
        /// Most digits of a value.
        digits: u32,
        /// Digits after the point of every value.
        scale: u32,
    },
    /// A string of type `unknown`.
    Text,
}

/// The varying literals of a statement, and what became of them.
#[derive(Debug, Default)]
pub(super) struct VaryingLiterals {
    /// In the order of their locations.
    literals: Vec<VaryingLiteral>,
    /// The least of their numbers.
    first_number: Option<usize>,
    /// Where the token of each ends, once it is bound as a parameter.
    ends: RefCell<Vec<Option<Location>>>,
    looked_at: Cell<Option<VaryingLiteral>>,
    inputs: RefCell<Vec<Expression>>,
}

impl VaryingLiterals {
    fn new(literals: &[VaryingLiteral]) -> Self {
        let mut literals = literals.to_vec();
        literals.sort_by_key(|literal| literal.location);
        let first_number = literals.iter().map(|literal| literal.number).min();
        Self { ends: RefCell::new(vec![None; literals.len()]), literals, first_number, ..Self::default() }
    }

    fn at(&self, location: Location) -> Option<usize> {
        self.literals.binary_search_by_key(&location, |literal| literal.location).ok()
    }

    /// Whether a parameter is a varying literal.
    pub fn has_number(&self, number: usize) -> bool {
        self.first_number.is_some_and(|first| number >= first)
    }

    fn look_at(&self, literal: VaryingLiteral) -> SqlError {
        self.looked_at.set(self.looked_at.get().or(Some(literal)));
        let Location { line, column } = literal.location;
        SqlError::unsupported(format!("binding needs the value of the literal in line {line}, column {column}"))
    }

    /// The first string that may be joined with the one behind it: its place reaches to the end of that one, or a quote or a comment
    /// follows.
    fn joined(&self, text: &str) -> Option<VaryingLiteral> {
        let ends = self.ends.borrow();
        let texts = self.literals.iter().zip(ends.iter()).filter(|(literal, _)| literal.kind == VaryingKind::Text);
        let mut ends = texts.filter_map(|(literal, end)| Some((literal, (*end)?))).peekable();
        let (mut location, mut start) = (Location { line: 1, column: 1 }, 0);
        for (at, character) in text.char_indices().chain([(text.len(), '\0')]) {
            let (literal, end) = ends.peek()?;
            if location >= *end {
                let rest = text[at..].trim_start();
                let is_followed = ["'", "\"", "--", "/*"].iter().any(|mark| rest.starts_with(mark));
                if is_followed || (end.line > literal.location.line && !is_one_string(&text[start..at])) {
                    return Some(**literal);
                }
                ends.next();
            }
            if ends.peek().is_some_and(|(literal, _)| literal.location == location) {
                start = at;
            }
            location = match character {
                '\n' => Location { line: location.line + 1, column: 1 },
                _ => Location { column: location.column + 1, ..location },
            };
        }
        None
    }
}

/// Whether a text is one string with plain quotes: those in it are doubled.
fn is_one_string(written: &str) -> bool {
    let inner = written.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.is_some_and(|inner| !inner.replace("''", "").contains('\''))
}

impl<'a> Statement<'a> {
    /// The statement with literals that vary. Their numbers are greater than those of all of its parameters: at least the number in
    /// the highest `$n` of the text.
    #[must_use]
    pub fn with_varying(self, literals: &[VaryingLiteral]) -> Self {
        Self { varying: VaryingLiterals::new(literals), ..self }
    }

    /// The first varying literal whose value binding needed. Binding then fails, or [`Self::literal_inputs`] does. The caller binds once
    /// more with this literal as a constant.
    pub fn looked_at(&self) -> Option<VaryingLiteral> {
        self.varying.looked_at.get()
    }

    /// The varying strings as their types' input functions read them, in the order in which PostgreSQL reads them. To be called when all
    /// of the statement is bound. For each statement that the plan serves, they are evaluated before anything else; the first error is
    /// the statement's.
    ///
    /// # Errors
    /// If a varying literal is not bound as a parameter: see [`Self::looked_at`].
    pub fn literal_inputs(&self) -> Result<Vec<Expression>, SqlError> {
        let varying = &self.varying;
        if let Some(literal) = self.looked_at() {
            return Err(varying.look_at(literal));
        }
        let unbound = varying.ends.borrow().iter().position(Option::is_none);
        match unbound.map(|at| varying.literals[at]).or_else(|| varying.joined(self.places.text())) {
            Some(literal) => Err(varying.look_at(literal)),
            None => Ok(varying.inputs.borrow().clone()),
        }
    }
}

impl Statement<'_> {
    /// The types that an expression reads varying strings as, by their locations. Those that stay unknown are left out.
    pub fn types_of_strings(&self, expression: &Expression) -> Vec<(Location, TypeId)> {
        let mut found = Vec::new();
        note_types(expression, None, &mut found);
        let location = |number: usize| self.varying.literals.iter().find(|literal| literal.number == number);
        found.into_iter().filter_map(|(number, id)| Some((location(number)?.location, id))).collect()
    }
}

/// Notes the types of the parameters in an expression. The argument of an input function is of the type that the function returns.
fn note_types(expression: &Expression, reader: Option<TypeId>, found: &mut Vec<(usize, TypeId)>) {
    if let Node::Parameter(number) = expression.node {
        match expression.sql_type.id {
            TypeId::CSTRING => found.extend(reader.map(|id| (number, id))),
            TypeId::UNKNOWN => {}
            id => found.push((number, id)),
        }
    }
    let id = expression.sql_type.id;
    expression.operands().into_iter().for_each(|operand| note_types(operand, Some(id), found));
}

impl Binder<'_> {
    /// A literal as a parameter; `None` if it does not vary.
    pub(super) fn varying_literal(&self, literal: &ValueWithSpan) -> Result<Option<Expression>, SqlError> {
        let varying = &self.statement.varying;
        let Some(at) = self.varying_at(literal) else { return Ok(None) };
        let VaryingLiteral { kind, number, .. } = varying.literals[at];
        let id = match (kind, &literal.value) {
            (VaryingKind::Integer, Syntax::Number(..)) => TypeId::INT4,
            (VaryingKind::BigInt, Syntax::Number(..)) => TypeId::INT8,
            (VaryingKind::Numeric { .. }, Syntax::Number(..)) => TypeId::NUMERIC,
            (VaryingKind::Text, value) if string(value).is_some() => TypeId::UNKNOWN,
            _ => return Err(varying.look_at(varying.literals[at])),
        };
        varying.ends.borrow_mut()[at] = Some(literal.span.end);
        Ok(Some(Expression { node: Node::Parameter(number), sql_type: SqlType::of(id) }))
    }

    /// The varying literal that this is. Those of a view's text are not the statement's.
    fn varying_at(&self, literal: &ValueWithSpan) -> Option<usize> {
        let is_statement = std::ptr::eq(self.places.text(), self.statement.places.text());
        is_statement.then(|| self.statement.varying.at(literal.span.start)).flatten()
    }

    /// Whether a literal varies.
    pub(super) fn varies(&self, literal: &ValueWithSpan) -> bool {
        self.varying_at(literal).is_some()
    }

    /// Whether a minus before a number makes another number of the same type of it, whichever number it is. `9223372036854775808` is a
    /// numeric and a bigint with the sign.
    pub(super) fn keeps_type_negated(&self, literal: &ValueWithSpan) -> bool {
        let varying = &self.statement.varying;
        self.varying_at(literal).is_some_and(|at| match varying.literals[at].kind {
            VaryingKind::Integer => true,
            VaryingKind::Numeric { scale, .. } => scale > 0,
            VaryingKind::BigInt | VaryingKind::Text => false,
        })
    }

    /// To be called before the value of a literal is looked at: an error if it varies.
    pub(super) fn look_at(&self, literal: &ValueWithSpan) -> Result<(), SqlError> {
        let varying = &self.statement.varying;
        self.varying_at(literal).map_or(Ok(()), |at| Err(varying.look_at(varying.literals[at])))
    }

    /// The same for a parameter that may be a varying literal.
    pub(super) fn look_at_parameter(&self, number: usize) -> Result<(), SqlError> {
        let varying = &self.statement.varying;
        let literal = varying.literals.iter().find(|literal| literal.number == number);
        literal.map_or(Ok(()), |literal| Err(varying.look_at(*literal)))
    }

    /// The same for all parameters of an expression.
    pub(super) fn look_at_parameters(&self, expression: &Expression) -> Result<(), SqlError> {
        if let Node::Parameter(number) = expression.node {
            self.look_at_parameter(number)?;
        }
        expression.operands().into_iter().try_for_each(|operand| self.look_at_parameters(operand))
    }

    /// A varying string as its type's input function reads it. Only intervals look at the modifier while they are read.
    pub(super) fn varying_input(&self, number: usize, target: SqlType) -> Result<Expression, SqlError> {
        let text = |id| Expression { node: Node::Parameter(number), sql_type: SqlType::of(id) };
        // These input functions return the text.
        if [TypeId::UNKNOWN, TypeId::CSTRING, TypeId::TEXT, TypeId::VARCHAR, TypeId::BPCHAR].contains(&target.id) {
            return Ok(text(target.id));
        }
        let catalog = pg_catalog();
        let entry = catalog.type_entry(target.id);
        if entry.kind == TypeKind::Pseudo {
            return Err(SqlError::unsupported(format!("cannot accept a value of type {}", entry.name)));
        }
        let modifier = if target.id == TypeId::INTERVAL { target.modifier } else { -1 };
        let element = catalog.element_of_array(target.id).unwrap_or(target.id);
        let arguments = vec![
            text(TypeId::CSTRING),
            Expression::of(Value::Oid(element.0), TypeId::OID),
            Expression::of(Value::Int4(modifier), TypeId::INT4),
        ];
        let input = call(entry.input, arguments, SqlType { id: target.id, modifier })?;
        self.statement.varying.inputs.borrow_mut().push(input.clone());
        Ok(input)
    }
}
