//! `BEGIN … DEFERRABLE`: a transaction mode that sqlparser does not read. It is taken out.
//!
//! PostgreSQL lets a serializable transaction that only reads wait for a snapshot in which it cannot fail. Here none of these fails.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::words::is_keyword;

/// Words of a statement up to the one that says what it is about.
const FIRST_WORDS: usize = 5;

/// The tokens without this mode. In linear time.
pub(super) fn without_deferrable(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::DEFERRABLE)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut begin = 0;
    while begin < solid.len() {
        let length = solid[begin..].iter().take_while(|at| tokens[**at].token != Token::SemiColon).count();
        let statement = &solid[begin..begin + length];
        if has_modes(&tokens, statement) {
            take_out(&mut tokens, statement);
        }
        begin += length + 1;
    }
    tokens
}

/// Whether a statement begins a transaction, or sets the modes of one.
fn has_modes(tokens: &[TokenWithSpan], statement: &[usize]) -> bool {
    let is = |at: usize, keyword| statement.get(at).is_some_and(|at| is_keyword(&tokens[*at].token, keyword));
    let is_about = |keyword| (1..FIRST_WORDS).any(|at| is(at, keyword));
    is(0, Keyword::BEGIN)
        || (is(0, Keyword::START) || is(0, Keyword::SET)) && is_about(Keyword::TRANSACTION)
        || is(0, Keyword::SET) && is_about(Keyword::CHARACTERISTICS)
}

fn take_out(tokens: &mut [TokenWithSpan], statement: &[usize]) {
    for at in 1..statement.len() {
        if !is_keyword(&tokens[statement[at]].token, Keyword::DEFERRABLE) {
            continue;
        }
        let is_negated = is_keyword(&tokens[statement[at - 1]].token, Keyword::NOT);
        let first = if is_negated { at - 1 } else { at };
        let is_comma =
            |at: Option<usize>| at.filter(|at| statement.get(*at).is_some_and(|at| tokens[*at].token == Token::Comma));
        let comma = is_comma(first.checked_sub(1)).or_else(|| is_comma(Some(at + 1)));
        for gone in (first..=at).chain(comma) {
            tokens[statement[gone]].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn deferrable_is_taken_out() {
        for (text, expected) in [
            (
                "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE",
                "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY",
            ),
            ("BEGIN NOT DEFERRABLE, READ ONLY", "BEGIN READ ONLY"),
            ("START TRANSACTION READ ONLY DEFERRABLE", "START TRANSACTION READ ONLY"),
            ("SET TRANSACTION READ ONLY, NOT DEFERRABLE", "SET TRANSACTION READ ONLY"),
            (
                "SET SESSION CHARACTERISTICS AS TRANSACTION DEFERRABLE, READ ONLY",
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            ),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        let key = "ALTER TABLE t ADD CONSTRAINT c UNIQUE (a) DEFERRABLE";
        assert_eq!(read(key).as_deref(), Ok(key));
    }
}
