//! What functions of arrays need of their elements' type: equality, order, text.
//!
//! Two elements are equal, and ordered, by the operators `=` and `<` of their type. An error says so where the type has none.

use std::cmp::Ordering;

use crate::functions::{Call, Implementation, implementation_of};
use crate::pg_catalog::{FunctionId, TypeId, pg_catalog};
use crate::resolution::{ResolvedOperator, resolve_operator};
use crate::types::SqlType;
use crate::types::type_names::type_name;
use crate::{SqlError, SqlState, Value};

/// A function for elements, with the types of its arguments.
pub(super) struct ElementFunction<'a> {
    implementation: Implementation,
    argument_types: Vec<SqlType>,
    call: &'a Call<'a>,
    result: SqlType,
}

impl<'a> ElementFunction<'a> {
    fn new(function: FunctionId, arguments: &[TypeId], result: TypeId, call: &'a Call<'a>) -> Result<Self, SqlError> {
        let entry = pg_catalog().function(function);
        let implementation = implementation_of(entry)
            .ok_or_else(|| SqlError::unsupported(format!("function {} is not supported", entry.signature())))?;
        let argument_types = arguments.iter().map(|id| SqlType::of(*id)).collect();
        Ok(Self { implementation, argument_types, call, result: SqlType::of(result) })
    }

    fn of_operator(operator: &ResolvedOperator, call: &'a Call<'a>) -> Result<Self, SqlError> {
        Self::new(operator.function, &operator.argument_types, operator.result, call)
    }

    fn compute(&self, arguments: &[Value]) -> Result<Value, SqlError> {
        let call = Call { session: self.call.session, argument_types: &self.argument_types, result_type: self.result };
        (self.implementation)(arguments, &call)
    }
}

/// Equality of elements.
pub(super) struct Equality<'a>(ElementFunction<'a>);

impl<'a> Equality<'a> {
    pub(super) fn of(element: TypeId, call: &'a Call<'a>) -> Result<Self, SqlError> {
        let operator = same_type_operator("=", element).ok_or_else(|| missing("an equality operator", element))?;
        Ok(Self(ElementFunction::of_operator(&operator, call)?))
    }

    /// Whether two elements are equal. Null is equal to nothing.
    pub(super) fn are_equal(&self, left: &Value, right: &Value) -> Result<bool, SqlError> {
        if left.is_null() || right.is_null() {
            return Ok(false);
        }
        Ok(self.0.compute(&[left.clone(), right.clone()])? == Value::Bool(true))
    }

    /// Whether two elements are equal or both null.
    pub(super) fn are_same(&self, left: &Value, right: &Value) -> Result<bool, SqlError> {
        Ok((left.is_null() && right.is_null()) || self.are_equal(left, right)?)
    }
}

/// The order of elements.
pub(super) struct Order<'a> {
    equality: ElementFunction<'a>,
    less: ElementFunction<'a>,
}

impl<'a> Order<'a> {
    pub(super) fn of(element: TypeId, call: &'a Call<'a>) -> Result<Self, SqlError> {
        let operators = (same_type_operator("=", element), same_type_operator("<", element));
        let (Some(equality), Some(less)) = operators else {
            return Err(missing("a comparison function", element));
        };
        let (equality, less) =
            (ElementFunction::of_operator(&equality, call)?, ElementFunction::of_operator(&less, call)?);
        Ok(Self { equality, less })
    }

    /// Null comes last, and two nulls are equal.
    pub(super) fn compare(&self, left: &Value, right: &Value) -> Result<Ordering, SqlError> {
        if left.is_null() || right.is_null() {
            return Ok(left.is_null().cmp(&right.is_null()));
        }
        let pair = [left.clone(), right.clone()];
        if self.equality.compute(&pair)? == Value::Bool(true) {
            return Ok(Ordering::Equal);
        }
        let is_less = self.less.compute(&pair)? == Value::Bool(true);
        Ok(if is_less { Ordering::Less } else { Ordering::Greater })
    }
}

fn same_type_operator(name: &str, element: TypeId) -> Option<ResolvedOperator> {
    resolve_operator(name, Some(element), element).ok()
}

fn missing(what: &str, element: TypeId) -> SqlError {
    let message = format!("could not identify {what} for type {}", type_name(element));
    SqlError::new(SqlState::UndefinedFunction, message)
}

/// Elements as text.
pub(super) struct Output<'a>(ElementFunction<'a>);

impl<'a> Output<'a> {
    pub(super) fn of(element: TypeId, call: &'a Call<'a>) -> Result<Self, SqlError> {
        let output = pg_catalog().type_entry(element).output;
        Ok(Self(ElementFunction::new(output, &[element], TypeId::CSTRING, call)?))
    }

    pub(super) fn text(&self, value: &Value) -> Result<Value, SqlError> {
        self.0.compute(std::slice::from_ref(value))
    }
}

/// Elements from text.
pub(super) struct Input<'a> {
    function: ElementFunction<'a>,
    /// What follows the text: the type of the element's elements, and the modifier, as far as the function takes them.
    further: Vec<Value>,
}

impl<'a> Input<'a> {
    pub(super) fn of(element: TypeId, modifier: i32, call: &'a Call<'a>) -> Result<Self, SqlError> {
        let entry = pg_catalog().type_entry(element);
        let arguments = &pg_catalog().function(entry.input).arguments;
        let parameter = entry.element.unwrap_or(element);
        let further = [Value::Oid(parameter.0), Value::Int4(modifier)];
        let further = further.into_iter().take(arguments.len().saturating_sub(1)).collect();
        Ok(Self { function: ElementFunction::new(entry.input, arguments, element, call)?, further })
    }

    pub(super) fn value(&self, text: &str) -> Result<Value, SqlError> {
        let arguments: Vec<Value> = [Value::text(text)].into_iter().chain(self.further.iter().cloned()).collect();
        self.function.compute(&arguments)
    }
}
