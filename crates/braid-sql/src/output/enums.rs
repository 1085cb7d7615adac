//! Labels of values of enumerated types.

use std::sync::Arc;

use crate::values::EnumValue;
use crate::{SqlError, SqlState};

/// The label of a value.
///
/// # Errors
/// For a key that is none of the type's.
pub fn label_of(value: EnumValue) -> Result<Arc<str>, SqlError> {
    let definition = value.enum_type.definition();
    let label = definition.label_of_key(value.key).map(|label| label.text.clone());
    label.ok_or_else(|| {
        let message = format!("type {} has no label for the key {}", definition.name, value.key);
        SqlError::new(SqlState::InternalError, message)
    })
}
