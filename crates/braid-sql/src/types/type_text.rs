//! A type as a text has it, such as `'numeric(10,2)[]'::regtype`: PostgreSQL reads it as statements do.

use super::type_names::{float_of_digits, interval_fields, interval_modifier, modifier_of, type_by_name};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::search_path::{PUBLIC_SCHEMA, SYSTEM_SCHEMA};
use crate::{SqlError, SqlState};

/// A type that a text names.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedType {
    /// The type; `None` if there is no such type.
    pub id: Option<TypeId>,
    /// Its name as messages have it.
    pub name: String,
    /// The schema that is written before its name.
    pub schema: Option<String>,
}

/// Finds a type of the database by its schema, if that is given, and its name.
pub type UserTypes<'a> = &'a dyn Fn(Option<&str>, &str) -> Option<TypeId>;

/// The type of a text. Parameters are checked, and left out.
pub fn type_of_text(text: &str, users: UserTypes<'_>) -> Result<NamedType, SqlError> {
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err(SqlError::new(SqlState::SyntaxError, format!("invalid type name \"{text}\"")));
    }
    let mut reader = Reader { tokens: &tokens, at: 0, schema: None, users };
    let (mut id, mut name) = reader.scalar_type()?;
    if reader.is_array()? {
        // A type that stands for others has no arrays, nor has an array.
        id = id.and_then(|id| pg_catalog().type_entry(id).array);
        name.push_str("[]");
    }
    match reader.next() {
        Some(token) => Err(token.unexpected()),
        // The row types of the catalog's own tables.
        None if id.is_none() && name.rsplit('.').next().is_some_and(|last| last.starts_with("pg_")) => {
            Err(SqlError::unsupported(format!("type \"{name}\" is not supported")))
        }
        None => Ok(NamedType { id, name, schema: reader.schema }),
    }
}

/// A word, a number or a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// In lower case.
    Word(String),
    /// What stood in quotes.
    Quoted(String),
    Number(i64),
    Symbol(char),
}

impl Token {
    fn unexpected(&self) -> SqlError {
        let shown = match self {
            Self::Word(word) => word.clone(),
            Self::Quoted(name) => format!("\"{name}\""),
            Self::Number(number) => number.to_string(),
            Self::Symbol(symbol) => symbol.to_string(),
        };
        SqlError::new(SqlState::SyntaxError, format!("syntax error at or near \"{shown}\""))
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, SqlError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = match first {
            '"' => rest[1..].find('"').map(|end| end + 2).ok_or_else(|| Token::Symbol('"').unexpected())?,
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(match first {
            '"' if length == 2 => {
                let message = "zero-length delimited identifier at or near \"\"\"\"";
                return Err(SqlError::new(SqlState::SyntaxError, message));
            }
            '"' => Token::Quoted(token[1..length - 1].to_owned()),
            c if c.is_ascii_digit() => {
                Token::Number(token.parse().map_err(|_| Token::Word(token.to_owned()).unexpected())?)
            }
            c if is_word(c) => Token::Word(token.to_ascii_lowercase()),
            c => Token::Symbol(c),
        });
        rest = after.trim_ascii_start();
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    /// The schema that is written before the name.
    schema: Option<String>,
    users: UserTypes<'a>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at);
        self.at += usize::from(token.is_some());
        token
    }

    fn takes(&mut self, symbol: char) -> bool {
        let is_next = self.tokens.get(self.at) == Some(&Token::Symbol(symbol));
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, symbol: char) -> Result<(), SqlError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> SqlError {
        self.tokens
            .get(self.at)
            .map_or_else(|| SqlError::new(SqlState::SyntaxError, "syntax error at end of input"), Token::unexpected)
    }

    /// A type that is no array, and its name.
    fn scalar_type(&mut self) -> Result<(Option<TypeId>, String), SqlError> {
        if let [Token::Quoted(_), ..] | [_, Token::Symbol('.'), ..] = self.tokens {
            return self.catalog_type();
        }
        let words = self.words();
        let Some(first) = words.first() else { return Err(self.unexpected()) };
        if first == "interval" {
            let fields =
                interval_fields(&words[1..].join(" ")).ok_or_else(|| Token::Word(words[1].clone()).unexpected())?;
            let takes_digits = words.len() == 1 || words.last().is_some_and(|last| last == "second");
            let digits = self.parameters(usize::from(takes_digits))?;
            interval_modifier(fields, digits.first().copied())?;
            return Ok((Some(TypeId::INTERVAL), words.join(" ")));
        }
        let parameters = self.parameters(parameters_max(&words))?;
        // `time(3) with time zone`
        let takes_more = words.len() == 1 && ["time", "timestamp"].contains(&first.as_str());
        let name = if takes_more { [words.clone(), self.words()].concat() } else { words.clone() }.join(" ");
        match type_by_name(&name) {
            // A word of the grammar.
            Some(TypeId::ANY) => Err(Token::Word(name).unexpected()),
            Some(TypeId::FLOAT8) if name == "float" && !parameters.is_empty() => {
                Ok((Some(float_of_digits(parameters[0])?), name))
            }
            Some(id) => modifier_of(id, &parameters).map(|_| (Some(id), name)),
            None if name.contains(' ') => Err(Token::Word(words.last().unwrap_or(first).clone()).unexpected()),
            None => Ok(((self.users)(None, &name), name)),
        }
    }

    /// A name in quotes or with a schema, which the catalog has as it is.
    fn catalog_type(&mut self) -> Result<(Option<TypeId>, String), SqlError> {
        let mut parts = Vec::new();
        loop {
            match self.next() {
                Some(Token::Word(part) | Token::Quoted(part)) => parts.push(part.clone()),
                Some(token) => return Err(token.unexpected()),
                None => return Err(self.unexpected()),
            }
            if !self.takes('.') {
                break;
            }
        }
        if let [schema, _] = &parts[..] {
            self.schema = Some(schema.clone());
        }
        let of_system = match &parts[..] {
            [schema, _] if schema != SYSTEM_SCHEMA => None,
            parts => known_schema(parts)?.and_then(|name| pg_catalog().type_named(name)),
        };
        let id = of_system.or_else(|| match &parts[..] {
            [name] => (self.users)(None, name),
            [schema, name] => (self.users)(Some(schema), name),
            _ => None,
        });
        let parameters = self.parameters(usize::MAX)?;
        if let Some(id) = id {
            modifier_of(id, &parameters)?;
        }
        Ok((id, parts.join(".")))
    }

    /// The words that follow, up to ARRAY.
    fn words(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.tokens.get(self.at).filter(|token| **token != array_word()) {
            words.push(word.clone());
            self.at += 1;
        }
        words
    }

    /// `(10, -2)`, or nothing; PostgreSQL's grammar takes so many here.
    fn parameters(&mut self, count_max: usize) -> Result<Vec<i64>, SqlError> {
        let mut parameters = Vec::new();
        if count_max == 0 || !self.takes('(') {
            return Ok(parameters);
        }
        loop {
            let is_negative = self.takes('-');
            match self.next() {
                Some(Token::Number(number)) => parameters.push(if is_negative { -number } else { *number }),
                Some(token) => return Err(token.unexpected()),
                None => return Err(self.unexpected()),
            }
            if parameters.len() == count_max || !self.takes(',') {
                self.expect(')')?;
                return Ok(parameters);
            }
        }
    }

    /// Whether `[]`, `[3][4]`, `ARRAY` or `ARRAY[3]` follows.
    fn is_array(&mut self) -> Result<bool, SqlError> {
        if self.tokens.get(self.at) == Some(&array_word()) {
            self.at += 1;
            if self.takes('[') {
                self.length()?;
                self.expect(']')?;
            }
            return Ok(true);
        }
        let start = self.at;
        while self.takes('[') {
            if !self.takes(']') {
                self.length()?;
                self.expect(']')?;
            }
        }
        Ok(self.at > start)
    }

    fn length(&mut self) -> Result<(), SqlError> {
        match self.tokens.get(self.at) {
            Some(Token::Number(_)) => self.at += 1,
            _ => return Err(self.unexpected()),
        }
        Ok(())
    }
}

/// How many parameters the grammar takes after these words. It leaves those of other types to the types.
fn parameters_max(words: &[String]) -> usize {
    match words[0].as_str() {
        "time" | "timestamp" => usize::from(words.len() == 1),
        "int" | "integer" | "smallint" | "bigint" | "real" | "boolean" | "double" => 0,
        "varchar" | "char" | "character" | "nchar" | "national" | "float" => 1,
        _ => usize::MAX,
    }
}

fn array_word() -> Token {
    Token::Word("array".to_owned())
}

/// The last part of a name whose schema, if it has one, has PostgreSQL's objects; `None` if the schema has none of them.
pub fn known_schema(parts: &[String]) -> Result<Option<&str>, SqlError> {
    match parts {
        [name] => Ok(Some(name)),
        [schema, name] if schema == "pg_catalog" => Ok(Some(name)),
        [schema, _] if schema == PUBLIC_SCHEMA => Ok(None),
        [schema, _] => Err(SqlError::unsupported(format!("names in schema {schema} are not supported here"))),
        _ => {
            let name = parts.join(".");
            Err(SqlError::unsupported(format!("cross-database references are not implemented: {name}")))
        }
    }
}
