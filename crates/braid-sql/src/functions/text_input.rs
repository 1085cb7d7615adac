//! Texts read by the input functions of their types.

use crate::formats::Formats;
use crate::input::datetime_fields::Surroundings;
use crate::input::time_zones::TimeZone;

use super::strings::results::output;
use super::{Call, Function, SessionFacts};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::value_memory::UnlimitedMemory;
use crate::{SqlError, SqlType, Value};

/// The value that a type's output function wrote, with settings that change nothing of its text.
///
/// # Errors
/// As [`value_of_input`].
pub fn value_of_text(id: TypeId, text: &str) -> Result<Value, SqlError> {
    value_of_input(id, text, &ReadingSession::of_output())
}

/// The value of a text that a client sends for a type, as the type's input function reads it in a session.
///
/// # Errors
/// For a text that is no value of the type, and a type whose values are not supported (0A000).
pub fn value_of_input(id: TypeId, text: &str, session: &dyn SessionFacts) -> Result<Value, SqlError> {
    value_of_modified_input(SqlType::of(id), text, session)
}

/// As [`value_of_input`] of a type whose input function gets its modifier.
///
/// # Errors
/// As [`value_of_input`].
pub(crate) fn value_of_modified_input(
    sql_type: SqlType,
    text: &str,
    session: &dyn SessionFacts,
) -> Result<Value, SqlError> {
    let id = sql_type.id;
    let input = Function::of(pg_catalog().function(pg_catalog().find_type(id).map_or_else(
        || Err(SqlError::unsupported(format!("the type with oid {} is not supported", id.0))),
        |entry| Ok(entry.input),
    )?));
    let input = input.ok_or_else(|| SqlError::unsupported(format!("values of type {id:?} are not supported")))?;
    read_text(input, Value::text(text), SqlType::of(id), sql_type.modifier, session)
}

/// The text of a value, as the type's output function writes it in a session. The value is not null.
///
/// # Errors
/// For a type whose values are not supported as text (0A000).
pub fn text_of_value(value: &Value, sql_type: SqlType, session: &dyn SessionFacts) -> Result<String, SqlError> {
    let (argument_types, result_type) = ([sql_type], SqlType::of(TypeId::CSTRING));
    output(value, sql_type, &Call { session, argument_types: &argument_types, result_type, memory: &UnlimitedMemory })
}

/// A session in which texts are read, outside of expressions: it has a zone, a time for words like `today`, and formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingSession {
    /// The zone of texts without one.
    pub zone: TimeZone,
    /// When the transaction began, in microseconds since 1970-01-01 UTC.
    pub now_us: i64,
    /// How values are read and written.
    pub formats: Formats,
}

impl ReadingSession {
    /// What another session has of this.
    pub fn of(session: &dyn SessionFacts) -> Self {
        Self { zone: session.zone(), now_us: session.transaction_us(), formats: session.formats() }
    }

    /// The session in which output in the default formats is read back: texts with a zone have it in themselves.
    pub fn of_output() -> Self {
        Self { zone: crate::input::datetime::utc(), now_us: 0, formats: Formats::default() }
    }

    /// The same for the functions that read times.
    pub fn surroundings(&self) -> Surroundings {
        Surroundings { zone: self.zone, now_us: self.now_us, date_order: self.formats.date_order }
    }
}

impl SessionFacts for ReadingSession {
    fn zone(&self) -> TimeZone {
        self.zone
    }

    fn zone_name(&self) -> String {
        self.zone.name()
    }

    fn formats(&self) -> Formats {
        self.formats
    }

    fn transaction_us(&self) -> i64 {
        self.now_us
    }

    fn statement_us(&self) -> i64 {
        self.now_us
    }

    fn clock_us(&self) -> i64 {
        self.now_us
    }

    fn user(&self) -> String {
        String::new()
    }

    fn database(&self) -> String {
        String::new()
    }

    fn session_id(&self) -> i32 {
        0
    }

    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A text read by a type's input function; `modifier` is passed to it, -1 where a cast applies it later.
pub(crate) fn read_text(
    input: Function,
    text: Value,
    target: SqlType,
    modifier: i32,
    session: &dyn SessionFacts,
) -> Result<Value, SqlError> {
    let element = pg_catalog().element_of_array(target.id).unwrap_or(target.id);
    let arguments = [text, Value::Oid(element.0), Value::Int4(modifier)];
    let text_type = SqlType::of(TypeId::CSTRING);
    input.compute(
        &arguments,
        &Call { session, argument_types: &[text_type], result_type: target, memory: &UnlimitedMemory },
    )
}
