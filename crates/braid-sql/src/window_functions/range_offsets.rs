//! Offsets of RANGE frames: which `in_range` function compares values of the ordering column at a distance.

use crate::functions::{Call, Implementation, SessionFacts, UnlimitedMemory, implementation_of};
use crate::pg_catalog::{CastContext, FunctionEntry, TypeId, pg_catalog};
use crate::resolution::can_coerce;
use crate::types::type_names::type_name;
use crate::{SqlError, SqlType, Value};

/// An `in_range` function.
#[derive(Clone, Copy, Debug)]
pub struct InRange {
    implementation: Implementation,
    column: TypeId,
    offset: TypeId,
}

/// Whether an offset is added or subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Towards greater values.
    Added,
    /// Towards less values.
    Subtracted,
}

/// On which side of a bound a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At most the bound.
    AtMost,
    /// At least the bound.
    AtLeast,
}

impl InRange {
    /// The function for a column and an offset of these types. The offset is then coerced to [`Self::offset_type`].
    pub fn of(column: TypeId, offset: TypeId) -> Result<Self, SqlError> {
        let all: Vec<&FunctionEntry> =
            pg_catalog().functions_named("in_range").filter(|function| function.arguments[0] == column).collect();
        let unsupported = |rest: String, hint: Option<&str>| {
            let message = format!("RANGE with offset PRECEDING/FOLLOWING {rest}");
            let error = SqlError::unsupported(message);
            hint.map_or(error.clone(), |hint| error.with_hint(hint))
        };
        let name = type_name(column);
        if all.is_empty() {
            return Err(unsupported(format!("is not supported for column type {name}"), None));
        }
        let preferred = if offset == TypeId::UNKNOWN { column } else { offset };
        let matching = all
            .iter()
            .filter(|function| can_coerce(&[offset], &[function.arguments[2]], CastContext::Implicit))
            .collect::<Vec<_>>();
        let exact = matching.iter().find(|function| function.arguments[2] == preferred);
        let types = format!("for column type {name} and offset type {}", type_name(offset));
        match (exact, matching.as_slice()) {
            (Some(function), _) | (None, [function]) => Self::by(function),
            (None, []) => Err(unsupported(
                format!("is not supported {types}"),
                Some("Cast the offset value to an appropriate type."),
            )),
            (None, _) => Err(unsupported(
                format!("has multiple interpretations {types}"),
                Some("Cast the offset value to the exact intended type."),
            )),
        }
    }

    fn by(function: &FunctionEntry) -> Result<Self, SqlError> {
        let implementation = implementation_of(function)
            .ok_or_else(|| SqlError::unsupported(format!("function {} is not supported", function.signature())))?;
        Ok(Self { implementation, column: function.arguments[0], offset: function.arguments[2] })
    }

    /// The type that the offset must have.
    pub fn offset_type(&self) -> TypeId {
        self.offset
    }

    /// Whether a value is on this side of another plus or minus an offset. None is null.
    pub(super) fn holds(
        &self,
        value: &Value,
        (base, offset, sense): (&Value, &Value, Sense),
        side: Side,
        session: &dyn SessionFacts,
    ) -> Result<bool, SqlError> {
        let types = [self.column, self.column, self.offset, TypeId::BOOL, TypeId::BOOL].map(SqlType::of);
        let call =
            Call { session, argument_types: &types, result_type: SqlType::of(TypeId::BOOL), memory: &UnlimitedMemory };
        let (subtracts, at_most) = (Value::Bool(sense == Sense::Subtracted), Value::Bool(side == Side::AtMost));
        let arguments = [value.clone(), base.clone(), offset.clone(), subtracts, at_most];
        Ok((self.implementation)(&arguments, &call)? == Value::Bool(true))
    }
}
