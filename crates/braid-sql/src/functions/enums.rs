//! Enumerated types: input, output, comparisons, and their labels.
//!
//! The type is that of the value or of the argument; that of a null argument, too.

use std::cmp::Ordering;

use braid_base::EnumTypeId;

use super::{Call, Implementation, Implementations};
use crate::input::enums::value_of_label;
use crate::output::enums::label_of;
use crate::pg_catalog::TypeId;
use crate::types::type_names::type_name;
use crate::values::{ArrayValue, EnumValue};
use crate::{SqlError, SqlState, Value};

/// Functions of enumerated types.
pub const FUNCTIONS: Implementations = &[
    ("enum_in", |arguments, _| value_of_label(arguments[0].as_text(), TypeId(arguments[1].as_oid()))),
    ("enum_out", |arguments, _| label_of(arguments[0].as_enum()).map(Value::Text)),
    ("enum_eq", |arguments, _| Ok(Value::Bool(compare(arguments).is_eq()))),
    ("enum_ne", |arguments, _| Ok(Value::Bool(compare(arguments).is_ne()))),
    ("enum_lt", |arguments, _| Ok(Value::Bool(compare(arguments).is_lt()))),
    ("enum_le", |arguments, _| Ok(Value::Bool(compare(arguments).is_le()))),
    ("enum_gt", |arguments, _| Ok(Value::Bool(compare(arguments).is_gt()))),
    ("enum_ge", |arguments, _| Ok(Value::Bool(compare(arguments).is_ge()))),
    ("enum_cmp", |arguments, _| Ok(Value::Int4(compare(arguments) as i32))),
    ("enum_smaller", ENUM_SMALLER),
    ("enum_larger", ENUM_LARGER),
    ("enum_first", |_, call| end_of(call, <[Value]>::first)),
    ("enum_last", |_, call| end_of(call, <[Value]>::last)),
    ("enum_range_all", |_, call| range(&Value::Null, &Value::Null, call)),
    ("enum_range_bounds", |arguments, call| range(&arguments[0], &arguments[1], call)),
];

const ENUM_SMALLER: Implementation = |arguments, _| Ok(arguments[usize::from(compare(arguments).is_gt())].clone());
const ENUM_LARGER: Implementation = |arguments, _| Ok(arguments[usize::from(compare(arguments).is_lt())].clone());

/// The order of two values of one type.
pub(super) fn compare_values(left: &Value, right: &Value) -> Ordering {
    left.as_enum().key.cmp(&right.as_enum().key)
}

fn compare(arguments: &[Value]) -> Ordering {
    compare_values(&arguments[0], &arguments[1])
}

/// The type of a call's argument.
fn type_of(call: &Call<'_>) -> Result<EnumTypeId, SqlError> {
    call.argument_types[0].id.enum_type().ok_or_else(|| SqlError::unsupported("could not determine actual enum type"))
}

fn values_of(enum_type: EnumTypeId) -> Vec<Value> {
    let definition = enum_type.definition();
    definition.labels.iter().map(|label| Value::Enum(EnumValue { enum_type, key: label.key })).collect()
}

/// The first or the last value of a type.
fn end_of(call: &Call<'_>, end: fn(&[Value]) -> Option<&Value>) -> Result<Value, SqlError> {
    let values = values_of(type_of(call)?);
    end(&values).cloned().ok_or_else(|| {
        let message = format!("enum {} contains no values", type_name(call.argument_types[0].id));
        SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
    })
}

/// The values from one to another; null is the first or the last.
fn range(from: &Value, to: &Value, call: &Call<'_>) -> Result<Value, SqlError> {
    let is_within = |value: &Value| {
        (from.is_null() || compare_values(from, value).is_le()) && (to.is_null() || compare_values(value, to).is_le())
    };
    let enum_type = type_of(call)?;
    let values = values_of(enum_type).into_iter().filter(is_within).collect();
    Ok(Value::Array(ArrayValue::of(TypeId::of_enum(enum_type), values).into()))
}
