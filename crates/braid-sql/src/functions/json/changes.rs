//! jsonb joined, and without some of its members: `||`, `-`, `jsonb_strip_nulls`.

use std::sync::Arc;

use super::access::index;
use super::comparisons::is_string;
use super::json_types::invalid_parameter;
use crate::functions::{Call, Implementations};
use crate::values::json::Jsonb;
use crate::{SqlError, SqlState, Value};

/// Values joined and shortened.
pub const FUNCTIONS: Implementations = &[
    ("jsonb_concat", |args, _| concatenated(args[0].as_jsonb(), args[1].as_jsonb()).checked().map(Value::jsonb)),
    ("jsonb_delete", |args, _| without_keys(args, &[&args[1]])),
    ("jsonb_delete_array", |args, _| {
        let keys = args[1].as_array();
        if keys.dimensions.len() > 1 {
            return Err(SqlError::new(SqlState::ArraySubscriptError, "wrong number of array subscripts"));
        }
        without_keys(args, &keys.values.iter().collect::<Vec<_>>())
    }),
    ("jsonb_delete_idx", without_element),
    ("jsonb_strip_nulls", |args, _| Ok(Value::jsonb(without_nulls(args[0].as_jsonb())))),
];

/// Fields of both objects, or elements of both arrays. Any other value counts as an array of itself.
fn concatenated(left: &Jsonb, right: &Jsonb) -> Jsonb {
    if let (Jsonb::Object(one), Jsonb::Object(other)) = (left, right) {
        return Jsonb::object(one.iter().chain(other.iter()).cloned().collect());
    }
    let elements = |value: &Jsonb| value.elements().map_or_else(|| vec![value.clone()], <[Jsonb]>::to_vec);
    let mut joined = elements(left);
    joined.extend(elements(right));
    Jsonb::array(joined)
}

/// Without the fields, or the elements that are strings, of these texts.
fn without_keys(args: &[Value], keys: &[&Value]) -> Result<Value, SqlError> {
    let keys: Vec<&str> = keys.iter().filter(|key| !key.is_null()).map(|key| key.as_text()).collect();
    Ok(Value::jsonb(match args[0].as_jsonb() {
        Jsonb::Object(fields) => {
            let kept = fields.iter().filter(|(own, _)| !keys.contains(&&**own));
            Jsonb::Object(kept.cloned().collect())
        }
        Jsonb::Array(elements) => {
            let kept = elements.iter().filter(|element| !keys.iter().any(|key| is_string(element, key)));
            Jsonb::Array(kept.cloned().collect())
        }
        _ => return Err(invalid_parameter("cannot delete from scalar")),
    }))
}

fn without_element(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let elements = match args[0].as_jsonb() {
        Jsonb::Array(elements) => elements,
        Jsonb::Object(_) => return Err(invalid_parameter("cannot delete from object using integer index")),
        _ => return Err(invalid_parameter("cannot delete from scalar")),
    };
    let removed = index(args[1].as_int4(), elements.len()).filter(|at| *at < elements.len());
    let Some(removed) = removed else { return Ok(args[0].clone()) };
    let kept = elements.iter().enumerate().filter(|(at, _)| *at != removed);
    Ok(Value::jsonb(Jsonb::Array(kept.map(|(_, element)| element.clone()).collect())))
}

fn without_nulls(value: &Jsonb) -> Jsonb {
    match value {
        Jsonb::Array(elements) => Jsonb::Array(elements.iter().map(without_nulls).collect()),
        Jsonb::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| *value != Jsonb::Null);
            Jsonb::Object(kept.map(|(key, value)| (Arc::clone(key), without_nulls(value))).collect())
        }
        scalar => scalar.clone(),
    }
}
