//! The syntax of COPY in PostgreSQL 15, plus `FORMAT parquet`.
//!
//! The parser accepts the option list in parentheses and the syntax from before version 9.0 (`COPY t FROM stdin CSV HEADER`),
//! which clients still send. [`CopyOptions`](super::CopyOptions) gives the options their meaning.

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{IsOptional, Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::syntax_errors::refusal;
use crate::SqlState;

/// A COPY statement as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CopyStatement {
    /// The table or query.
    pub subject: CopySubject,
    /// The direction.
    pub direction: CopyDirection,
    /// The other end.
    pub place: CopyPlace,
    /// Options in the order given, names in lower case.
    pub options: Vec<(String, OptionValue)>,
    /// WHERE: which of the read rows are stored.
    pub condition: Option<ast::Expr>,
}

/// The table or query of a COPY.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CopySubject {
    /// `COPY t (a, b)`; no columns means all.
    Table {
        /// The table.
        name: ast::ObjectName,
        /// The columns.
        columns: Vec<ast::Ident>,
    },
    /// `COPY (SELECT …)`.
    Query(Box<ast::Query>),
}

/// FROM or TO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyDirection {
    /// Into the table.
    From,
    /// Out of it.
    To,
}

/// The source or target of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopyPlace {
    /// The client: STDIN or STDOUT.
    Client,
    /// A file of the server.
    File(String),
    /// A program of the server.
    Program,
}

/// An option's argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OptionValue {
    /// None given.
    Absent,
    /// A word, in lower case: `csv`, `true`, `match`.
    Word(String),
    /// A string.
    Text(String),
    /// Column names, or `*`.
    Columns(Vec<String>),
}

impl CopyStatement {
    /// Parses the statement after its first word.
    pub fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let subject = if parser.consume_token(&Token::LParen) {
            let query = parser.parse_query()?;
            parser.expect_token(&Token::RParen)?;
            CopySubject::Query(query)
        } else {
            let name = parser.parse_object_name(false)?;
            let columns = parser.parse_parenthesized_column_list(IsOptional::Optional, false)?;
            CopySubject::Table { name, columns }
        };
        let direction = match parser.expect_one_of_keywords(&[Keyword::FROM, Keyword::TO])? {
            Keyword::FROM => CopyDirection::From,
            _ => CopyDirection::To,
        };
        let place = match parser.parse_one_of_keywords(&[Keyword::STDIN, Keyword::STDOUT, Keyword::PROGRAM]) {
            Some(Keyword::PROGRAM) => {
                parser.parse_literal_string()?;
                CopyPlace::Program
            }
            Some(_) => CopyPlace::Client,
            None => CopyPlace::File(parser.parse_literal_string()?),
        };
        let _ = parser.parse_keyword(Keyword::WITH);
        let options =
            if parser.consume_token(&Token::LParen) { parse_option_list(parser)? } else { parse_old_options(parser)? };
        let condition = match &subject {
            CopySubject::Table { .. } if parser.peek_keyword(Keyword::WHERE) => {
                if direction == CopyDirection::To {
                    let message = "WHERE clause not allowed with COPY TO";
                    return Err(refusal(SqlState::SyntaxError, message, None, parser.peek_token_ref()));
                }
                parser.next_token();
                Some(parser.parse_expr()?)
            }
            _ => None,
        };
        Ok(Self { subject, direction, place, options, condition })
    }

    /// Whether it writes into a table.
    pub fn is_from(&self) -> bool {
        self.direction == CopyDirection::From
    }
}

fn parse_option_list(parser: &mut Parser<'_>) -> Result<Vec<(String, OptionValue)>, ParserError> {
    let mut options = Vec::new();
    loop {
        let name = parser.parse_identifier()?.value.to_ascii_lowercase();
        options.push((name, parse_option_value(parser)?));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

fn parse_option_value(parser: &mut Parser<'_>) -> Result<OptionValue, ParserError> {
    let next = parser.peek_token();
    Ok(match next.token {
        Token::Comma | Token::RParen => OptionValue::Absent,
        Token::LParen => {
            let columns = parser.parse_parenthesized_column_list(IsOptional::Mandatory, false)?;
            OptionValue::Columns(columns.iter().map(folded).collect())
        }
        Token::Mul => {
            parser.next_token();
            OptionValue::Columns(vec!["*".to_owned()])
        }
        Token::Word(word) if word.quote_style.is_none() => {
            parser.next_token();
            OptionValue::Word(word.value.to_ascii_lowercase())
        }
        Token::Number(number, _) => {
            parser.next_token();
            OptionValue::Word(number)
        }
        _ => OptionValue::Text(parser.parse_literal_string()?),
    })
}

/// `[BINARY] [FREEZE] [DELIMITER [AS] 'c'] [NULL [AS] 's'] [CSV] [HEADER] [QUOTE [AS] 'c'] [ESCAPE [AS] 'c'] [ENCODING 's']
/// [FORCE QUOTE columns|*] [FORCE [NOT] NULL columns]`, in any order.
fn parse_old_options(parser: &mut Parser<'_>) -> Result<Vec<(String, OptionValue)>, ParserError> {
    const WORDS: [Keyword; 10] = [
        Keyword::BINARY,
        Keyword::FREEZE,
        Keyword::DELIMITER,
        Keyword::NULL,
        Keyword::CSV,
        Keyword::HEADER,
        Keyword::QUOTE,
        Keyword::ESCAPE,
        Keyword::ENCODING,
        Keyword::FORCE,
    ];
    let mut options = Vec::new();
    while let Some(word) = parser.parse_one_of_keywords(&WORDS) {
        let option = match word {
            Keyword::BINARY => ("format", OptionValue::Word("binary".to_owned())),
            Keyword::CSV => ("format", OptionValue::Word("csv".to_owned())),
            Keyword::HEADER => ("header", OptionValue::Absent),
            Keyword::FREEZE => ("freeze", OptionValue::Absent),
            Keyword::FORCE => parse_forced_columns(parser)?,
            Keyword::ENCODING => ("encoding", OptionValue::Text(parser.parse_literal_string()?)),
            _ => {
                let _ = parser.parse_keyword(Keyword::AS);
                let name = match word {
                    Keyword::DELIMITER => "delimiter",
                    Keyword::NULL => "null",
                    Keyword::QUOTE => "quote",
                    _ => "escape",
                };
                (name, OptionValue::Text(parser.parse_literal_string()?))
            }
        };
        options.push((option.0.to_owned(), option.1));
    }
    Ok(options)
}

/// What follows FORCE: `QUOTE columns|*`, `NULL columns`, `NOT NULL columns`.
fn parse_forced_columns(parser: &mut Parser<'_>) -> Result<(&'static str, OptionValue), ParserError> {
    let option = match parser.expect_one_of_keywords(&[Keyword::QUOTE, Keyword::NULL, Keyword::NOT])? {
        Keyword::QUOTE if parser.consume_token(&Token::Mul) => {
            return Ok(("force_quote", OptionValue::Columns(vec!["*".to_owned()])));
        }
        Keyword::QUOTE => "force_quote",
        Keyword::NULL => "force_null",
        _ => {
            parser.expect_keyword(Keyword::NULL)?;
            "force_not_null"
        }
    };
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    Ok((option, OptionValue::Columns(columns.iter().map(folded).collect())))
}

/// An identifier as PostgreSQL folds it.
fn folded(ident: &ast::Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}
