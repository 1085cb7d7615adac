//! The tokens of JSON, and the errors of a text that has none, as PostgreSQL says them.
//!
//! An error shows the token that is wrong, and the end of the line before it (CONTEXT). Strings are read without their escapes only
//! where somebody wants them: `json` itself takes `\u0000`, and no function that reads strings does.

use std::borrow::Cow;

use crate::{SqlError, SqlState};

/// Bytes of the line that an error shows.
const CONTEXT_BYTES_MAX: usize = 50;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Comma,
    Colon,
    String,
    Number,
    True,
    False,
    Null,
    End,
}

/// Reads tokens.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    unescapes: bool,
    /// The token that was read last; `None` before the first.
    token: Option<Token>,
    start: usize,
    end: usize,
    /// Where the token before it ended.
    pub previous_end: usize,
    line: usize,
    line_start: usize,
    string: Cow<'a, str>,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str, unescapes: bool) -> Self {
        Self {
            text,
            unescapes,
            token: None,
            start: 0,
            end: 0,
            previous_end: 0,
            line: 1,
            line_start: 0,
            string: Cow::Borrowed(""),
        }
    }

    /// The token that was read last.
    pub fn token(&self) -> Token {
        self.token.unwrap_or(Token::End)
    }

    /// Its text.
    pub fn token_text(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// Where it begins.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The string that it is: without quotes and escapes, unless these were not wanted.
    pub fn take_string(&mut self) -> Cow<'a, str> {
        std::mem::replace(&mut self.string, Cow::Borrowed(""))
    }

    /// Reads the next token.
    pub fn advance(&mut self) -> Result<(), SqlError> {
        let bytes = self.text.as_bytes();
        let before = self.end;
        let mut at = before;
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
            at += 1;
            if bytes[at - 1] == b'\n' {
                self.line += 1;
                self.line_start = at;
            }
        }
        self.start = at;
        self.end = at + 1;
        let token = match bytes.get(at) {
            None => {
                self.end = at;
                Token::End
            }
            Some(b'{') => Token::ObjectStart,
            Some(b'}') => Token::ObjectEnd,
            Some(b'[') => Token::ArrayStart,
            Some(b']') => Token::ArrayEnd,
            Some(b',') => Token::Comma,
            Some(b':') => Token::Colon,
            Some(b'"') => {
                self.read_string()?;
                Token::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.read_number()?;
                Token::Number
            }
            Some(_) => self.read_word()?,
        };
        self.previous_end = before;
        self.token = Some(token);
        Ok(())
    }

    fn read_word(&mut self) -> Result<Token, SqlError> {
        self.end = self.start + word_bytes(&self.text.as_bytes()[self.start..]).max(1);
        match self.token_text() {
            "true" => Ok(Token::True),
            "false" => Ok(Token::False),
            "null" => Ok(Token::Null),
            _ => Err(self.invalid_token()),
        }
    }

    fn read_number(&mut self) -> Result<(), SqlError> {
        let rest = &self.text.as_bytes()[self.start..];
        let (mut length, is_number) = number_bytes(rest);
        let garbage = word_bytes(&rest[length..]);
        length += garbage;
        self.end = self.start + length;
        if is_number && garbage == 0 { Ok(()) } else { Err(self.invalid_token()) }
    }

    fn read_string(&mut self) -> Result<(), SqlError> {
        let text = self.text;
        let mut unescaped: Option<String> = None;
        let mut high_surrogate: Option<u32> = None;
        let (mut at, mut plain_from) = (self.start + 1, self.start + 1);
        loop {
            let Some(c) = text[at..].chars().next() else {
                self.end = at;
                return Err(self.invalid_token());
            };
            if high_surrogate.is_some() && c != '\\' {
                self.end = at + c.len_utf8();
                return Err(self.lone_surrogate());
            }
            match c {
                '"' => break,
                '\\' => {
                    let plain = &text[plain_from..at];
                    let escape = self.read_escape(at + 1, &mut high_surrogate)?;
                    if self.unescapes {
                        let unescaped = unescaped.get_or_insert_default();
                        unescaped.push_str(plain);
                        unescaped.extend(escape.character);
                    }
                    (at, plain_from) = (escape.end, escape.end);
                }
                '\0'..='\x1f' => {
                    self.end = at;
                    let detail = format!("Character with value 0x{:02x} must be escaped.", c as u32);
                    return Err(self.syntax_error(&detail));
                }
                c => at += c.len_utf8(),
            }
        }
        self.end = at + 1;
        self.string = match unescaped {
            None => Cow::Borrowed(&text[self.start + 1..at]),
            Some(unescaped) => Cow::Owned(unescaped + &text[plain_from..at]),
        };
        Ok(())
    }

    /// What follows a backslash.
    fn read_escape(&mut self, at: usize, high_surrogate: &mut Option<u32>) -> Result<Escape, SqlError> {
        let Some(c) = self.text[at..].chars().next() else {
            self.end = at;
            return Err(self.invalid_token());
        };
        if c == 'u' {
            return self.read_code_unit(at + 1, high_surrogate);
        }
        self.end = at + c.len_utf8();
        if high_surrogate.is_some() {
            return Err(self.lone_surrogate());
        }
        let character = match c {
            '"' | '\\' | '/' => c,
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            _ => {
                self.start = at;
                let detail = format!("Escape sequence \"\\{c}\" is invalid.");
                return Err(self.syntax_error(&detail));
            }
        };
        Ok(Escape { character: Some(character), end: self.end })
    }

    /// The four digits of `\u`; a character may need two.
    fn read_code_unit(&mut self, at: usize, high_surrogate: &mut Option<u32>) -> Result<Escape, SqlError> {
        let mut unit = 0;
        for (offset, c) in self.text[at..].char_indices().take(4) {
            let Some(digit) = c.to_digit(16) else {
                self.end = at + offset + c.len_utf8();
                return Err(self.syntax_error("\"\\u\" must be followed by four hexadecimal digits."));
            };
            unit = unit * 16 + digit;
        }
        self.end = self.text.len().min(at + 4);
        if self.end < at + 4 {
            return Err(self.invalid_token());
        }
        let end = self.end;
        if !self.unescapes {
            return Ok(Escape { character: None, end });
        }
        let character = match (unit, high_surrogate.take()) {
            (0xd800..=0xdbff, Some(_)) => {
                return Err(self.syntax_error("Unicode high surrogate must not follow a high surrogate."));
            }
            (0xd800..=0xdbff, None) => {
                *high_surrogate = Some(unit);
                return Ok(Escape { character: None, end });
            }
            (0xdc00..=0xdfff, Some(high)) => char::from_u32(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00)),
            (0xdc00..=0xdfff, None) | (_, Some(_)) => return Err(self.lone_surrogate()),
            (0, None) => {
                let error = SqlError::new(SqlState::UntranslatableCharacter, "unsupported Unicode escape sequence");
                return Err(self.placed(error.with_detail("\\u0000 cannot be converted to text.")));
            }
            (unit, None) => char::from_u32(unit),
        };
        Ok(Escape { character, end })
    }

    fn lone_surrogate(&self) -> SqlError {
        self.syntax_error("Unicode low surrogate must follow a high surrogate.")
    }

    fn invalid_token(&self) -> SqlError {
        // A character of several bytes is a word, so the end is within no character.
        self.syntax_error(&format!("Token \"{}\" is invalid.", self.token_text()))
    }

    /// A token where another was expected.
    pub fn unexpected(&self, expected: &str) -> SqlError {
        match self.token {
            None | Some(Token::End) => self.syntax_error("The input string ended unexpectedly."),
            Some(_) => self.syntax_error(&format!("Expected {expected}, but found \"{}\".", self.token_text())),
        }
    }

    fn syntax_error(&self, detail: &str) -> SqlError {
        let message = "invalid input syntax for type json";
        self.placed(SqlError::new(SqlState::InvalidTextRepresentation, message).with_detail(detail))
    }

    /// Shows the line up to the end of the token.
    fn placed(&self, error: SqlError) -> SqlError {
        let line = &self.text[self.line_start..self.end];
        let from = line.char_indices().map(|(at, _)| at).find(|at| line.len() - at < CONTEXT_BYTES_MAX);
        // Three dots take as much room as what they would stand for.
        let from = from.filter(|from| *from > 3).unwrap_or(0);
        let rest = self.text[self.end..].bytes().next();
        let is_end = self.token == Some(Token::End) || matches!(rest, None | Some(b'\n' | b'\r'));
        let (before, after) = (if from > 0 { "..." } else { "" }, if is_end { "" } else { "..." });
        error.with_context(format!("JSON data, line {}: {before}{}{after}", self.line, &line[from..]))
    }
}

/// A character that was escaped; none for the first half of one, or if it is not wanted.
struct Escape {
    character: Option<char>,
    end: usize,
}

/// How many bytes look like a word.
fn word_bytes(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80).count()
}

/// Bytes of a number, and whether it is one: a sign, an integer without zeros before it, a fraction, an exponent.
pub(crate) fn number_bytes(text: &[u8]) -> (usize, bool) {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(text.first() == Some(&b'-'));
    let whole = if text.get(at) == Some(&b'0') { 1 } else { digits(at) };
    let mut is_number = whole > 0;
    at += whole;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        is_number &= fraction > 0;
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        is_number &= exponent > 0;
        at += exponent;
    }
    (at, is_number)
}
