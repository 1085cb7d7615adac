//! `f(a) AS (b int, c text)` in FROM: definitions of columns behind AS without a name. sqlparser wants one: it gets a mark.

use sqlparser::ast::TableAlias;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::MARK;
use super::words::is_keyword;

/// Words with which a statement begins: it is no definition behind AS in parentheses.
const STATEMENTS: &[Keyword] = &[
    Keyword::SELECT,
    Keyword::WITH,
    Keyword::VALUES,
    Keyword::TABLE,
    Keyword::INSERT,
    Keyword::UPDATE,
    Keyword::DELETE,
    Keyword::MERGE,
];

/// The tokens with such names. In linear time.
pub(super) fn with_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::AS)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let token = |at: usize| solid.get(at).map_or(&Token::EOF, |at| &tokens[*at].token);
    let is_unnamed = |at: &usize| {
        let is_list = matches!((token(at + 2), token(at + 3)), (Token::Word(_), Token::Word(_)))
            && !STATEMENTS.iter().any(|word| is_keyword(token(at + 2), *word));
        *at > 0
            && *token(at - 1) == Token::RParen
            && is_keyword(token(*at), Keyword::AS)
            && *token(at + 1) == Token::LParen
            && is_list
    };
    let marked: Vec<usize> = (0..solid.len()).filter(is_unnamed).map(|at| solid[at]).collect();
    if marked.is_empty() {
        return tokens;
    }
    let mut marked = marked.into_iter().peekable();
    let mut read = Vec::with_capacity(tokens.len() + marked.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        read.push(token);
        if marked.next_if(|place| *place == at).is_some() {
            let name = Word { value: MARK.to_string(), quote_style: None, keyword: Keyword::NoKeyword };
            read.push(TokenWithSpan::new(Token::Word(name), span));
        }
    }
    read
}

/// Whether an alias only defines columns.
pub fn is_unnamed(alias: &TableAlias) -> bool {
    alias.name.value.strip_prefix(MARK) == Some("")
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn definitions_without_a_name_get_one() {
        for (text, expected) in [
            ("SELECT * FROM f(1) AS (a INT, b TEXT)", "SELECT * FROM f(1) AS \u{f8ff} (a INT, b TEXT)"),
            ("SELECT * FROM f(1) AS t (a INT, b TEXT)", "SELECT * FROM f(1) AS t (a INT, b TEXT)"),
            ("WITH t (a) AS (SELECT b FROM u) SELECT 1", "WITH t (a) AS (SELECT b FROM u) SELECT 1"),
            ("WITH t (a) AS (VALUES (1)) SELECT 1", "WITH t (a) AS (VALUES (1)) SELECT 1"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }
}
