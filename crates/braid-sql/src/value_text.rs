//! What all readers of values share: the blanks around a text, and the error of a text that is no value.

use crate::{SqlError, SqlState};

/// `invalid input syntax for type integer: "abc"`
pub fn invalid_input(type_name: &str, text: &str) -> SqlError {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    SqlError::new(SqlState::InvalidTextRepresentation, message)
}

/// A blank as C's `isspace` knows it.
pub fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// The text without blanks around it.
pub fn trim_spaces(text: &str) -> &str {
    text.trim_matches(is_space)
}
