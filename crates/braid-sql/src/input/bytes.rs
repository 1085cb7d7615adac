//! Boolean, bytea, uuid from text, and the lengths of varchar and char.

use super::invalid_input;
use crate::{SqlError, SqlState};

/// Bytes of a name, without the end mark of C.
pub const NAME_BYTES_MAX: usize = 63;

/// A boolean: any unique prefix of true, false, yes, no, on, off, or 1 or 0, in any case.
pub fn parse_boolean(text: &str) -> Result<bool, SqlError> {
    let word = text.trim_ascii().to_ascii_lowercase();
    let is_prefix_of = |full: &str, least: usize| word.len() >= least && full.starts_with(word.as_str());
    if word == "1" || is_prefix_of("true", 1) || is_prefix_of("yes", 1) || word == "on" {
        Ok(true)
    } else if word == "0" || is_prefix_of("false", 1) || is_prefix_of("no", 1) || is_prefix_of("off", 2) {
        Ok(false)
    } else {
        Err(invalid_input("boolean", text))
    }
}

/// A byte string: `\x` and hexadecimal digits, or text with `\\` and `\ooo`.
pub fn parse_bytea(text: &str) -> Result<Vec<u8>, SqlError> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text),
    }
}

/// Bytes of two hexadecimal digits. There may be white space before a byte, but not within it.
pub fn parse_hex(hex: &str) -> Result<Vec<u8>, SqlError> {
    let invalid = |message: String| SqlError::new(SqlState::InvalidParameterValue, message);
    let digit = |c: char| {
        let digit = c.to_digit(16).ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")));
        digit.map(|digit| digit as u8)
    };
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    let mut characters = hex.chars();
    while let Some(c) = characters.next() {
        if matches!(c, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(c)?;
        let low =
            characters.next().ok_or_else(|| invalid("invalid hexadecimal data: odd number of digits".to_owned()))?;
        bytes.push(high << 4 | digit(low)?);
    }
    Ok(bytes)
}

fn hex_digit(c: u8) -> Option<u8> {
    char::from(c).to_digit(16).map(|digit| digit as u8)
}

/// Text with `\\` for a backslash and `\ooo` for a byte in octal.
pub fn parse_escaped(text: &str) -> Result<Vec<u8>, SqlError> {
    let invalid = || SqlError::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type bytea");
    parse_escapes(text.as_bytes()).ok_or_else(invalid)
}

fn parse_escapes(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    loop {
        text = match text {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [c, rest @ ..] => {
                bytes.push(*c);
                rest
            }
        };
    }
}

/// A uuid: 32 hexadecimal digits, optionally in braces, with hyphens after any group of four.
pub fn parse_uuid(text: &str) -> Result<[u8; 16], SqlError> {
    let inner = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(|| invalid_input("uuid", text))?;
    let mut uuid = [0; 16];
    let mut count = 0;
    for c in inner.bytes() {
        match hex_digit(c) {
            Some(digit) if count < 32 => {
                uuid[count / 2] = uuid[count / 2] << 4 | digit;
                count += 1;
            }
            None if c == b'-' && count % 4 == 0 && count > 0 && count < 32 => {}
            _ => return Err(invalid_input("uuid", text)),
        }
    }
    if count == 32 { Ok(uuid) } else { Err(invalid_input("uuid", text)) }
}

/// A text for `varchar(length_max)`: too long is an error unless all that is too much is blanks.
pub fn fit_varchar(text: &str, length_max: u32) -> Result<&str, SqlError> {
    fit(text, length_max).ok_or_else(|| too_long("character varying", length_max))
}

/// A text for `char(length_max)`: as varchar, and trailing blanks do not count and are not kept.
pub fn fit_char(text: &str, length_max: u32) -> Result<&str, SqlError> {
    let fitting = fit(text, length_max).ok_or_else(|| too_long("character", length_max))?;
    Ok(fitting.trim_end_matches(' '))
}

/// A text for `name`: as much of it as a name holds, in whole characters.
pub fn fit_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

fn fit(text: &str, length_max: u32) -> Option<&str> {
    let length_max = length_max as usize;
    // As many bytes hold at most as many characters.
    if text.len() <= length_max {
        return Some(text);
    }
    match text.char_indices().nth(length_max) {
        None => Some(text),
        Some((end, _)) if text[end..].bytes().all(|c| c == b' ') => Some(&text[..end]),
        Some(_) => None,
    }
}

fn too_long(type_name: &str, length_max: u32) -> SqlError {
    let message = format!("value too long for type {type_name}({length_max})");
    SqlError::new(SqlState::StringRightTruncation, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_may_be_abbreviated() {
        for text in ["t", "TRUE", " yes ", "y", "on", "1", "tr"] {
            assert!(parse_boolean(text).unwrap(), "{text}");
        }
        for text in ["f", "False", "n", "no", "off", "of", "0"] {
            assert!(!parse_boolean(text).unwrap(), "{text}");
        }
        for text in ["", "o", "truee", "2", "ja"] {
            assert_eq!(parse_boolean(text).unwrap_err().sqlstate(), "22P02", "{text}");
        }
    }

    #[test]
    fn bytea_reads_both_formats() {
        assert_eq!(parse_bytea("\\xDEad 00").unwrap(), [0xDE, 0xAD, 0]);
        assert_eq!(parse_bytea("a\\\\b\\001").unwrap(), b"a\\b\x01");
        for (text, state) in
            [("\\xabc", "22023"), ("\\xzz", "22023"), ("\\xa b", "22023"), ("\\9", "22P02"), ("\\400", "22P02")]
        {
            assert_eq!(parse_bytea(text).unwrap_err().sqlstate(), state, "{text}");
        }
    }

    #[test]
    fn uuids_read_with_and_without_hyphens() {
        let expected = *b"\xa0\xee\xbc\x99\x9c\x0b\x4e\xf8\xbb\x6d\x6b\xb9\xbd\x38\x0a\x11";
        for text in [
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "A0EEBC999C0B4EF8BB6D6BB9BD380A11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
        ] {
            assert_eq!(parse_uuid(text).unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "a0eebc99",
            " a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g",
            "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
        ] {
            assert_eq!(parse_uuid(text).unwrap_err().sqlstate(), "22P02", "{text}");
        }
    }

    #[test]
    fn lengths_count_characters_and_forgive_blanks() {
        assert_eq!(fit_varchar("äöü", 3).unwrap(), "äöü");
        assert_eq!(fit_varchar("äöü  ", 4).unwrap(), "äöü ");
        assert_eq!(fit_varchar("abcd", 3).unwrap_err().sqlstate(), "22001");
        assert_eq!(fit_char("ab  ", 3).unwrap(), "ab");
        assert_eq!(fit_char("abcd", 3).unwrap_err().message(), "value too long for type character(3)");
    }
}
