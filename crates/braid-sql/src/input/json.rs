//! Reads texts of JSON: checks one of type `json`, makes a tree of `jsonb`, or a tree of a text's parts.
//!
//! The grammar is RFC 8259's, the errors are PostgreSQL's. Depth is bounded, and reading does not recurse.

use std::borrow::Cow;
use std::sync::Arc;

use super::json_tokens::{Token, Tokens};
use crate::values::Numeric;
use crate::values::json::{DEPTH_MAX, Jsonb, too_deep};
use crate::{SqlError, SqlState};

/// The most bytes of a string in `jsonb`, and of a key (`JENTRY_OFFLENMASK`).
const STRING_BYTES_MAX: usize = 0x0fff_ffff;

/// Checks a text of type `json`.
pub fn check_json(text: &str) -> Result<(), SqlError> {
    read(text, false, &mut Check)
}

/// A value of `jsonb` from its text.
pub fn parse_jsonb(text: &str) -> Result<Jsonb, SqlError> {
    read(text, true, &mut Trees)
}

/// The parts of a text of type `json`.
pub fn parse_document(text: &str) -> Result<Part<'_>, SqlError> {
    read(text, true, &mut Parts)
}

/// The number of elements of an array in a text; `None` if the text is none. Escapes in it are not looked at.
pub fn array_length(text: &str) -> Result<Option<usize>, SqlError> {
    match read(text, false, &mut Parts)?.kind {
        PartKind::Array(elements) => Ok(Some(elements.len())),
        _ => Ok(None),
    }
}

/// Refuses a string that `jsonb` cannot hold.
pub fn check_string(text: &str) -> Result<(), SqlError> {
    if text.len() <= STRING_BYTES_MAX {
        return Ok(());
    }
    let detail = format!("Due to an implementation restriction, jsonb strings cannot exceed {STRING_BYTES_MAX} bytes.");
    let message = "string too long to represent as jsonb string";
    Err(SqlError::new(SqlState::ProgramLimitExceeded, message).with_detail(detail))
}

/// A part of a text: a value as it is written there.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Its text, without the blanks around it.
    pub text: &'a str,
    /// What it is.
    pub kind: PartKind<'a>,
}

/// What a part of a text is.
#[derive(Clone, Debug)]
pub enum PartKind<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool,
    /// A number.
    Number,
    /// A string, without its quotes and escapes.
    String(Cow<'a, str>),
    /// Elements.
    Array(Vec<Part<'a>>),
    /// Keys with values, in the order of the text. A key may come several times.
    Object(Vec<(Cow<'a, str>, Part<'a>)>),
}

/// A value that is no container.
enum Scalar<'a> {
    Null,
    Bool(bool),
    Number,
    String(Cow<'a, str>),
}

/// Makes something of values as they are read, each with its text.
trait Build<'a> {
    type Value;
    fn scalar(&mut self, scalar: Scalar<'a>, text: &'a str) -> Result<Self::Value, SqlError>;
    fn array(&mut self, elements: Vec<Self::Value>, text: &'a str) -> Self::Value;
    fn object(&mut self, fields: Vec<(Cow<'a, str>, Self::Value)>, text: &'a str) -> Result<Self::Value, SqlError>;
}

struct Check;

impl<'a> Build<'a> for Check {
    type Value = ();
    fn scalar(&mut self, _: Scalar<'a>, _: &'a str) -> Result<(), SqlError> {
        Ok(())
    }
    fn array(&mut self, _: Vec<()>, _: &'a str) {}
    fn object(&mut self, _: Vec<(Cow<'a, str>, ())>, _: &'a str) -> Result<(), SqlError> {
        Ok(())
    }
}

struct Trees;

impl<'a> Build<'a> for Trees {
    type Value = Jsonb;
    fn scalar(&mut self, scalar: Scalar<'a>, text: &'a str) -> Result<Jsonb, SqlError> {
        Ok(match scalar {
            Scalar::Null => Jsonb::Null,
            Scalar::Bool(value) => Jsonb::Bool(value),
            Scalar::Number => Jsonb::Number(Numeric::parse(text)?),
            Scalar::String(string) => {
                check_string(&string)?;
                Jsonb::string(string)
            }
        })
    }
    fn array(&mut self, elements: Vec<Jsonb>, _: &'a str) -> Jsonb {
        Jsonb::array(elements)
    }
    fn object(&mut self, fields: Vec<(Cow<'a, str>, Jsonb)>, _: &'a str) -> Result<Jsonb, SqlError> {
        fields.iter().try_for_each(|(key, _)| check_string(key))?;
        Ok(Jsonb::object(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()))
    }
}

struct Parts;

impl<'a> Build<'a> for Parts {
    type Value = Part<'a>;
    fn scalar(&mut self, scalar: Scalar<'a>, text: &'a str) -> Result<Part<'a>, SqlError> {
        let kind = match scalar {
            Scalar::Null => PartKind::Null,
            Scalar::Bool(_) => PartKind::Bool,
            Scalar::Number => PartKind::Number,
            Scalar::String(string) => PartKind::String(string),
        };
        Ok(Part { text, kind })
    }
    fn array(&mut self, elements: Vec<Part<'a>>, text: &'a str) -> Part<'a> {
        Part { text, kind: PartKind::Array(elements) }
    }
    fn object(&mut self, fields: Vec<(Cow<'a, str>, Part<'a>)>, text: &'a str) -> Result<Part<'a>, SqlError> {
        Ok(Part { text, kind: PartKind::Object(fields) })
    }
}

/// A container whose end has not been read.
struct Open<'a, V> {
    start: usize,
    contents: Contents<'a, V>,
}

enum Contents<'a, V> {
    Elements(Vec<V>),
    /// Fields, and the key of the next.
    Fields(Vec<(Cow<'a, str>, V)>, Cow<'a, str>),
}

fn read<'a, B: Build<'a>>(text: &'a str, unescapes: bool, build: &mut B) -> Result<B::Value, SqlError> {
    let mut tokens = Tokens::new(text, unescapes);
    tokens.advance()?;
    let mut open: Vec<Open<'a, B::Value>> = Vec::new();
    loop {
        let (start, token) = (tokens.start(), tokens.token());
        let mut value = match token {
            Token::ObjectStart | Token::ArrayStart => {
                if open.len() >= DEPTH_MAX {
                    return Err(too_deep());
                }
                tokens.advance()?;
                let contents = match (token, tokens.token()) {
                    (Token::ObjectStart, Token::ObjectEnd) => None,
                    (Token::ObjectStart, Token::String) => Some(Contents::Fields(Vec::new(), read_key(&mut tokens)?)),
                    (Token::ObjectStart, _) => return Err(tokens.unexpected("string or \"}\"")),
                    (_, Token::ArrayEnd) => None,
                    _ => Some(Contents::Elements(Vec::new())),
                };
                if let Some(contents) = contents {
                    open.push(Open { start, contents });
                    continue;
                }
                tokens.advance()?;
                let text = &text[start..tokens.previous_end];
                if token == Token::ObjectStart {
                    build.object(Vec::new(), text)?
                } else {
                    build.array(Vec::new(), text)
                }
            }
            _ => {
                let scalar = match token {
                    Token::Null => Scalar::Null,
                    Token::True => Scalar::Bool(true),
                    Token::False => Scalar::Bool(false),
                    Token::Number => Scalar::Number,
                    Token::String => Scalar::String(tokens.take_string()),
                    _ => return Err(tokens.unexpected("JSON value")),
                };
                let text = tokens.token_text();
                tokens.advance()?;
                build.scalar(scalar, text)?
            }
        };
        // Containers that end behind the value.
        loop {
            let Some(innermost) = open.last_mut() else {
                return if tokens.token() == Token::End { Ok(value) } else { Err(tokens.unexpected("end of input")) };
            };
            match (&mut innermost.contents, tokens.token()) {
                (Contents::Elements(elements), Token::Comma) => {
                    elements.push(value);
                    tokens.advance()?;
                    break;
                }
                (Contents::Fields(fields, key), Token::Comma) => {
                    fields.push((std::mem::take(key), value));
                    tokens.advance()?;
                    *key = read_key(&mut tokens)?;
                    break;
                }
                (Contents::Elements(elements), Token::ArrayEnd) => elements.push(value),
                (Contents::Fields(fields, key), Token::ObjectEnd) => fields.push((std::mem::take(key), value)),
                (Contents::Elements(_), _) => return Err(tokens.unexpected("\",\" or \"]\"")),
                (Contents::Fields(..), _) => return Err(tokens.unexpected("\",\" or \"}\"")),
            }
            tokens.advance()?;
            let Some(Open { start, contents }) = open.pop() else { return Err(too_deep()) };
            let text = &text[start..tokens.previous_end];
            value = match contents {
                Contents::Elements(elements) => build.array(elements, text),
                Contents::Fields(fields, _) => build.object(fields, text)?,
            };
        }
    }
}

/// A key with its colon.
fn read_key<'a>(tokens: &mut Tokens<'a>) -> Result<Cow<'a, str>, SqlError> {
    if tokens.token() != Token::String {
        return Err(tokens.unexpected("string"));
    }
    let key = tokens.take_string();
    tokens.advance()?;
    if tokens.token() != Token::Colon {
        return Err(tokens.unexpected("\":\""));
    }
    tokens.advance()?;
    Ok(key)
}
