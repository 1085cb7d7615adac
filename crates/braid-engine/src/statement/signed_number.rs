//! Numbers with a sign, as the options of sequences and the oids of large objects have them.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The digits, after a `-` if the number is negative.
pub(super) fn parse_number(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let sign = if parser.consume_token(&Token::Minus) { "-" } else { "" };
    let _ = sign.is_empty() && parser.consume_token(&Token::Plus);
    let next = parser.next_token();
    match next.token {
        Token::Number(number, _) => Ok(format!("{sign}{number}")),
        _ => parser.expected("a number", next),
    }
}
