//! Names of functions and operators in texts: `pg_catalog.now`, `lower(text)`.

use crate::input::numbers::parse_oid;
use crate::pg_catalog::TypeId;
use crate::search_path::quoted_name;
use crate::types::type_text::type_of_text;
use crate::value_text::is_space;
use crate::{SqlError, SqlState, Value};

/// Most arguments of a function (`FUNC_MAX_ARGS`).
const ARGUMENTS_MAX: usize = 100;

/// The number that a text of digits is, 0 for the text that stands for nothing; `None` for a name.
pub(super) fn number_of_text(text: &str, nothing: &str) -> Option<Result<Value, SqlError>> {
    if text == nothing {
        return Some(Ok(Value::Oid(0)));
    }
    let is_number = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| parse_oid(text).map(Value::Oid))
}

/// The parts of a name that dots separate. Without quotes they are folded to lower case.
pub fn parts_of_name(text: &str) -> Result<Vec<String>, SqlError> {
    let invalid = || SqlError::new(SqlState::InvalidName, "invalid name syntax");
    let (mut parts, mut rest) = (Vec::new(), text.trim_start_matches(is_space));
    loop {
        let part;
        (part, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted).ok_or_else(invalid)?,
            None => {
                let end = rest.find(|c| c == '.' || is_space(c)).unwrap_or(rest.len());
                (rest[..end].to_ascii_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part);
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() {
            return Ok(parts);
        }
        rest = rest.strip_prefix('.').ok_or_else(invalid)?.trim_start_matches(is_space);
    }
}

/// A name and the types in the parentheses after it; `None` is the word NONE, where it is a type.
pub(super) fn name_and_types(text: &str, takes_none: bool) -> Result<(Vec<String>, Vec<Option<TypeId>>), SqlError> {
    let expected = |what: &str| SqlError::new(SqlState::InvalidTextRepresentation, format!("expected a {what}"));
    let open = place_outside(text, |c, _| c == '(').ok_or_else(|| expected("left parenthesis"))?;
    let parts = parts_of_name(&text[..open])?;
    let list = text[open + 1..].trim_end_matches(is_space);
    let mut rest = list.strip_suffix(')').ok_or_else(|| expected("right parenthesis"))?.trim_matches(is_space);
    let mut types = Vec::new();
    while !rest.is_empty() {
        let end = place_outside(rest, |c, depth| c == ',' && depth == 0).unwrap_or(rest.len());
        let (written, after) = rest.split_at(end);
        rest = after.strip_prefix(',').unwrap_or(after).trim_start_matches(is_space);
        if !after.is_empty() && rest.is_empty() {
            return Err(expected("type name"));
        }
        types.push(type_of_argument(written.trim_matches(is_space), takes_none)?);
        if types.len() > ARGUMENTS_MAX {
            return Err(SqlError::new(SqlState::TooManyArguments, "too many arguments"));
        }
    }
    Ok((parts, types))
}

fn type_of_argument(written: &str, takes_none: bool) -> Result<Option<TypeId>, SqlError> {
    if takes_none && written.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    // No function of the catalog has a type of a database.
    let named = type_of_text(written, &|_, _| None)?;
    let missing = || SqlError::new(SqlState::UndefinedObject, format!("type \"{}\" does not exist", named.name));
    named.id.map(Some).ok_or_else(missing)
}

/// The first place outside of quotes that is such a place; `is_such` has the character and how deep in parentheses it is.
fn place_outside(text: &str, is_such: impl Fn(char, i32) -> bool) -> Option<usize> {
    let (mut in_quotes, mut depth) = (false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            c if is_such(c, depth) => return Some(at),
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
    }
    None
}
