//! Values of columns from text, of the types that columns have as bytes: by the type's input function, brought to its modifier.

use crate::functions::text_input::{ReadingSession, value_of_input};
use crate::functions::{Call, Function, SessionFacts, UnlimitedMemory};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::resolution::coercion::length_coercion;
use crate::values::ArrayValue;
use crate::{SqlError, SqlType, Value};

/// A value of any type, with the type's modifier.
///
/// # Errors
/// As PostgreSQL's on assignment; 0A000 for a type whose values are not supported.
pub fn column_value(text: &str, sql_type: SqlType, session: &ReadingSession) -> Result<Value, SqlError> {
    with_modifier(value_of_input(sql_type.id, text, session)?, sql_type, session)
}

/// A value brought to a type's modifier, as on assignment: rounded, padded, or refused.
fn with_modifier(value: Value, sql_type: SqlType, session: &dyn SessionFacts) -> Result<Value, SqlError> {
    let Some(id) = length_coercion(sql_type.id).filter(|_| sql_type.modifier >= 0) else { return Ok(value) };
    let entry = pg_catalog().function(id);
    let function = Function::of(entry);
    let function = function.ok_or_else(|| SqlError::unsupported("a length of this type is not supported"))?;
    let element = SqlType { id: pg_catalog().element_of_array(sql_type.id).unwrap_or(sql_type.id), ..sql_type };
    let (types, memory) = ([element, SqlType::of(TypeId::INT4), SqlType::of(TypeId::BOOL)], UnlimitedMemory);
    let types = &types[..entry.arguments.len()];
    let one = |value: &Value| {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let arguments = [value.clone(), Value::Int4(sql_type.modifier), Value::Bool(false)];
        let call = Call { session, argument_types: types, result_type: element, memory: &memory };
        function.compute(&arguments[..types.len()], &call)
    };
    match &value {
        Value::Array(array) => {
            let values = array.values.iter().map(one).collect::<Result<Vec<_>, _>>()?;
            let (element, dimensions) = (array.element, array.dimensions.clone());
            Ok(Value::Array(ArrayValue { element, dimensions, values }.into()))
        }
        value => one(value),
    }
}
