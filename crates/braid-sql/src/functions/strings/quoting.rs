//! Names and texts as they are written in SQL.

use super::results::cast_to_text;
use crate::Value;
use crate::functions::Implementations;
pub use crate::pg_catalog::key_words::quote_identifier;

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

/// A text as a literal. With a backslash in it, it is one with escapes.
pub fn quote_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}
