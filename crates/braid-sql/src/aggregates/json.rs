//! `json_agg`, `json_object_agg`, and their like for jsonb. A json is its text, which grows with each row; a jsonb is made at the end.

use std::sync::Arc;

use super::Aggregates;
use super::accumulator::Accumulator;
use crate::functions::Call;
use crate::functions::json::building::{key_text, write_value};
use crate::functions::json::building_trees::tree;
use crate::functions::strings::results::append;
use crate::input::json::check_string;
use crate::output::json::write_json_string;
use crate::values::json::Jsonb;
use crate::{SqlError, SqlState, Value};

/// Aggregates into arrays and objects.
pub const AGGREGATES: Aggregates = &[
    ("json_agg_transfn json_agg_finalfn", |_, _| Ok(Box::new(ArrayText(None)))),
    ("json_object_agg_transfn json_object_agg_finalfn", |_, _| Ok(Box::new(ObjectText(None)))),
    ("jsonb_agg_transfn jsonb_agg_finalfn", |_, _| Ok(Box::new(Elements::default()))),
    ("jsonb_object_agg_transfn jsonb_object_agg_finalfn", |_, _| Ok(Box::new(Fields::default()))),
];

fn no_key() -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, "field name must not be null")
}

/// The text of an array without its end, if there was a row.
#[derive(Debug)]
struct ArrayText(Option<String>);

impl Accumulator for ArrayText {
    fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        let is_first = self.0.is_none();
        let text = self.0.get_or_insert_with(|| "[".to_owned());
        if !is_first {
            append(text, if matches!(arguments[0], Value::Array(_) | Value::Record(_)) { ", \n " } else { ", " })?;
        }
        write_value(&arguments[0], call.argument_types[0], call, text)
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        finished(self.0.as_deref(), "]")
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.0.as_ref().map_or(0, String::capacity)
    }
}

/// The text of an object without its end, if there was a row. A key may come several times.
#[derive(Debug)]
struct ObjectText(Option<String>);

impl Accumulator for ObjectText {
    fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        if arguments[0].is_null() {
            return Err(no_key());
        }
        let is_first = self.0.is_none();
        let text = self.0.get_or_insert_with(|| "{ ".to_owned());
        append(text, if is_first { "" } else { ", " })?;
        write_json_string(&key_text(&arguments[0], call.argument_types[0], call)?, text)?;
        append(text, " : ")?;
        write_value(&arguments[1], call.argument_types[1], call, text)
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        finished(self.0.as_deref(), " }")
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.0.as_ref().map_or(0, String::capacity)
    }
}

/// A text with its end; null without rows.
fn finished(text: Option<&str>, end: &str) -> Result<Value, SqlError> {
    let Some(text) = text else { return Ok(Value::Null) };
    let mut whole = text.to_owned();
    append(&mut whole, end)?;
    Ok(Value::text(whole))
}

/// The elements of an array, and how large they are.
#[derive(Debug, Default)]
struct Elements {
    elements: Vec<Jsonb>,
    heap_bytes: usize,
}

impl Accumulator for Elements {
    fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        let element = tree(&arguments[0], call.argument_types[0], call)?;
        self.heap_bytes += element.heap_bytes();
        self.elements.push(element);
        Ok(())
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        if self.elements.is_empty() {
            return Ok(Value::Null);
        }
        Jsonb::array(self.elements.clone()).checked().map(Value::jsonb)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.elements.capacity() * size_of::<Jsonb>() + self.heap_bytes
    }
}

/// The fields of an object in the order of rows, and how large they are. The last of equal keys counts.
#[derive(Debug, Default)]
struct Fields {
    fields: Vec<(Arc<str>, Jsonb)>,
    heap_bytes: usize,
}

impl Accumulator for Fields {
    fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        if arguments[0].is_null() {
            return Err(no_key());
        }
        let key = key_text(&arguments[0], call.argument_types[0], call)?;
        check_string(&key)?;
        let value = tree(&arguments[1], call.argument_types[1], call)?;
        self.heap_bytes += key.len() + value.heap_bytes();
        self.fields.push((key.into(), value));
        Ok(())
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        if self.fields.is_empty() {
            return Ok(Value::Null);
        }
        Jsonb::object(self.fields.clone()).checked().map(Value::jsonb)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.fields.capacity() * size_of::<(Arc<str>, Jsonb)>() + self.heap_bytes
    }
}
