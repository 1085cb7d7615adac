//! Statements of PostgreSQL that sqlparser does not read, and that Braid refuses by their names.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::comment_statement::consume_words;

/// How they begin, and what they are called.
const REFUSED: &[(&str, &str)] =
    &[("create rule", "CREATE RULE"), ("create or replace rule", "CREATE RULE"), ("alter rule", "ALTER RULE")];

/// What ALTER TABLE is refused to do, behind the name of the table.
const REFUSED_OF_TABLES: &[(&str, &str)] = &[
    ("inherit", "ALTER TABLE ... INHERIT"),
    ("no inherit", "ALTER TABLE ... NO INHERIT"),
    ("attach partition", "ALTER TABLE ... ATTACH PARTITION"),
    ("detach partition", "ALTER TABLE ... DETACH PARTITION"),
    ("set tablespace", "ALTER TABLE ... SET TABLESPACE"),
    ("set access method", "ALTER TABLE ... SET ACCESS METHOD"),
    ("of", "ALTER TABLE ... OF"),
    ("not of", "ALTER TABLE ... NOT OF"),
];

fn parse_refused_of_table(parser: &mut Parser<'_>) -> Result<&'static (&'static str, &'static str), ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let _ = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    parser.parse_object_name(false)?;
    match REFUSED_OF_TABLES.iter().find(|(words, _)| consume_words(parser, words)) {
        Some(refused) => Ok(refused),
        None => parser.expected("another action", parser.peek_token()),
    }
}

/// The name of such a statement, whose tokens are passed over; `None` for others, and nothing is read then.
pub(super) fn parse_refused(parser: &mut Parser<'_>) -> Option<&'static str> {
    let (_, name) = match REFUSED.iter().find(|(words, _)| consume_words(parser, words)) {
        Some(refused) => refused,
        None => parser.maybe_parse(parse_refused_of_table).ok().flatten()?,
    };
    let mut depth = 0_usize;
    loop {
        match parser.peek_token_ref().token {
            Token::EOF => return Some(name),
            // A rule may have several statements in parentheses.
            Token::SemiColon if depth == 0 => return Some(name),
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        parser.advance_token();
    }
}
