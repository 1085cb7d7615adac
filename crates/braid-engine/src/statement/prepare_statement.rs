//! PREPARE and EXECUTE as written.

use sqlparser::ast::{self, DataType, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token};

use super::Statement;
use super::merge_statement::parse_merge;
use super::places::Places;
use crate::EngineError;

/// `PREPARE name [(type, …)] AS statement`
#[derive(Debug)]
pub(crate) struct PrepareStatement {
    /// The name.
    pub name: Ident,
    /// The types of the first parameters.
    pub types: Vec<DataType>,
    /// What is prepared, for its size: it is read again as a text of its own. `None` for TABLE, which is short.
    pub(super) prepared: Option<Box<ast::Statement>>,
    /// Where that begins.
    start: Location,
}

/// A statement that was read out of another one.
pub(crate) struct InnerStatement {
    /// The statement, whose places count from its own beginning.
    pub statement: Statement,
    /// Characters before it.
    pub characters_before: usize,
}

impl PrepareStatement {
    /// Reads it, behind the word PREPARE.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let name = parser.parse_identifier()?;
        let mut types = Vec::new();
        if parser.consume_token(&Token::LParen) {
            types = parser.parse_comma_separated(Parser::parse_data_type)?;
            parser.expect_token(&Token::RParen)?;
        }
        parser.expect_keyword_is(Keyword::AS)?;
        let first = parser.peek_token();
        if !can_be_prepared(&first.token) {
            return parser.expected("a query, INSERT, UPDATE, DELETE or MERGE", first);
        }
        let prepared = match &first.token {
            Token::Word(word) if word.keyword == Keyword::TABLE => {
                pass_over_statement(parser);
                None
            }
            Token::Word(word) if word.keyword == Keyword::MERGE => Some(Box::new(parse_merge(parser)?)),
            _ => Some(Box::new(parser.parse_statement()?)),
        };
        Ok(Self { name, types, prepared, start: first.span.start })
    }
}

/// Passes over the tokens of a statement that the parser reads only where a text begins with it.
fn pass_over_statement(parser: &mut Parser<'_>) {
    while !matches!(parser.peek_token().token, Token::SemiColon | Token::EOF) {
        parser.next_token();
    }
}

/// Whether a statement that can be prepared begins so.
fn can_be_prepared(token: &Token) -> bool {
    use Keyword::{DELETE, INSERT, MERGE, SELECT, TABLE, UPDATE, VALUES, WITH};
    match token {
        Token::LParen => true,
        Token::Word(word) => [SELECT, WITH, VALUES, TABLE, INSERT, UPDATE, DELETE, MERGE].contains(&word.keyword),
        _ => false,
    }
}

/// `EXECUTE name [(argument, …)]`, behind the word EXECUTE. The parser would take arguments without parentheses, too.
pub(super) fn parse_execute(parser: &mut Parser<'_>) -> Result<ast::Statement, ParserError> {
    let name = Some(ObjectName::from(vec![parser.parse_identifier()?]));
    let has_parentheses = parser.consume_token(&Token::LParen);
    let mut parameters = Vec::new();
    if has_parentheses {
        parameters = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
    }
    let (immediate, into, using, output, default) = Default::default();
    Ok(ast::Statement::Execute { name, parameters, has_parentheses, immediate, into, using, output, default })
}

impl Statement {
    /// What this PREPARE prepares, read as if it had been sent alone.
    pub(crate) fn prepared(&self, prepare: &PrepareStatement) -> Result<InnerStatement, EngineError> {
        let start = Places::new(&self.origin).byte_of(prepare.start);
        let characters_before = self.origin[..start].chars().count();
        let statement = Self::parse(&self.origin[start..self.range.end])?.pop();
        let statement = statement.ok_or_else(|| EngineError::internal("PREPARE of nothing"))?;
        Ok(InnerStatement { statement, characters_before })
    }
}
