//! What readers and writers of values share: the blanks around a text, the error of a text that is no value, and how long texts may be.

use crate::{SqlError, SqlState};

/// The most bytes of a value, with its header (`MaxAllocSize`).
pub const VALUE_BYTES_MAX: usize = 0x3fff_ffff;

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

/// Refuses a text that would not fit in a value, as PostgreSQL's growing strings do.
pub fn check_growth(bytes: usize, more: usize) -> Result<(), SqlError> {
    if bytes.saturating_add(more) < VALUE_BYTES_MAX {
        return Ok(());
    }
    let detail = format!("Cannot enlarge string buffer containing {bytes} bytes by {more} more bytes.");
    Err(SqlError::new(SqlState::ProgramLimitExceeded, "out of memory").with_detail(detail))
}
