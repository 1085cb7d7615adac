//! `string_agg` of texts and of byte strings. The delimiter of the first value that is not null is not used.

use super::Aggregates;
use super::accumulator::Accumulator;
use crate::functions::Call;
use crate::functions::strings::results::{append, check_growth};
use crate::{SqlError, Value};

/// `string_agg`
pub const AGGREGATES: Aggregates = &[
    ("string_agg_transfn string_agg_finalfn", |_, _| Ok(Box::new(Texts(None)))),
    ("bytea_string_agg_transfn bytea_string_agg_finalfn", |_, _| Ok(Box::new(Bytes(None)))),
];

/// The text so far, if any value was not null.
#[derive(Debug)]
struct Texts(Option<String>);

impl Accumulator for Texts {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let Value::Text(value) = &arguments[0] else { return Ok(()) };
        match (&mut self.0, &arguments[1]) {
            (Some(text), Value::Text(delimiter)) => append(text, delimiter)?,
            (Some(_), _) => {}
            (none, _) => *none = Some(String::new()),
        }
        self.0.as_mut().map_or(Ok(()), |text| append(text, value))
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok(self.0.as_deref().map_or(Value::Null, Value::text))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.0.as_ref().map_or(0, String::capacity)
    }
}

/// The bytes so far, if any value was not null.
#[derive(Debug)]
struct Bytes(Option<Vec<u8>>);

fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), SqlError> {
    check_growth(out.len(), bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

impl Accumulator for Bytes {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let Value::Bytea(value) = &arguments[0] else { return Ok(()) };
        match (&mut self.0, &arguments[1]) {
            (Some(bytes), Value::Bytea(delimiter)) => append_bytes(bytes, delimiter)?,
            (Some(_), _) => {}
            (none, _) => *none = Some(Vec::new()),
        }
        self.0.as_mut().map_or(Ok(()), |bytes| append_bytes(bytes, value))
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok(self.0.as_deref().map_or(Value::Null, |bytes| Value::Bytea(bytes.into())))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.0.as_ref().map_or(0, Vec::capacity)
    }
}
