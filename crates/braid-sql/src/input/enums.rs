//! Values of enumerated types from their labels.

use crate::pg_catalog::TypeId;
use crate::types::type_names::type_name;
use crate::values::{EnumValue, Value};
use crate::{SqlError, SqlState};

/// The value of a label.
///
/// # Errors
/// 22P02 if the type has no such label; 55P04 if a transaction adds it, and has not committed yet.
pub fn value_of_label(label: &str, id: TypeId) -> Result<Value, SqlError> {
    let found = id.enum_type().and_then(|enum_type| {
        let key = enum_type.definition().label(label)?.key;
        Some(Value::Enum(EnumValue { enum_type, key }))
    });
    found.ok_or_else(|| {
        if id.enum_type().is_some_and(|enum_type| enum_type.is_proposed(label)) {
            let message = format!("unsafe use of new value \"{label}\" of enum type {}", type_name(id));
            return SqlError::new(SqlState::UnsafeNewEnumValue, message)
                .with_hint("New enum values must be committed before they can be used.");
        }
        let message = format!("invalid input value for enum {}: \"{label}\"", type_name(id));
        SqlError::new(SqlState::InvalidTextRepresentation, message)
    })
}
