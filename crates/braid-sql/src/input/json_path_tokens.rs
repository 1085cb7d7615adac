//! The tokens of paths (`jsonpath_scan.l`).
//!
//! A word may contain anything but blanks and special characters, and these after a backslash. Keywords are recognized by the grammar,
//! as most are names, too.

use std::sync::Arc;

use crate::values::Numeric;
use crate::{SqlError, SqlState};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PathToken {
    /// `$name`
    Variable(Arc<str>),
    String(Arc<str>),
    Word(Arc<str>),
    /// An integer by its text, and as a number.
    Integer(Arc<str>, Numeric),
    Number(Numeric),
    /// An operator or a special character.
    Sign(&'static str),
    End,
}

/// Signs, the longer ones first.
const SIGNS: [&str; 28] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "<", ">", "!", "*", "?", "%", "$", ".", "[", "]", "{", "}", "(",
    ")", "|", "&", "=", "@", "#", ",",
];
/// Further signs of one character.
const MORE_SIGNS: [&str; 4] = [":", "-", "+", "/"];

/// Reads tokens.
#[derive(Debug)]
pub(super) struct PathTokens<'a> {
    text: &'a str,
    at: usize,
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

fn is_special(c: char) -> bool {
    "?%$.[]{}()|&!=<>@#,*:-+/".contains(c)
}

/// What words are made of without a backslash.
fn is_other(c: char) -> bool {
    !is_blank(c) && !is_special(c) && c != '\\' && c != '"'
}

/// A syntax error at a token.
pub(super) fn syntax_error(message: &str, near: &str) -> SqlError {
    let place = if near.is_empty() { "at end".to_owned() } else { format!("at or near \"{near}\"") };
    SqlError::new(SqlState::SyntaxError, format!("{message} {place} of jsonpath input"))
}

impl<'a> PathTokens<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn first(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves behind characters of a kind, and returns them.
    fn take_while(&mut self, is_taken: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !is_taken(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The next token with its text.
    pub fn next(&mut self) -> Result<(PathToken, &'a str), SqlError> {
        self.skip_blanks()?;
        let start = self.at;
        let token = self.read()?;
        Ok((token, &self.text[start..self.at]))
    }

    fn skip_blanks(&mut self) -> Result<(), SqlError> {
        loop {
            self.take_while(is_blank);
            let Some(comment) = self.rest().strip_prefix("/*") else { return Ok(()) };
            let Some(end) = comment.find("*/") else { return Err(syntax_error("unexpected end of comment", "")) };
            self.at += end + 4;
        }
    }

    fn read(&mut self) -> Result<PathToken, SqlError> {
        let Some(c) = self.first() else { return Ok(PathToken::End) };
        let next = self.rest()[c.len_utf8()..].chars().next();
        match c {
            '"' => {
                self.at += 1;
                self.quoted().map(PathToken::String)
            }
            '$' if next == Some('"') => {
                self.at += 2;
                self.quoted().map(PathToken::Variable)
            }
            '$' if next.is_some_and(is_other) => {
                self.at += 1;
                Ok(PathToken::Variable(self.take_while(is_other).into()))
            }
            '0'..='9' => self.number(),
            '.' if next.is_some_and(|next| next.is_ascii_digit()) => self.number(),
            c if is_special(c) => {
                let sign = SIGNS.iter().chain(&MORE_SIGNS).find(|sign| self.rest().starts_with(**sign));
                let sign = sign.ok_or_else(|| syntax_error("syntax error", self.rest()))?;
                self.at += sign.len();
                Ok(PathToken::Sign(sign))
            }
            _ => self.word(),
        }
    }

    /// A word. A comment ends it and, as in PostgreSQL, takes its place.
    fn word(&mut self) -> Result<PathToken, SqlError> {
        let mut word = String::new();
        loop {
            word.push_str(self.take_while(is_other));
            if self.first() != Some('\\') {
                break;
            }
            self.escape(&mut word)?;
        }
        if self.rest().starts_with("/*") {
            self.skip_blanks()?;
            return self.read();
        }
        Ok(PathToken::Word(word.into()))
    }

    fn quoted(&mut self) -> Result<Arc<str>, SqlError> {
        let mut string = String::new();
        loop {
            string.push_str(self.take_while(|c| c != '"' && c != '\\'));
            match self.first() {
                None => return Err(syntax_error("unexpected end of quoted string", "")),
                Some('"') => {
                    self.at += 1;
                    return Ok(string.into());
                }
                Some(_) => self.escape(&mut string)?,
            }
        }
    }

    /// A backslash with what follows.
    fn escape(&mut self, out: &mut String) -> Result<(), SqlError> {
        self.at += 1;
        let Some(c) = self.first() else { return Err(syntax_error("unexpected end after backslash", "")) };
        self.at += c.len_utf8();
        match c {
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            'x' => {
                let code = self.digits(2).ok_or_else(|| syntax_error("invalid hex character sequence", "\\x"))?;
                out.push(character(code)?);
            }
            'u' => {
                let code = self.code()?;
                out.push(match code {
                    0xd800..=0xdbff => self.low_half(code)?,
                    0xdc00..=0xdfff => return Err(surrogate("Unicode low surrogate must follow a high surrogate.")),
                    code => character(code)?,
                });
            }
            // A newline is no character of the scanner's pattern.
            '\n' => return Err(syntax_error("unexpected end after backslash", "\\")),
            c => out.push(c),
        }
        Ok(())
    }

    /// The second half of a character of two.
    fn low_half(&mut self, high: u32) -> Result<char, SqlError> {
        let missing = || surrogate("Unicode low surrogate must follow a high surrogate.");
        if !self.rest().starts_with("\\u") {
            return Err(missing());
        }
        self.at += 2;
        match self.code()? {
            low @ 0xdc00..=0xdfff => character(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
            0xd800..=0xdbff => Err(surrogate("Unicode high surrogate must not follow a high surrogate.")),
            _ => Err(missing()),
        }
    }

    /// What follows `\u`: four digits, or up to six in braces.
    fn code(&mut self) -> Result<u32, SqlError> {
        let invalid = || syntax_error("invalid unicode sequence", "\\u");
        let Some(braced) = self.rest().strip_prefix('{') else { return self.digits(4).ok_or_else(invalid) };
        let digits = braced.find('}').filter(|count| (1..=6).contains(count)).ok_or_else(invalid)?;
        self.at += 1;
        let code = self.digits(digits).ok_or_else(invalid)?;
        self.at += 1;
        Ok(code)
    }

    /// So many hexadecimal digits.
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += count;
        u32::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) -> Result<PathToken, SqlError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        // 01 is 0, and junk.
        let whole = if bytes[0] == b'0' { 1 } else { digits(0) };
        let mut end = whole;
        let is_integer = bytes.get(end) != Some(&b'.');
        if !is_integer {
            end += 1 + digits(end + 1);
        }
        let mut is_real = false;
        if let Some(b'e' | b'E') = bytes.get(end) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == 0 && sign == 1 {
                return Err(syntax_error("invalid numeric literal", &rest[..end + 2]));
            }
            is_real = exponent > 0;
            end += if is_real { 1 + sign + exponent } else { 0 };
        }
        if let Some(junk) = rest[end..].chars().next().filter(|c| is_other(*c)) {
            let near = &rest[..end + junk.len_utf8()];
            // PostgreSQL takes what is longest, so a word may begin with a digit.
            if rest.find(|c| !is_other(c)).unwrap_or(rest.len()) > near.len() {
                return self.word();
            }
            return Err(syntax_error("trailing junk after numeric literal", near));
        }
        self.at += end;
        let number = Numeric::parse(&rest[..end])?;
        Ok(if is_integer && !is_real {
            PathToken::Integer(rest[..end].into(), number)
        } else {
            PathToken::Number(number)
        })
    }
}

fn surrogate(detail: &str) -> SqlError {
    SqlError::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type jsonpath").with_detail(detail)
}

fn character(code: u32) -> Result<char, SqlError> {
    if code == 0 {
        let error = SqlError::new(SqlState::UntranslatableCharacter, "unsupported Unicode escape sequence");
        return Err(error.with_detail("\\u0000 cannot be converted to text."));
    }
    char::from_u32(code).ok_or_else(|| SqlError::new(SqlState::SyntaxError, "invalid Unicode code point"))
}
