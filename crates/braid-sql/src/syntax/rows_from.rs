//! `ROWS FROM (f(a), g(b))` in FROM, which sqlparser's grammar lacks: it becomes a call of a function with a name that no function has.

use sqlparser::ast::{ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;

/// The name behind [`MARK`].
const NAME: &str = "rows from";

/// Words before an item of FROM.
const BEFORE: &[Keyword] = &[Keyword::FROM, Keyword::JOIN, Keyword::LATERAL];

/// The tokens with such calls. In linear time.
pub(super) fn as_calls(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::ROWS)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    // Whether FROM has begun, for each parenthesis that is open.
    let mut in_from = vec![false];
    for at in 0..solid.len() {
        let token = |at: usize| solid.get(at).map(|at| &tokens[*at].token);
        let is = |at: usize, keyword: Keyword| token(at).is_some_and(|token| is_keyword(token, keyword));
        let is_item = at > 0
            && (BEFORE.iter().any(|word| is(at - 1, *word))
                || (token(at - 1) == Some(&Token::Comma) && in_from.last() == Some(&true)));
        match token(at) {
            Some(Token::LParen) => in_from.push(false),
            Some(Token::RParen) => drop(in_from.pop()),
            _ if is(at, Keyword::SELECT) => set_last(&mut in_from, false),
            _ if is_item
                && is(at, Keyword::ROWS)
                && is(at + 1, Keyword::FROM)
                && token(at + 2) == Some(&Token::LParen) =>
            {
                set_last(&mut in_from, true);
                let name = Word { value: format!("{MARK}{NAME}"), quote_style: None, keyword: Keyword::NoKeyword };
                tokens[solid[at]].token = Token::Word(name);
                tokens[solid[at + 1]].token = Token::Whitespace(Whitespace::Space);
            }
            _ if is(at, Keyword::FROM) => set_last(&mut in_from, true),
            _ => {}
        }
    }
    tokens
}

fn set_last(levels: &mut [bool], value: bool) {
    if let Some(last) = levels.last_mut() {
        *last = value;
    }
}

/// Whether a name is that of such a call.
pub fn is_rows_from(name: &ObjectName) -> bool {
    matches!(&name.0[..], [ObjectNamePart::Identifier(name)] if name.value.strip_prefix(MARK) == Some(NAME))
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn functions_side_by_side_are_arguments() {
        for (text, expected) in [
            ("SELECT * FROM ROWS FROM (f(1), g(2)) AS t", "SELECT * FROM \u{f8ff}rows from(f(1), g(2)) AS t"),
            (
                "SELECT * FROM a, ROWS FROM (f(1)) WITH ORDINALITY AS t (b, c)",
                "SELECT * FROM a, \u{f8ff}rows from(f(1)) WITH ORDINALITY AS t (b, c)",
            ),
            (
                "SELECT 1 FROM a JOIN LATERAL ROWS FROM (f(a.b)) AS t ON true",
                "SELECT 1 FROM a JOIN LATERAL \u{f8ff}rows from(f(a.b)) AS t ON true",
            ),
            ("SELECT a, rows FROM (SELECT 1) AS t (rows)", "SELECT a, rows FROM (SELECT 1) AS t (rows)"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }
}
