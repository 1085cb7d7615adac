//! jsonb changed at the end of a path: `jsonb_set`, `jsonb_set_lax`, `jsonb_insert`, `#-`.

use std::sync::Arc;

use super::access::path_number;
use super::json_types::invalid_parameter;
use crate::functions::{Call, Implementations};
use crate::values::json::Jsonb;
use crate::{SqlError, SqlState, Value};

/// Changes at a path.
pub const FUNCTIONS: Implementations = &[
    ("jsonb_set", |args, _| set(args, args[2].as_jsonb())),
    ("jsonb_set_lax", jsonb_set_lax),
    ("jsonb_insert", jsonb_insert),
    ("jsonb_delete_path", |args, _| delete_path(args)),
];

/// What happens at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    /// Replaces what is there.
    Replace(&'a Jsonb),
    /// Replaces what is there, or adds it.
    Set(&'a Jsonb),
    InsertBefore(&'a Jsonb),
    InsertAfter(&'a Jsonb),
    Delete,
}

impl<'a> Change<'a> {
    /// What is added where nothing is.
    fn added(self) -> Option<&'a Jsonb> {
        match self {
            Self::Set(value) | Self::InsertBefore(value) | Self::InsertAfter(value) => Some(value),
            Self::Replace(_) | Self::Delete => None,
        }
    }
}

fn set(args: &[Value], value: &Jsonb) -> Result<Value, SqlError> {
    let path = path_of(args, "cannot set path in scalar")?;
    let (target, creates) = (args[0].as_jsonb(), args[3].as_bool());
    if is_empty(target) && !creates {
        return Ok(args[0].clone());
    }
    changed(target, path, if creates { Change::Set(value) } else { Change::Replace(value) })
}

fn jsonb_insert(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let path = path_of(args, "cannot set path in scalar")?;
    let value = args[2].as_jsonb();
    let change = if args[3].as_bool() { Change::InsertAfter(value) } else { Change::InsertBefore(value) };
    changed(args[0].as_jsonb(), path, change)
}

fn delete_path(args: &[Value]) -> Result<Value, SqlError> {
    let path = path_of(args, "cannot delete path in scalar")?;
    if is_empty(args[0].as_jsonb()) {
        return Ok(args[0].clone());
    }
    changed(args[0].as_jsonb(), path, Change::Delete)
}

fn jsonb_set_lax(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    if args[0].is_null() || args[1].is_null() || args[3].is_null() {
        return Ok(Value::Null);
    }
    let unknown = || {
        let message =
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
        Err(invalid_parameter(message))
    };
    let Value::Text(treatment) = &args[4] else { return unknown() };
    if !args[2].is_null() {
        return set(args, args[2].as_jsonb());
    }
    match &**treatment {
        "use_json_null" => set(args, &Jsonb::Null),
        "delete_key" => delete_path(args),
        "return_target" => Ok(args[0].clone()),
        "raise_exception" => Err(SqlError::new(SqlState::NullValueNotAllowed, "JSON value must not be null")
            .with_detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .with_hint(
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
            )),
        _ => unknown(),
    }
}

/// The path among the arguments. What is changed must be a container.
fn path_of<'a>(args: &'a [Value], scalar_message: &str) -> Result<&'a [Value], SqlError> {
    let path = args[1].as_array();
    if path.dimensions.len() > 1 {
        return Err(SqlError::new(SqlState::ArraySubscriptError, "wrong number of array subscripts"));
    }
    if args[0].as_jsonb().is_scalar() {
        return Err(invalid_parameter(scalar_message));
    }
    Ok(&path.values)
}

fn is_empty(value: &Jsonb) -> bool {
    match value {
        Jsonb::Array(elements) => elements.is_empty(),
        Jsonb::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn changed(target: &Jsonb, path: &[Value], change: Change<'_>) -> Result<Value, SqlError> {
    if path.is_empty() {
        return Ok(Value::jsonb(target.clone()));
    }
    changed_at(target, path, 0, change)?.checked().map(Value::jsonb)
}

/// A value at a level of the path. The path may be longer than the value is deep.
fn changed_at(value: &Jsonb, path: &[Value], level: usize, change: Change<'_>) -> Result<Jsonb, SqlError> {
    let Value::Text(step) = &path[level] else {
        let message = format!("path element at position {} is null", level + 1);
        return Err(SqlError::new(SqlState::NullValueNotAllowed, message));
    };
    let is_last = level + 1 == path.len();
    // The frame of this function is small, as it recurses as deeply as values are nested.
    match value {
        Jsonb::Object(fields) if is_last => changed_field(fields, step, change),
        Jsonb::Object(fields) => {
            let Some(at) = fields.iter().position(|(key, _)| key == step) else { return Ok(value.clone()) };
            let changed = changed_at(&fields[at].1, path, level + 1, change)?;
            Ok(with_field(fields, at, changed))
        }
        Jsonb::Array(elements) => {
            let place = place_in_array(step, level, elements.len())?;
            if is_last {
                return Ok(changed_element(elements, place, change));
            }
            let Some(at) = place.filter(|at| *at < elements.len()) else { return Ok(value.clone()) };
            let changed = changed_at(&elements[at], path, level + 1, change)?;
            Ok(with_element(elements, at, changed))
        }
        scalar => Ok(scalar.clone()),
    }
}

fn with_field(fields: &[(Arc<str>, Jsonb)], at: usize, value: Jsonb) -> Jsonb {
    let mut fields = fields.to_vec();
    fields[at].1 = value;
    Jsonb::Object(fields.into())
}

fn with_element(elements: &[Jsonb], at: usize, value: Jsonb) -> Jsonb {
    let mut elements = elements.to_vec();
    elements[at] = value;
    Jsonb::array(elements)
}

/// The index of a step in an array, at most its length; `None` if it is before the first.
fn place_in_array(step: &str, level: usize, length: usize) -> Result<Option<usize>, SqlError> {
    let Some(number) = path_number(step) else {
        let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
        return Err(SqlError::new(SqlState::InvalidTextRepresentation, message));
    };
    Ok(super::access::index(number, length).map(|place| place.min(length)))
}

fn changed_field(fields: &[(Arc<str>, Jsonb)], key: &Arc<str>, change: Change<'_>) -> Result<Jsonb, SqlError> {
    let mut fields = fields.to_vec();
    let place = fields.iter().position(|(own, _)| own == key);
    match (place, change) {
        (Some(_), Change::InsertBefore(_) | Change::InsertAfter(_)) => {
            return Err(invalid_parameter("cannot replace existing key")
                .with_hint("Try using the function jsonb_set to replace key value."));
        }
        (Some(at), Change::Delete) => {
            fields.remove(at);
        }
        (Some(at), Change::Set(value) | Change::Replace(value)) => fields[at].1 = value.clone(),
        (None, change) => fields.extend(change.added().map(|value| (Arc::clone(key), value.clone()))),
    }
    Ok(Jsonb::object(fields))
}

fn changed_element(elements: &[Jsonb], place: Option<usize>, change: Change<'_>) -> Jsonb {
    let mut elements = elements.to_vec();
    match (place.filter(|at| *at < elements.len()), change) {
        (Some(at), Change::Replace(value) | Change::Set(value)) => elements[at] = value.clone(),
        (Some(at), Change::InsertBefore(value)) => elements.insert(at, value.clone()),
        (Some(at), Change::InsertAfter(value)) => elements.insert(at + 1, value.clone()),
        (Some(at), Change::Delete) => {
            elements.remove(at);
        }
        // Before the first, or behind the last.
        (None, change) => {
            let at = if place.is_none() { 0 } else { elements.len() };
            elements.splice(at..at, change.added().cloned());
        }
    }
    Jsonb::array(elements)
}
