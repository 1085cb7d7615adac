//! Names and texts as they are written in SQL.

use super::results::cast_to_text;
use crate::Value;
use crate::functions::Implementations;

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

/// The key words that PostgreSQL 15 does not take as every name (`pg_get_keywords()`, `catcode <> 'U'`).
const KEY_WORDS: &str = " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both \
    case cast char character check coalesce collate collation column concurrently constraint create cross current_catalog \
    current_date current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc \
    distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest group grouping \
    having ilike in initially inner inout int integer intersect interval into is isnull join lateral leading least left like \
    limit localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric offset on only or \
    order out outer overlaps overlay placing position precision primary real references returning right row select \
    session_user setof similar smallint some substring symmetric table tablesample then time timestamp to trailing treat trim \
    true union unique user using values varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement \
    xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

/// A name as SQL has it: in quotes, unless it is of small letters, digits and underscores and no key word.
pub fn quote_identifier(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if is_plain && !KEY_WORDS.contains(&format!(" {name} ")) {
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
