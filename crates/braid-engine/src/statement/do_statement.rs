//! DO as written, which sqlparser does not read.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::names::fold;

/// `DO [LANGUAGE name] 'code' [LANGUAGE name]`
#[derive(Debug)]
pub(crate) struct DoStatement {
    /// The language, `plpgsql` unless another one is named.
    pub language: String,
    /// The code.
    pub code: String,
}

impl DoStatement {
    /// Reads a statement, from its first word on.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        parser.expect_keyword_is(Keyword::DO)?;
        let (mut language, mut code) = (None::<Ident>, None::<String>);
        loop {
            if language.is_none() && parser.parse_keyword(Keyword::LANGUAGE) {
                language = Some(parser.parse_identifier()?);
                continue;
            }
            let next = parser.peek_token();
            let text = match next.token.clone() {
                Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text,
                Token::DollarQuotedString(quoted) => quoted.value,
                Token::EOF | Token::SemiColon if code.is_some() => break,
                _ => return parser.expected("a string", next),
            };
            if code.is_some() {
                return parser.expected("end of statement", next);
            }
            parser.next_token();
            code = Some(text);
        }
        let language = language.map_or_else(|| "plpgsql".to_owned(), |language| fold(&language));
        Ok(Self { language, code: code.unwrap_or_default() })
    }
}
