//! Names and texts as they are written in SQL.

use super::results::cast_to_text;
use crate::Value;
use crate::functions::Implementations;
use crate::pg_catalog::key_words::key_word;

/// Functions that quote.
pub const FUNCTIONS: Implementations = &[
    ("quote_ident", |args, _| Ok(Value::text(quote_identifier(args[0].as_text())))),
    ("quote_literal", |args, _| Ok(Value::text(quote_literal(args[0].as_text())))),
    ("quote_nullable", |args, _| {
        Ok(Value::text(if args[0].is_null() { "NULL".to_owned() } else { quote_literal(args[0].as_text()) }))
    }),
    ("quote_literal(anyelement)", |args, call| {
        Ok(Value::text(quote_literal(&cast_to_text(&args[0], call.argument_types[0], call)?)))
    }),
    ("quote_nullable(anyelement)", |args, call| {
        Ok(Value::text(if args[0].is_null() {
            "NULL".to_owned()
        } else {
            quote_literal(&cast_to_text(&args[0], call.argument_types[0], call)?)
        }))
    }),
];

/// A name as SQL has it: in quotes, unless it is of small letters, digits and underscores and no key word.
pub fn quote_identifier(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if is_plain && key_word(name).is_none_or(|found| found.category == b'U') {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// A text as a literal. With a backslash in it, it is one with escapes.
pub fn quote_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}
