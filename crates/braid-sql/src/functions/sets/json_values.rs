//! Members of json and jsonb as values of any type.
//!
//! A member goes through its text, which the type reads; a string is its own text. Elements of arrays become elements of arrays, whose
//! dimensions those arrays have that come first. A string is also read as the text of an array.

use crate::functions::text_input::read_text;
use crate::functions::{Call, Function};
use crate::input::json::{Part, PartKind};
use crate::output::json::{jsonb_text, write_json_string};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::types::type_names::type_name;
use crate::values::ArrayValue;
use crate::values::array_limits::{check_dimension_count, checked_count};
use crate::values::json::Jsonb;
use crate::{SqlError, SqlState, SqlType, Value};

/// A value within json or jsonb.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member<'a> {
    /// A part of a text.
    Json(&'a Part<'a>),
    /// A tree.
    Jsonb(&'a Jsonb),
}

impl<'a> Member<'a> {
    fn is_null(self) -> bool {
        match self {
            Self::Json(part) => matches!(part.kind, PartKind::Null),
            Self::Jsonb(value) => matches!(value, Jsonb::Null),
        }
    }

    fn string(self) -> Option<&'a str> {
        match self {
            Self::Json(Part { kind: PartKind::String(text), .. }) => Some(text),
            Self::Jsonb(Jsonb::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        matches!(self, Self::Json(Part { kind: PartKind::Object(_), .. }) | Self::Jsonb(Jsonb::Object(_)))
    }

    /// The value of a key; of several, the last.
    pub fn field(self, key: &str) -> Option<Self> {
        match self {
            Self::Json(Part { kind: PartKind::Object(fields), .. }) => {
                fields.iter().rev().find(|(own, _)| own == key).map(|(_, value)| Self::Json(value))
            }
            Self::Jsonb(Jsonb::Object(fields)) => {
                fields.iter().find(|(own, _)| &**own == key).map(|(_, value)| Self::Jsonb(value))
            }
            _ => None,
        }
    }

    /// The elements of an array.
    pub fn elements(self) -> Option<Vec<Self>> {
        match self {
            Self::Json(Part { kind: PartKind::Array(elements), .. }) => Some(elements.iter().map(Self::Json).collect()),
            Self::Jsonb(Jsonb::Array(elements)) => Some(elements.iter().map(Self::Jsonb).collect()),
            _ => None,
        }
    }

    /// What a type reads.
    fn text(self, target: TypeId) -> Result<String, SqlError> {
        let is_json = [TypeId::JSON, TypeId::JSONB].contains(&target);
        match (self.string(), self) {
            (Some(text), _) if !is_json => Ok(text.to_owned()),
            // Escapes that need not be there go.
            (Some(text), _) => {
                let mut out = String::new();
                write_json_string(text, &mut out)?;
                Ok(out)
            }
            (None, Self::Json(part)) => Ok(part.text.to_owned()),
            (None, Self::Jsonb(value)) => jsonb_text(value),
        }
    }
}

/// A member as a value of a type, null for null. `key` is that of the member, for errors.
pub(super) fn value_of(member: &Member<'_>, target: SqlType, key: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    if member.is_null() {
        return Ok(Value::Null);
    }
    match pg_catalog().element_of_array(target.id) {
        Some(element) if member.string().is_none() => {
            let element = SqlType { id: element, modifier: target.modifier };
            Elements { element, key, call, values: Vec::new(), lengths: Vec::new(), is_deepest_known: false }
                .array(member)
        }
        _ => scalar(member, target, call),
    }
}

/// A member read through its text.
fn scalar(member: &Member<'_>, target: SqlType, call: &Call<'_>) -> Result<Value, SqlError> {
    if member.is_null() {
        return Ok(Value::Null);
    }
    let text = Value::text(member.text(target.id)?);
    if target.id == TypeId::UNKNOWN {
        return Ok(text);
    }
    let catalog = pg_catalog();
    let input = Function::of(catalog.function(catalog.type_entry(target.id).input)).ok_or_else(|| {
        SqlError::unsupported(format!("values of type {} are not supported here", type_name(target.id)))
    })?;
    read_text(input, text, target, target.modifier, call.session)
}

/// The elements of an array while they are read.
struct Elements<'a> {
    element: SqlType,
    key: &'a str,
    call: &'a Call<'a>,
    values: Vec<Value>,
    /// The lengths of the dimensions; those of which no array has ended yet are `None`.
    lengths: Vec<Option<usize>>,
    /// Whether `lengths` has all dimensions.
    is_deepest_known: bool,
}

impl Elements<'_> {
    fn array(mut self, member: &Member<'_>) -> Result<Value, SqlError> {
        self.read(member, &mut Vec::new())?;
        let dimensions: Vec<(usize, i32)> = self.lengths.iter().map(|length| (length.unwrap_or_default(), 1)).collect();
        // An empty array has no dimensions.
        let dimensions = if self.values.is_empty() { Vec::new() } else { dimensions };
        checked_count(&dimensions)?;
        Ok(Value::Array(ArrayValue { element: self.element.id, dimensions, values: self.values }.into()))
    }

    /// Reads an array that stands at `path`, the subscripts of arrays around it.
    fn read(&mut self, member: &Member<'_>, path: &mut Vec<usize>) -> Result<(), SqlError> {
        let Some(elements) = member.elements() else { return Err(self.no_array(path)) };
        let depth = path.len() + 1;
        if !self.is_deepest_known {
            self.lengths.push(None);
            check_dimension_count(self.lengths.len())?;
            self.is_deepest_known = elements.first().is_none_or(|first| first.elements().is_none());
        }
        for (at, element) in elements.iter().enumerate() {
            if self.is_deepest_known && depth >= self.lengths.len() {
                self.values.push(scalar(element, self.element, self.call)?);
                continue;
            }
            path.push(at);
            self.read(element, path)?;
            path.pop();
        }
        match self.lengths[depth - 1] {
            Some(length) if length != elements.len() => {
                let message = "malformed JSON array";
                let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
                Err(SqlError::new(SqlState::InvalidTextRepresentation, message).with_detail(detail))
            }
            _ => {
                self.lengths[depth - 1] = Some(elements.len());
                Ok(())
            }
        }
    }

    fn no_array(&self, path: &[usize]) -> SqlError {
        let subscripts: String = path.iter().map(|at| format!("[{at}]")).collect();
        let key = self.key;
        SqlError::new(SqlState::InvalidTextRepresentation, "expected JSON array").with_hint(match path.is_empty() {
            true => format!("See the value of key \"{key}\"."),
            false => format!("See the array element {subscripts} of key \"{key}\"."),
        })
    }
}
