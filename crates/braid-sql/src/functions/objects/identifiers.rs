//! `parse_ident`: a qualified name into its parts.

use crate::functions::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::value_text::is_space;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// Functions of names.
pub const FUNCTIONS: Implementations = &[("parse_ident", parse_ident)];

/// The parts of a name. What follows them is an error if the second argument says so.
fn parse_ident(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (text, is_strict) = (args[0].as_text(), args[1].as_bool());
    let invalid =
        || SqlError::new(SqlState::InvalidParameterValue, format!("string is not a valid identifier: \"{text}\""));
    let (mut parts, mut rest) = (Vec::new(), text.trim_start_matches(is_space));
    loop {
        let (part, after) =
            first_part(rest).map_err(|detail| invalid().with_detail(detail))?.ok_or_else(|| {
                match (rest.starts_with('.'), parts.is_empty()) {
                    (true, _) => invalid().with_detail("No valid identifier before \".\"."),
                    (false, false) => invalid().with_detail("No valid identifier after \".\"."),
                    (false, true) => invalid(),
                }
            })?;
        parts.push(Value::text(part));
        rest = after.trim_start_matches(is_space);
        match rest.strip_prefix('.') {
            Some(next) => rest = next.trim_start_matches(is_space),
            None if is_strict && !rest.is_empty() => return Err(invalid()),
            None => return Ok(Value::Array(ArrayValue::of(TypeId::TEXT, parts).into())),
        }
    }
}

/// The name that begins a text and what follows it; `None` if there is none. Without quotes it is folded to lower case.
fn first_part(text: &str) -> Result<Option<(String, &str)>, &'static str> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = crate::search_path::quoted_name(quoted).ok_or("String has unclosed double quotes.")?;
        return if name.is_empty() { Err("Quoted identifier must not be empty.") } else { Ok(Some((name, rest))) };
    }
    if !text.starts_with(begins_name) {
        return Ok(None);
    }
    let end = text.find(|c: char| !begins_name(c) && !c.is_ascii_digit() && c != '$').unwrap_or(text.len());
    Ok(Some((text[..end].to_ascii_lowercase(), &text[end..])))
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}
