//! Numbers and words at a place in a text, as `to_date` and `to_timestamp` read them.

use super::template::Node;
use crate::value_text::is_space;
use crate::{SqlError, SqlState};

/// A place in a text.
pub struct Scanner<'a> {
    /// The text.
    pub text: &'a str,
    /// The place, in bytes.
    pub at: usize,
}

const FIXED_WIDTH_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

/// A printable character of ASCII that is neither letter nor digit.
pub fn is_separator(character: char) -> bool {
    character.is_ascii_punctuation()
}

/// The error of a text that does not fit its format.
pub fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::InvalidDatetime, message)
}

impl<'a> Scanner<'a> {
    /// What comes next.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks, and counts them.
    pub fn skip_spaces(&mut self) -> i64 {
        let spaces = self.rest().bytes().take_while(|c| is_space(char::from(*c))).count();
        self.at += spaces;
        spaces as i64
    }

    /// Skips any character.
    pub fn skip_character(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    /// A number with how many characters it took: of a fixed width, or all digits.
    pub fn scan_number(&mut self, node: &Node, width: usize, takes_all: bool) -> Result<(i32, usize), SqlError> {
        let start = self.at;
        self.skip_spaces();
        let rest = self.rest().as_bytes();
        let name = node.spelling();
        let shown = String::from_utf8_lossy(&rest[..width.min(rest.len())]);
        let (value, digits_end) = if takes_all {
            leading_number(rest)
        } else if rest.len() < width {
            let detail = format!("Field requires {width} characters, but only {} remain.", rest.len());
            return Err(invalid(format!("source string too short for \"{name}\" formatting field"))
                .with_detail(detail)
                .with_hint(FIXED_WIDTH_HINT));
        } else {
            let (value, end) = leading_number(&rest[..width]);
            if end > 0 && end < width {
                let detail = format!("Field requires {width} characters, but only {end} could be parsed.");
                return Err(invalid(format!("invalid value \"{shown}\" for \"{name}\""))
                    .with_detail(detail)
                    .with_hint(FIXED_WIDTH_HINT));
            }
            (value, end)
        };
        self.at += digits_end;
        // Blanks in place of a field of fixed width are 0.
        if self.at == start || (takes_all && digits_end == 0) {
            return Err(
                invalid(format!("invalid value \"{shown}\" for \"{name}\"")).with_detail("Value must be an integer.")
            );
        }
        let value = i32::try_from(value).map_err(|_| {
            let message = format!("value for \"{name}\" in source string is out of range");
            SqlError::new(SqlState::DatetimeOverflow, message).with_detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        Ok((value, self.at - start))
    }

    /// Which of some words comes next, in any case.
    pub fn read_word(&mut self, node: &Node, words: &[&str]) -> Result<i32, SqlError> {
        let rest = self.rest();
        let is_next = |word: &str| rest.as_bytes().get(..word.len()).is_some_and(|start| is_word(start, word));
        let Some(index) = words.iter().position(|word| is_next(word)) else {
            let shown = rest.split([' ', '\t', '\n', '\r', '\x0c']).next().unwrap_or_default();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{}\"", node.spelling()))
                .with_detail("The given value did not match any of the allowed values for this field."));
        };
        self.at += words[index].len();
        Ok(index as i32)
    }
}

fn is_word(start: &[u8], word: &str) -> bool {
    start.eq_ignore_ascii_case(word.as_bytes())
}

/// An integer with a sign at the start, and where it ends: 0 if there are no digits. Too large ones are the largest.
pub fn leading_number(text: &[u8]) -> (i64, usize) {
    let sign_bytes = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let digits = text[sign_bytes..].iter().take_while(|c| c.is_ascii_digit()).count();
    if digits == 0 {
        return (0, 0);
    }
    let end = sign_bytes + digits;
    let is_negative = text[0] == b'-';
    let add = |value: i64, c: &u8| {
        let digit = i64::from(c - b'0');
        value.saturating_mul(10).saturating_add(if is_negative { -digit } else { digit })
    };
    (text[sign_bytes..end].iter().fold(0, add), end)
}
