//! The token types of the text search parser, of which there is one.

use super::{Rows, SetImplementations};
use crate::{SqlError, SqlState, Value};

/// Rows of token types.
pub const FUNCTIONS: SetImplementations = &[
    ("ts_token_type_byid", |arguments, _| match arguments[0].as_oid() {
        DEFAULT_PARSER => Ok(token_types()),
        other => {
            Err(SqlError::new(SqlState::InternalError, format!("cache lookup failed for text search parser {other}")))
        }
    }),
    ("ts_token_type_byname", |arguments, _| match arguments[0].as_text() {
        "default" | "pg_catalog.default" => Ok(token_types()),
        other => {
            let message = format!("text search parser \"{other}\" does not exist");
            Err(SqlError::new(SqlState::UndefinedObject, message))
        }
    }),
];

/// The row of `pg_ts_parser`.
const DEFAULT_PARSER: u32 = 3722;

/// Aliases and descriptions, numbered from 1.
const TOKEN_TYPES: [(&str, &str); 23] = [
    ("asciiword", "Word, all ASCII"),
    ("word", "Word, all letters"),
    ("numword", "Word, letters and digits"),
    ("email", "Email address"),
    ("url", "URL"),
    ("host", "Host"),
    ("sfloat", "Scientific notation"),
    ("version", "Version number"),
    ("hword_numpart", "Hyphenated word part, letters and digits"),
    ("hword_part", "Hyphenated word part, all letters"),
    ("hword_asciipart", "Hyphenated word part, all ASCII"),
    ("blank", "Space symbols"),
    ("tag", "XML tag"),
    ("protocol", "Protocol head"),
    ("numhword", "Hyphenated word, letters and digits"),
    ("asciihword", "Hyphenated word, all ASCII"),
    ("hword", "Hyphenated word, all letters"),
    ("url_path", "URL path"),
    ("file", "File or path name"),
    ("float", "Decimal notation"),
    ("int", "Signed integer"),
    ("uint", "Unsigned integer"),
    ("entity", "XML entity"),
];

fn token_types() -> Rows {
    let row = |(number, (alias, description)): (i32, &(&'static str, &'static str))| {
        Ok(vec![Value::Int4(number), Value::text(*alias), Value::text(*description)])
    };
    Box::new((1..).zip(&TOKEN_TYPES).map(row))
}
