//! Subscripts and slices of arrays: `(a)[1][2]`, `(a)[2:3]`; parts of a jsonb: `(a)['b'][0]`.
//!
//! If one of the subscripts is a slice, all of them are: `[2]` then means `[1:2]`. PostgreSQL's grammar has subscripts after columns,
//! parameters and parentheses only.

use sqlparser::ast::{AccessExpr, Expr, Subscript, Value as Syntax, ValueWithSpan};

use super::places::Place;
use super::records::place_of_root;
use super::{Binder, Placed, unsupported};
use crate::expression::{Expression, Node, Subscripts};
use crate::pg_catalog::{CastContext, TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::values::Value;
use crate::values::array_limits::check_dimension_count;
use crate::{SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// A part of an array.
    pub(super) fn subscripted(&self, syntax: &Expr, root: &Expr, chain: &[AccessExpr]) -> Result<Expression, SqlError> {
        if let Some(at) = chain.iter().position(|access| matches!(access, AccessExpr::Dot(_))) {
            return self.field_in_chain(syntax, root, chain, at);
        }
        let subscripts = chain.iter().filter_map(|access| match access {
            AccessExpr::Subscript(subscript) => Some(subscript),
            AccessExpr::Dot(_) => None,
        });
        let subscripts: Vec<&Subscript> = subscripts.collect();
        if !takes_subscripts(root) {
            let place = Place::After(root);
            return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, "syntax error at or near \"[\""), place));
        }
        let (container, place) = self.placed(root)?;
        if container.sql_type.id == TypeId::JSONB {
            return self.jsonb_part((container, place), &subscripts);
        }
        let (array, element) = subscriptable(container.sql_type).map_err(|error| self.places.mark(error, place))?;
        let is_slice = subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice { .. }));
        let (bound, id) =
            if is_slice { (self.slices(&subscripts)?, array) } else { (self.indexes(&subscripts)?, element) };
        check_dimension_count(subscripts.len())?;
        let sql_type = SqlType { id, modifier: container.sql_type.modifier };
        Ok(Expression { node: Node::Subscript(Box::new(container), bound), sql_type })
    }

    /// `(root).name.name`: a field, and fields of it. `at` is where the first name is.
    fn field_in_chain(
        &self,
        syntax: &Expr,
        root: &Expr,
        chain: &[AccessExpr],
        at: usize,
    ) -> Result<Expression, SqlError> {
        let names = chain[at..].iter().map(|access| match access {
            AccessExpr::Dot(Expr::Identifier(name)) => Ok(name),
            AccessExpr::Dot(_) | AccessExpr::Subscript(_) => Err(unsupported(syntax)),
        });
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let Some((first, further)) = names.split_first() else { return Err(unsupported(syntax)) };
        if !takes_subscripts(root) {
            let error = SqlError::new(SqlState::SyntaxError, "syntax error at or near \".\"");
            return Err(self.places.mark(error, Place::After(root)));
        }
        let place = place_of_root(root);
        let field = match at {
            0 => self.field_of(root, first)?,
            _ => self.field(self.subscripted(syntax, root, &chain[..at])?, place, first)?,
        };
        further.iter().try_fold(field, |field, name| self.field(field, place, name))
    }

    fn indexes(&self, subscripts: &[&Subscript]) -> Result<Subscripts, SqlError> {
        let indexes = subscripts.iter().map(|subscript| match subscript {
            Subscript::Index { index } => self.subscript(index),
            Subscript::Slice { .. } => Err(SqlError::unsupported("a slice among subscripts is not supported")),
        });
        indexes.collect::<Result<_, _>>().map(Subscripts::Element)
    }

    fn slices(&self, subscripts: &[&Subscript]) -> Result<Subscripts, SqlError> {
        let slices = subscripts.iter().map(|subscript| match subscript {
            Subscript::Index { index } => {
                Ok((Some(Expression::of(Value::Int4(1), TypeId::INT4)), Some(self.subscript(index)?)))
            }
            Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                let bound = |bound: &Option<Expr>| bound.as_ref().map(|bound| self.subscript(bound)).transpose();
                Ok((bound(lower_bound)?, bound(upper_bound)?))
            }
            Subscript::Slice { stride: Some(stride), .. } => {
                let place = Place::Start(stride);
                Err(self.places.mark(SqlError::new(SqlState::SyntaxError, "syntax error at or near \":\""), place))
            }
        });
        slices.collect::<Result<_, _>>().map(Subscripts::Slice)
    }

    /// The part of a jsonb that keys and numbers of elements lead to.
    fn jsonb_part(&self, root: Placed<'_>, subscripts: &[&Subscript]) -> Result<Expression, SqlError> {
        let steps = subscripts.iter().map(|subscript| match subscript {
            Subscript::Index { index } => self.jsonb_step(index),
            Subscript::Slice { lower_bound, upper_bound, .. } => {
                let error = SqlError::new(SqlState::DatatypeMismatch, "jsonb subscript does not support slices");
                let bound = upper_bound.as_ref().or(lower_bound.as_ref());
                Err(self.places.mark(error, bound.map_or(Place::Nowhere, Place::Start)))
            }
        });
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        let path = Expression { node: Node::Array(TypeId::TEXT, steps), sql_type: SqlType::of(TypeId::TEXT_ARRAY) };
        self.operator("#>", Place::Nowhere, root, (path, Place::Nowhere))
    }

    /// A key or the number of an element, as text.
    fn jsonb_step(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        let (step, place) = self.placed(syntax)?;
        let id = step.sql_type.id;
        let refuse = |wanted: &str| {
            let message = format!("subscript type {} is not supported", type_name(id));
            let hint = format!("jsonb subscript must be coercible to {wanted}.");
            Err(self.places.mark(SqlError::new(SqlState::DatatypeMismatch, message).with_hint(hint), place))
        };
        let text = SqlType::of(TypeId::TEXT);
        if id == TypeId::UNKNOWN {
            return self.coerce(step, place, text, CastContext::Implicit);
        }
        let number = self.coerced(step.clone(), place, SqlType::of(TypeId::INT4), CastContext::Implicit)?;
        let key = self.coerced(step, place, text, CastContext::Implicit)?;
        match (number, key) {
            (Ok(number), Err(_)) => self.coerce(number, place, text, CastContext::Explicit),
            (Err(_), Ok(key)) => Ok(key),
            (Ok(_), Ok(_)) => refuse("only one type, integer or text"),
            (Err(_), Err(_)) => refuse("either integer or text"),
        }
    }

    /// A subscript as an integer.
    fn subscript(&self, syntax: &Expr) -> Result<Expression, SqlError> {
        let (subscript, place) = self.placed(syntax)?;
        let integer = SqlType::of(TypeId::INT4);
        self.coerced(subscript, place, integer, CastContext::Assignment)?.map_err(|_| {
            self.places.mark(SqlError::new(SqlState::DatatypeMismatch, "array subscript must have type integer"), place)
        })
    }
}

/// What PostgreSQL's grammar lets subscripts follow.
fn takes_subscripts(root: &Expr) -> bool {
    match root {
        Expr::Nested(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => true,
        Expr::Value(ValueWithSpan { value, .. }) => matches!(value, Syntax::Placeholder(_)),
        _ => false,
    }
}

/// The types of a slice and of an element.
fn subscriptable(container: SqlType) -> Result<(TypeId, TypeId), SqlError> {
    let catalog = pg_catalog();
    let entry = catalog.type_entry(container.id);
    match container.id {
        TypeId::INT2VECTOR | TypeId::OIDVECTOR => {
            let element = entry.element.expect("a vector has elements");
            Ok((catalog.type_entry(element).array.expect("integers have arrays"), element))
        }
        TypeId::NAME => Ok((container.id, TypeId::CHAR)),
        id => match catalog.element_of_array(id) {
            Some(element) => Ok((id, element)),
            None if entry.element.is_some() => {
                Err(SqlError::unsupported(format!("subscripts of type {} are not supported", entry.name)))
            }
            None => {
                let name = type_name(id);
                let message = format!("cannot subscript type {name} because it does not support subscripting");
                Err(SqlError::new(SqlState::DatatypeMismatch, message))
            }
        },
    }
}
