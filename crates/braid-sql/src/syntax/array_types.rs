//! `text ARRAY`: the standard's name of an array type, which sqlparser does not read. It becomes `text[]`.
//!
//! A constructor `ARRAY[…]` or `ARRAY(…)` follows no type, and nothing else may be called so without quotes but behind AS.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::is_keyword;

/// The tokens with brackets in the place of this word. In linear time.
pub(super) fn as_brackets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::ARRAY)) {
        return tokens;
    }
    let solid = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let mut read: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 1);
    let mut tokens = tokens.into_iter();
    let mut follows_type = false;
    while let Some(token) = tokens.next() {
        let begins_constructor = || {
            let after = tokens.as_slice().iter().find(solid).map(|token| &token.token);
            matches!(after, Some(Token::LBracket | Token::LParen))
        };
        if follows_type && is_keyword(&token.token, Keyword::ARRAY) && !begins_constructor() {
            read.push(TokenWithSpan { token: Token::LBracket, span: token.span });
            read.push(TokenWithSpan { token: Token::RBracket, span: token.span });
            follows_type = false;
            continue;
        }
        if solid(&&token) {
            follows_type = ends_type(&token.token);
        }
        read.push(token);
    }
    read
}

/// Whether a type may end with a token.
fn ends_type(token: &Token) -> bool {
    match token {
        Token::RParen => true,
        Token::Word(_) => !is_keyword(token, Keyword::AS),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn array_behind_a_type_is_a_pair_of_brackets() {
        for (text, expected) in [
            (
                "CREATE TABLE t (a text array, b varchar(3) ARRAY NOT NULL)",
                "CREATE TABLE t (a TEXT[], b VARCHAR(3)[] NOT NULL)",
            ),
            ("SELECT CAST(a AS integer ARRAY)", "SELECT CAST(a AS INTEGER[])"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["SELECT ARRAY[1, 2]", "SELECT 1 AS array", "SELECT a = ANY(ARRAY[1])", "SELECT ARRAY(SELECT 1)"] {
            assert_eq!(read(text).as_deref(), Ok(text));
        }
    }
}
