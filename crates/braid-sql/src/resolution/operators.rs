//! The operator that two operands mean, or one behind a prefix operator.

use super::candidates::{Choice, choose};
use super::polymorphic;
use crate::pg_catalog::{FunctionId, OperatorEntry, TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::{SqlError, SqlState};

/// An operator with the types of its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedOperator {
    /// What computes it.
    pub function: FunctionId,
    /// The types to which the operands are coerced, one or two, polymorphic ones replaced.
    pub argument_types: Vec<TypeId>,
    /// The type of the result, polymorphic types replaced.
    pub result: TypeId,
}

/// The operator of a name with these operands; `left` is `None` for a prefix operator.
pub fn resolve_operator(name: &str, left: Option<TypeId>, right: TypeId) -> Result<ResolvedOperator, SqlError> {
    let operators = pg_catalog().operators(name);
    let both = [left.unwrap_or(right), right];
    let given = if left.is_some() { &both[..] } else { &both[1..] };
    let operator = match exact(operators, given) {
        Some(operator) => operator,
        None => best(operators, name, given)?,
    };
    let (argument_types, result) = polymorphic::resolve(given, &operator.operands, operator.result)?;
    Ok(ResolvedOperator { function: operator.function, argument_types, result })
}

/// The operator with exactly these operands. An unknown operand is assumed to have the type of the other.
fn exact<'a>(operators: &'a [OperatorEntry], given: &[TypeId]) -> Option<&'a OperatorEntry> {
    let assumed = match *given {
        [TypeId::UNKNOWN, right] => &[right, right],
        [left, TypeId::UNKNOWN] => &[left, left],
        _ => given,
    };
    operators.iter().find(|entry| entry.operands == assumed)
}

fn best<'a>(operators: &'a [OperatorEntry], name: &str, given: &[TypeId]) -> Result<&'a OperatorEntry, SqlError> {
    let operators: Vec<&OperatorEntry> = operators.iter().filter(|entry| entry.operands.len() == given.len()).collect();
    let wanted: Vec<&[TypeId]> = operators.iter().map(|entry| entry.operands.as_slice()).collect();
    match choose(given, &wanted) {
        Choice::One(index) => Ok(operators[index]),
        Choice::NoMatch => Err(no_operator(name, given)),
        Choice::Ambiguous => Err(ambiguous(name, given)),
    }
}

/// The name between the types of the operands.
fn signature(name: &str, given: &[TypeId]) -> String {
    match *given {
        [left, right] => format!("{} {name} {}", type_name(left), type_name(right)),
        _ => given.iter().fold(name.to_owned(), |text, operand| format!("{text} {}", type_name(*operand))),
    }
}

fn no_operator(name: &str, given: &[TypeId]) -> SqlError {
    let hint = match given.len() {
        1 => "No operator matches the given name and argument type. You might need to add an explicit type cast.",
        _ => "No operator matches the given name and argument types. You might need to add explicit type casts.",
    };
    let message = format!("operator does not exist: {}", signature(name, given));
    SqlError::new(SqlState::UndefinedFunction, message).with_hint(hint)
}

fn ambiguous(name: &str, given: &[TypeId]) -> SqlError {
    let message = format!("operator is not unique: {}", signature(name, given));
    SqlError::new(SqlState::AmbiguousFunction, message)
        .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}
