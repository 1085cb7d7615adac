//! `f(VARIADIC array)` for functions of any number of arguments of any types: the elements of the array are arguments.
//!
//! An array that is written out is spread when the statement is bound. That of another expression is spread here.

use crate::expression::{Expression, FunctionCall, Node};
use crate::functions::{Call, Function};
use crate::pg_catalog::{FunctionEntry, FunctionId, TypeId, pg_catalog};
use crate::{SqlError, SqlState, SqlType, Value};

/// The type of the function's number among the arguments. Statements have no values of it, so that the call is like no other.
const INTERNAL: TypeId = TypeId(2281);

/// A call whose last argument is an array of arguments.
pub fn spreading_call(
    entry: &FunctionEntry,
    mut arguments: Vec<Expression>,
    result: SqlType,
) -> Result<Expression, SqlError> {
    if Function::of(entry).is_none() {
        return Err(SqlError::unsupported(format!("function {} is not supported here", entry.name)));
    }
    let types = arguments.iter().map(|argument| argument.sql_type);
    let argument_types = [SqlType::of(INTERNAL)].into_iter().chain(types).collect();
    arguments.insert(0, Expression::of(Value::Oid(entry.id.0), TypeId::OID));
    let call = FunctionCall {
        function: Function::own(entry.id, spread),
        is_strict: false,
        volatility: entry.volatility,
        argument_types,
        arguments,
    };
    Ok(Expression { node: Node::Call(Box::new(call)), sql_type: result })
}

/// The function's value. Null in place of an array is the result, but for `format`, which then has no further arguments.
fn spread(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let ([Value::Oid(id), first @ .., last], [_, types @ .., _]) = (arguments, call.argument_types) else {
        return Err(SqlError::new(SqlState::InternalError, "a call without an array"));
    };
    let entry = pg_catalog().function(FunctionId(*id));
    let function = Function::of(entry).ok_or_else(|| SqlError::new(SqlState::InternalError, "an unknown function"))?;
    let (mut arguments, mut types) = (first.to_vec(), types.to_vec());
    match last {
        Value::Array(array) => {
            types.resize(types.len() + array.values.len(), SqlType::of(array.element));
            arguments.extend(array.values.iter().cloned());
        }
        _ if entry.name == "format" => {}
        _ => return Ok(Value::Null),
    }
    function.compute(&arguments, &Call { argument_types: &types, ..*call })
}
