//! Errors of the tokenizer and the parser in PostgreSQL's words, with their place in the text.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, TokenWithSpan};

use super::places::character_of;
use crate::statement_limits::{DEPTH_MAX, too_complex};
use crate::{EngineError, SqlState};

/// What begins the text of a [`refusal`]; the code of its state follows. The parser's own texts begin otherwise.
const REFUSED: &str = "Refused as ";

/// Between the message and the hint of a refusal.
const HINT: char = '\0';

/// An error of PostgreSQL's grammar that is more than `syntax error at or near`, as an error of the parser. It stands at a token.
pub(super) fn refusal(state: SqlState, message: &str, hint: Option<&str>, token: &TokenWithSpan) -> ParserError {
    let (code, hint, place) = (state.code(), hint.unwrap_or_default(), token.span.start);
    ParserError::ParserError(format!("{REFUSED}{code} {message}{HINT}{hint}{place}"))
}

/// What a text of [`refusal`] says.
fn refused(text: &str) -> Option<EngineError> {
    let (code, text) = text.strip_prefix(REFUSED)?.split_once(' ')?;
    let state = SqlState::ALL.iter().find(|state| state.code() == code)?;
    let (message, hint) = text.rsplit_once(HINT)?;
    let error = EngineError::new(*state, message);
    Some(if hint.is_empty() { error } else { error.with_hint(hint) })
}

pub(super) fn parser_error(sql: &str, error: ParserError) -> EngineError {
    match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            let (message, location) = split_location(&text);
            match (refused(message), location) {
                (Some(error), Some(location)) => error.with_position(character_of(sql, location)),
                (Some(error), None) => error,
                (None, location) => syntax_error(sql, message, location),
            }
        }
        ParserError::RecursionLimitExceeded => {
            too_complex(format!("It is nested too deeply; at most {DEPTH_MAX} levels are planned."))
        }
    }
}

/// sqlparser's `Expected: …, found: …` in PostgreSQL's words; what else it says, as it says it.
pub(super) fn syntax_error(sql: &str, message: &str, location: Option<Location>) -> EngineError {
    match message.strip_prefix("Expected: ").and_then(|rest| rest.split_once(", found: ")) {
        Some((expected, found)) => {
            let error = error_near(sql, found, location);
            // Lists have the words of other products, too.
            let is_list = expected.contains(", ") || expected.contains(" or ") || expected.contains("one of");
            if is_list { error } else { error.with_detail(format!("Expected {expected}.")) }
        }
        None => {
            let error = EngineError::new(SqlState::SyntaxError, format!("syntax error: {message}"));
            match location {
                Some(location) if location.line > 0 => error.with_position(character_of(sql, location)),
                _ => error,
            }
        }
    }
}

pub(super) fn error_near(sql: &str, found: &str, location: Option<Location>) -> EngineError {
    if found == "EOF" {
        return EngineError::new(SqlState::SyntaxError, "syntax error at end of input")
            .with_position(sql.chars().count() + 1);
    }
    let error = EngineError::new(SqlState::SyntaxError, format!("syntax error at or near \"{found}\""));
    match location {
        Some(location) if location.line > 0 => error.with_position(character_of(sql, location)),
        _ => error,
    }
}

/// sqlparser writes the place into the text, at its end: ` at Line: 1, Column: 8`.
fn split_location(text: &str) -> (&str, Option<Location>) {
    let parse = |at: usize| {
        let (line, column) = text[at..].strip_prefix(" at Line: ")?.split_once(", Column: ")?;
        Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
    };
    match text.rfind(" at Line: ").and_then(|at| Some((at, parse(at)?))) {
        Some((at, location)) => (&text[..at], Some(location)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Statement;

    #[test]
    fn a_syntax_error_says_where() {
        for (sql, position) in [
            ("selec 1", Some(1)),
            ("select 1 from\n  t wher a = 1", Some(24)),
            ("select 'abc", Some(8)),
            ("select (1", Some(10)),
            ("select 'ä' frm t", Some(16)),
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert_eq!((error.sqlstate(), error.position()), ("42601", position), "{sql}: {error:?}");
            assert!(error.message().starts_with("syntax error at ") || sql.contains("abc"), "{error:?}");
        }
    }
}
