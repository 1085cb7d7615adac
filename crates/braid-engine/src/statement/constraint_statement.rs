//! SET CONSTRAINTS and ALTER TABLE … ALTER CONSTRAINT as written.

use braid_storage::CheckTime;
use sqlparser::ast::{ConstraintCharacteristics, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A statement about when constraints are compared.
#[derive(Debug)]
pub(crate) enum ConstraintStatement {
    /// SET CONSTRAINTS; no names: ALL.
    Set { names: Vec<ObjectName>, time: CheckTime },
    /// ALTER TABLE … ALTER CONSTRAINT.
    Alter { table: ObjectName, if_exists: bool, name: Ident, characteristics: Option<ConstraintCharacteristics> },
}

impl ConstraintStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>, keyword: Keyword) -> Result<Option<Self>, ParserError> {
        match keyword {
            Keyword::SET if is_word(&parser.peek_nth_token(1).token, "constraints") => {
                parser.next_token();
                parser.next_token();
                parse_set(parser).map(Some)
            }
            Keyword::ALTER => parser.maybe_parse(parse_alter),
            _ => Ok(None),
        }
    }
}

fn parse_set(parser: &mut Parser<'_>) -> Result<ConstraintStatement, ParserError> {
    let names = match parser.parse_keyword(Keyword::ALL) {
        true => Vec::new(),
        false => parser.parse_comma_separated(|parser| parser.parse_object_name(false))?,
    };
    let time = match parser.expect_one_of_keywords(&[Keyword::DEFERRED, Keyword::IMMEDIATE])? {
        Keyword::DEFERRED => CheckTime::Deferred,
        _ => CheckTime::Immediate,
    };
    Ok(ConstraintStatement::Set { names, time })
}

fn parse_alter(parser: &mut Parser<'_>) -> Result<ConstraintStatement, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let table = parser.parse_object_name(false)?;
    parser.expect_keywords(&[Keyword::ALTER, Keyword::CONSTRAINT])?;
    let name = parser.parse_identifier()?;
    let characteristics = parser.parse_constraint_characteristics()?;
    match parser.peek_token().token {
        Token::EOF | Token::SemiColon => Ok(ConstraintStatement::Alter { table, if_exists, name, characteristics }),
        _ => parser.expected("end of statement", parser.peek_token()),
    }
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}
