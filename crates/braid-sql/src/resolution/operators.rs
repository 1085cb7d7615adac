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
    let operators: Vec<&OperatorEntry> =
        pg_catalog().operators(name).iter().filter(|entry| entry.left.is_some() == left.is_some()).collect();
    let operator = match exact(&operators, left, right) {
        Some(operator) => operator,
        None => best(&operators, name, left, right)?,
    };
    let given: Vec<TypeId> = left.into_iter().chain([right]).collect();
    let (argument_types, result) = polymorphic::resolve(&given, &operands(operator), operator.result)?;
    Ok(ResolvedOperator { function: operator.function, argument_types, result })
}

/// The operator with exactly these operands. An unknown operand is assumed to have the type of the other.
fn exact<'a>(operators: &[&'a OperatorEntry], left: Option<TypeId>, right: TypeId) -> Option<&'a OperatorEntry> {
    let (left, right) = match (left, right) {
        (Some(TypeId::UNKNOWN), right) => (Some(right), right),
        (Some(left), TypeId::UNKNOWN) => (Some(left), left),
        pair => pair,
    };
    operators.iter().copied().find(|entry| (entry.left, entry.right) == (left, right))
}

fn best<'a>(
    operators: &[&'a OperatorEntry],
    name: &str,
    left: Option<TypeId>,
    right: TypeId,
) -> Result<&'a OperatorEntry, SqlError> {
    let given: Vec<TypeId> = left.into_iter().chain([right]).collect();
    let wanted: Vec<Vec<TypeId>> = operators.iter().map(|entry| operands(entry)).collect();
    let wanted: Vec<&[TypeId]> = wanted.iter().map(Vec::as_slice).collect();
    match choose(&given, &wanted) {
        Choice::One(index) => Ok(operators[index]),
        Choice::NoMatch => Err(no_operator(name, left, right)),
        Choice::Ambiguous => Err(ambiguous(name, left, right)),
    }
}

fn operands(operator: &OperatorEntry) -> Vec<TypeId> {
    operator.left.into_iter().chain([operator.right]).collect()
}

fn signature(name: &str, left: Option<TypeId>, right: TypeId) -> String {
    let left = left.map_or(String::new(), |left| type_name(left) + " ");
    format!("{left}{name} {}", type_name(right))
}

fn no_operator(name: &str, left: Option<TypeId>, right: TypeId) -> SqlError {
    let hint = match left {
        Some(_) => "No operator matches the given name and argument types. You might need to add explicit type casts.",
        None => "No operator matches the given name and argument type. You might need to add an explicit type cast.",
    };
    let message = format!("operator does not exist: {}", signature(name, left, right));
    SqlError::new(SqlState::UndefinedFunction, message).with_hint(hint)
}

fn ambiguous(name: &str, left: Option<TypeId>, right: TypeId) -> SqlError {
    let message = format!("operator is not unique: {}", signature(name, left, right));
    SqlError::new(SqlState::AmbiguousFunction, message)
        .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}
