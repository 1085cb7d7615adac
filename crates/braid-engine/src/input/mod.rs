//! PostgreSQL's input functions: the text of a value into the value.
//!
//! COPY, string literals in INSERT and column defaults all read values this way, so that `'007'` is 7 and `' yes '`
//! is true wherever they stand, and an error names the type and the text.
//!
//! | module | what lives there |
//! |---|---|
//! | [`numbers`] | integers, floats, numeric |
//! | [`datetime`] | date, timestamp, timestamptz |
//! | [`interval`] | interval |
//! | [`bytes`] | boolean, bytea, uuid, the lengths of varchar and char |
//! | [`column_input`] | a column of texts into an Arrow array |

pub(crate) mod bytes;
pub(crate) mod column_input;
pub(crate) mod datetime;
pub(crate) mod interval;
pub(crate) mod numbers;

pub(crate) use column_input::ColumnInput;

use crate::{EngineError, SqlState};

/// `invalid input syntax for type integer: "abc"`
pub(crate) fn invalid_input(type_name: &str, text: &str) -> EngineError {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    EngineError::new(SqlState::InvalidTextRepresentation, message)
}
