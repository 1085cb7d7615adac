//! What functions of arrays need of their elements' type: equality, order, text.
//!
//! An error says so where the type has no equality, or no order.

use crate::functions::ordering::{TypeEquality, TypeOrder};
use crate::functions::{Call, Implementation, SessionFacts, implementation_of};
use crate::pg_catalog::{FunctionId, TypeId, pg_catalog};
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

    fn compute(&self, arguments: &[Value]) -> Result<Value, SqlError> {
        let call = Call { argument_types: &self.argument_types, result_type: self.result, ..*self.call };
        (self.implementation)(arguments, &call)
    }
}

/// Equality of elements.
pub(super) struct Equality<'a>(TypeEquality, &'a dyn SessionFacts);

impl<'a> Equality<'a> {
    pub(super) fn of(element: TypeId, call: &Call<'a>) -> Result<Self, SqlError> {
        Ok(Self(TypeEquality::of(element)?, call.session))
    }

    /// Whether two elements are equal. Null is equal to nothing.
    pub(super) fn are_equal(&self, left: &Value, right: &Value) -> Result<bool, SqlError> {
        self.0.are_equal(left, right, self.1)
    }

    /// Whether two elements are equal or both null.
    pub(super) fn are_same(&self, left: &Value, right: &Value) -> Result<bool, SqlError> {
        self.0.are_same(left, right, self.1)
    }
}

/// The order of elements, which arrays and searches in them need.
pub(super) fn element_order(element: TypeId) -> Result<TypeOrder, SqlError> {
    TypeOrder::find(element)?.ok_or_else(|| {
        let message = format!("could not identify a comparison function for type {}", type_name(element));
        SqlError::new(SqlState::UndefinedFunction, message)
    })
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
