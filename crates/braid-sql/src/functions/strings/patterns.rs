//! `LIKE` and `ILIKE`: `%` stands for any characters, `_` for one, and a backslash takes their meaning from them.
//!
//! Matching goes back only to the last `%`: an earlier one could do no more with a longer text. The time is at most the product
//! of both lengths. As in PostgreSQL, a backslash at the end of a pattern is an error only where matching gets to it.

use super::bytes::bytea;
use super::characters::lower;
use crate::functions::Implementations;
use crate::{SqlError, SqlState, Value};

/// Functions of patterns.
pub const FUNCTIONS: Implementations = &[
    ("textlike", |args, _| Ok(Value::Bool(like(args[0].as_text(), args[1].as_text())?))),
    ("textnlike", |args, _| Ok(Value::Bool(!like(args[0].as_text(), args[1].as_text())?))),
    ("namelike", |args, _| Ok(Value::Bool(like(args[0].as_text(), args[1].as_text())?))),
    ("namenlike", |args, _| Ok(Value::Bool(!like(args[0].as_text(), args[1].as_text())?))),
    ("texticlike", |args, _| Ok(Value::Bool(ilike(args[0].as_text(), args[1].as_text())?))),
    ("texticnlike", |args, _| Ok(Value::Bool(!ilike(args[0].as_text(), args[1].as_text())?))),
    ("nameiclike", |args, _| Ok(Value::Bool(ilike(args[0].as_text(), args[1].as_text())?))),
    ("nameicnlike", |args, _| Ok(Value::Bool(!ilike(args[0].as_text(), args[1].as_text())?))),
    ("bytealike", |args, _| Ok(Value::Bool(matches(args[0].as_bytea(), args[1].as_bytea(), |_| 1)?))),
    ("byteanlike", |args, _| Ok(Value::Bool(!matches(args[0].as_bytea(), args[1].as_bytea(), |_| 1)?))),
    ("like_escape", |args, _| {
        let escape = args[1].as_text();
        let escaped = with_backslashes(args[0].as_text().as_bytes(), escape.as_bytes(), escape.chars().count())?;
        Ok(Value::text(String::from_utf8(escaped).expect("whole characters are replaced")))
    }),
    ("like_escape_bytea", |args, _| {
        let escape = args[1].as_bytea();
        Ok(bytea(with_backslashes(args[0].as_bytea(), escape, escape.len())?))
    }),
];

/// Whether a text matches a pattern of LIKE.
pub fn like(text: &str, pattern: &str) -> Result<bool, SqlError> {
    matches(text.as_bytes(), pattern.as_bytes(), character_bytes)
}

fn ilike(text: &str, pattern: &str) -> Result<bool, SqlError> {
    like(&lower(text), &lower(pattern))
}

/// The bytes of a character in UTF-8, by its first.
fn character_bytes(first: u8) -> usize {
    match first {
        0..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

/// Matches bytes. `width` says how many bytes a character has that begins with one.
fn matches(text: &[u8], pattern: &[u8], width: fn(u8) -> usize) -> Result<bool, SqlError> {
    let (mut t, mut p) = (0, 0);
    // Where to go on if the text does not match: after the last `%`, one character later in the text.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let matched = match pattern.get(p) {
            Some(b'%') => {
                while let Some(wildcard @ (b'%' | b'_')) = pattern.get(p) {
                    p += 1;
                    if *wildcard == b'_' {
                        match text.get(t) {
                            None => return Ok(false),
                            Some(first) => t += width(*first),
                        }
                    }
                }
                if p == pattern.len() {
                    return Ok(true);
                }
                if pattern[p..] == *b"\\" {
                    return Err(ends_with_escape());
                }
                retry = Some((t, p));
                continue;
            }
            Some(b'_') => {
                t += width(text[t]);
                p += 1;
                continue;
            }
            Some(b'\\') => {
                p += 1;
                *pattern.get(p).ok_or_else(ends_with_escape)? == text[t]
            }
            Some(byte) => *byte == text[t],
            None => false,
        };
        if matched {
            (t, p) = (t + 1, p + 1);
            continue;
        }
        let Some((start, after)) = retry else { return Ok(false) };
        // A later start needs at least one character.
        let Some(first) = text.get(start) else { return Ok(false) };
        let start = start + width(*first);
        retry = Some((start, after));
        (t, p) = (start, after);
    }
    Ok(pattern[p.min(pattern.len())..].iter().all(|byte| *byte == b'%'))
}

fn ends_with_escape() -> SqlError {
    SqlError::new(SqlState::InvalidEscapeSequence, "LIKE pattern must not end with escape character")
}

/// `invalid escape string`
pub(super) fn invalid_escape() -> SqlError {
    SqlError::new(SqlState::InvalidEscapeSequence, "invalid escape string")
        .with_hint("Escape string must be empty or one character.")
}

/// A pattern with a backslash as its escape character, in place of another or none.
fn with_backslashes(pattern: &[u8], escape: &[u8], escape_characters: usize) -> Result<Vec<u8>, SqlError> {
    match escape_characters {
        0 => return Ok(pattern.iter().flat_map(|c| std::iter::repeat_n(*c, 1 + usize::from(*c == b'\\'))).collect()),
        1 if escape == b"\\" => return Ok(pattern.to_vec()),
        1 => {}
        _ => return Err(invalid_escape()),
    }
    let mut out = Vec::with_capacity(pattern.len() + 8);
    let mut after_escape = false;
    let mut rest = pattern;
    while let Some(first) = rest.first() {
        if rest.starts_with(escape) && !after_escape {
            out.push(b'\\');
            after_escape = true;
            rest = &rest[escape.len()..];
            continue;
        }
        if *first == b'\\' && !after_escape {
            out.push(b'\\');
        }
        out.push(*first);
        after_escape = false;
        rest = &rest[1..];
        // The rest of a character goes with its first byte.
        while escape.len() > 1 && rest.first().is_some_and(|byte| byte & 0xC0 == 0x80) {
            out.push(rest[0]);
            rest = &rest[1..];
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_postgresql() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "a_c", true),
            ("äöü", "ä_ü", true),
            ("äöü", "___", true),
            ("äöü", "____", false),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "%_%_%_%", true),
            ("abc", "%_%_%_%_%", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "%iss%ipx%", false),
            ("ab", "abc\\", false),
            ("a", "b\\", false),
            ("", "\\", false),
        ] {
            assert_eq!(like(text, pattern).unwrap(), expected, "{text} LIKE {pattern}");
        }
        for (text, pattern) in [("abc", "ab\\"), ("abc", "%\\")] {
            assert_eq!(like(text, pattern).unwrap_err().sqlstate(), "22025");
        }
    }

    #[test]
    fn escape_characters_become_backslashes() {
        let convert = |pattern: &str, escape: &str| {
            let converted = with_backslashes(pattern.as_bytes(), escape.as_bytes(), escape.chars().count());
            converted.map(|bytes| String::from_utf8(bytes).unwrap())
        };
        for (pattern, escape, expected) in
            [("a#b", "#", "a\\b"), ("a\\b", "", "a\\\\b"), ("a##\\b", "#", "a\\#\\\\b"), ("éaéé", "é", "\\a\\é")]
        {
            assert_eq!(convert(pattern, escape).unwrap(), expected);
        }
        assert_eq!(convert("a", "##").unwrap_err().sqlstate(), "22025");
    }
}
