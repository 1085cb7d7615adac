//! Options of a column that sqlparser reads otherwise than PostgreSQL.
//!
//! - The expression of DEFAULT is PostgreSQL's `b_expr`: outside of parentheses it has no `AND`, `OR`, `NOT`, `IN`, `LIKE` and the like. What is
//!   read of it stays as it is, but such a word is an error where it stands.
//! - `UNIQUE` may say how it compares nulls.

use sqlparser::ast::{ColumnOption, KeyOrIndexDisplay, NullsDistinctOption, UniqueConstraint};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::is_keyword;

/// Words behind an operand that need parentheses around them.
const INFIX: &[Keyword] = &[
    Keyword::AND,
    Keyword::OR,
    Keyword::IN,
    Keyword::BETWEEN,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::SIMILAR,
    Keyword::OVERLAPS,
    Keyword::NOTNULL,
];

/// Reserved words that begin no operand there.
const QUANTIFIERS: &[Keyword] = &[Keyword::ANY, Keyword::SOME, Keyword::ALL];

/// Words that begin the next option.
const NEXT: &[Keyword] =
    &[Keyword::CONSTRAINT, Keyword::CHECK, Keyword::UNIQUE, Keyword::PRIMARY, Keyword::REFERENCES, Keyword::GENERATED];

/// Words behind NOT that are no operand of it.
const NEGATED: &[Keyword] = &[Keyword::NULL, Keyword::DEFERRABLE, Keyword::ENFORCED];

/// The option that begins here, if it is read here; sqlparser reads all others.
pub(super) fn option(parser: &mut Parser<'_>) -> Result<Option<ColumnOption>, ParserError> {
    if parser.peek_keyword(Keyword::DEFAULT) {
        check_default(parser)?;
        return Ok(None);
    }
    let nulls_distinct = if parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS, Keyword::NOT, Keyword::DISTINCT]) {
        NullsDistinctOption::NotDistinct
    } else if parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS, Keyword::DISTINCT]) {
        NullsDistinctOption::Distinct
    } else {
        return Ok(None);
    };
    Ok(Some(ColumnOption::Unique(UniqueConstraint {
        name: None,
        index_name: None,
        index_type_display: KeyOrIndexDisplay::None,
        index_type: None,
        columns: Vec::new(),
        index_options: Vec::new(),
        characteristics: parser.parse_constraint_characteristics()?,
        nulls_distinct,
    })))
}

/// Refuses what the expression of DEFAULT may not have. Nothing is read.
fn check_default(parser: &mut Parser<'_>) -> Result<(), ParserError> {
    let mut found = None;
    // The error puts the parser back.
    let _ = parser.maybe_parse(|parser| {
        parser.advance_token();
        found = misplaced(parser);
        parser.expected::<()>("the end of a look ahead", TokenWithSpan::new_eof())
    })?;
    found.map_or(Ok(()), |token| parser.expected("the end of the default", token))
}

/// The first token of a default that may not stand in it. In linear time.
fn misplaced(parser: &mut Parser<'_>) -> Option<TokenWithSpan> {
    let mut depth = 0_usize;
    let mut last = Token::EOF;
    loop {
        let token = parser.next_token();
        let is_one_of = |words: &[Keyword]| words.iter().any(|word| is_keyword(&token.token, *word));
        match &token.token {
            Token::EOF | Token::SemiColon => return None,
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth > 0 => depth -= 1,
            _ if is_one_of(&[Keyword::CASE]) => depth += 1,
            _ if is_one_of(&[Keyword::END]) && depth > 0 => depth -= 1,
            _ if depth > 0 || last == Token::Period => {}
            Token::RParen | Token::Comma => return None,
            _ if is_one_of(NEXT) => return None,
            _ if is_one_of(QUANTIFIERS) || last != Token::EOF && is_one_of(INFIX) => return Some(token),
            _ if is_one_of(&[Keyword::AT]) && parser.peek_keyword(Keyword::TIME) => return Some(token),
            _ if is_one_of(&[Keyword::NOT]) => {
                let next = parser.peek_token();
                let is_next_option = NEGATED.iter().any(|word| is_keyword(&next.token, *word));
                return Some(token).filter(|_| last == Token::EOF || !is_next_option);
            }
            _ if is_one_of(&[Keyword::IS]) => {
                if let Some(refused) = misplaced_test(parser, &token) {
                    return Some(refused);
                }
            }
            _ => {}
        }
        last = token.token;
    }
}

/// What may not stand behind IS.
fn misplaced_test(parser: &mut Parser<'_>, is: &TokenWithSpan) -> Option<TokenWithSpan> {
    // It is `ISNULL`, spelt out.
    if parser.peek_token().span == is.span {
        return Some(TokenWithSpan::new(Token::make_word("isnull", None), is.span));
    }
    let _ = parser.parse_keyword(Keyword::NOT);
    let next = parser.next_token();
    let is_document = matches!(&next.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("document"));
    let is_allowed = is_keyword(&next.token, Keyword::DISTINCT) || is_document;
    (!is_allowed).then_some(next)
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn defaults_end_where_postgresql_ends_them() {
        for default in [
            "1 + 1 NOT NULL",
            "1 = 1 NOT NULL",
            "1 IS DISTINCT FROM 2",
            "1 IS NOT DISTINCT FROM 2 NOT NULL",
            "CASE WHEN true AND 1 IN (1) THEN 2 END NOT NULL",
            "(1 IN (1, 2))",
            "NULL",
            "'a'::TIMESTAMP WITH TIME ZONE UNIQUE",
            "1 CONSTRAINT c CHECK (a IN (1) AND b)",
            "1 REFERENCES u(a) NOT DEFERRABLE",
        ] {
            let text = format!("CREATE TABLE t (a INT DEFAULT {default}, b INT)");
            assert!(read(&text).is_ok(), "{text}: {:?}", read(&text));
        }
        for (default, near) in [
            ("1 IN (1, 2)", "IN"),
            ("1 BETWEEN 0 AND 2", "BETWEEN"),
            ("'a' NOT LIKE 'b'", "NOT"),
            ("NOT true", "NOT"),
            ("true AND false", "AND"),
            ("1 IS NULL", "NULL"),
            ("1 IS NOT NULL", "NULL"),
            ("1 ISNULL", "isnull"),
            ("now() AT TIME ZONE 'utc'", "AT"),
            ("1 = ANY (ARRAY[1])", "ANY"),
        ] {
            for text in [
                format!("CREATE TABLE t (a INT DEFAULT {default})"),
                format!("ALTER TABLE t ADD COLUMN a INT DEFAULT {default} NOT NULL"),
            ] {
                let error = read(&text).unwrap_err();
                assert!(error.contains(&format!("found: {near} at")), "{text}: {error}");
            }
        }
        assert!(read("ALTER TABLE t ALTER COLUMN a SET DEFAULT 1 IN (1, 2)").is_ok());
    }

    #[test]
    fn unique_says_how_nulls_compare() {
        for (text, expected) in [
            ("CREATE TABLE t (a INT UNIQUE NULLS NOT DISTINCT NOT NULL)", true),
            ("CREATE TABLE t (a INT UNIQUE NULLS DISTINCT)", true),
            ("CREATE TABLE t (a INT UNIQUE NULLS)", false),
        ] {
            assert_eq!(read(text).is_ok(), expected, "{text}: {:?}", read(text));
        }
    }
}
