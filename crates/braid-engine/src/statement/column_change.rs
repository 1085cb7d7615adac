//! Changes of generated and identity columns in ALTER TABLE, which sqlparser does not read.

use braid_sql::syntax::{SqlDialect, parser_of};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::syntax_errors::parser_error;
use crate::EngineError;

/// A change of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnChange {
    /// DROP EXPRESSION.
    DropExpression {
        /// IF EXISTS.
        if_exists: bool,
    },
    /// A change of an identity column.
    Identity,
}

impl ColumnChange {
    /// From the text of the change.
    ///
    /// # Errors
    /// If it does not read as one.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let dialect = SqlDialect::for_text(text);
        let read = parser_of(&dialect, text).and_then(|mut parser| Self::read(&mut parser));
        read.map_err(|error| parser_error(text, error))
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if !parser.parse_keyword(Keyword::DROP) || parser.parse_keyword(Keyword::IDENTITY) {
            return Ok(Self::Identity);
        }
        // EXPRESSION
        parser.next_token();
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        // CASCADE and RESTRICT are none of it.
        match &parser.peek_token_ref().token {
            Token::EOF => Ok(Self::DropExpression { if_exists }),
            _ => parser.expected_ref("the end of the action", parser.peek_token_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read() {
        for (text, expected) in [
            ("drop expression", ColumnChange::DropExpression { if_exists: false }),
            ("DROP EXPRESSION IF EXISTS", ColumnChange::DropExpression { if_exists: true }),
            ("set generated always", ColumnChange::Identity),
        ] {
            assert_eq!(ColumnChange::parse(text).unwrap(), expected, "{text}");
        }
        assert_eq!(ColumnChange::parse("drop expression cascade").unwrap_err().sqlstate(), "42601");
    }
}
