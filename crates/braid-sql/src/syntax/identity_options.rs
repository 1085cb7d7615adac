//! `AS IDENTITY (…)`: options of a sequence, which PostgreSQL takes in any order, and sqlparser in one.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::is_keyword;

/// The words with which options begin, in the order of sqlparser.
const ORDER: [Keyword; 6] =
    [Keyword::INCREMENT, Keyword::MINVALUE, Keyword::MAXVALUE, Keyword::START, Keyword::CACHE, Keyword::CYCLE];

/// The tokens with such options in order. In linear time.
pub(super) fn in_order(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(found) = tokens[at..].iter().position(|token| is_keyword(&token.token, Keyword::IDENTITY)) {
        at += found + 1;
        let open = at + tokens[at..].iter().take_while(|token| is_blank(&token.token)).count();
        if tokens.get(open).is_none_or(|token| token.token != Token::LParen) {
            continue;
        }
        let Some(length) = tokens[open..].iter().position(|token| token.token == Token::RParen) else { break };
        let options = open + 1..open + length;
        at = options.end;
        sort(&mut tokens[options]);
    }
    tokens
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// Sorts options, unless one of them is none.
fn sort(tokens: &mut [TokenWithSpan]) {
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut is_negated = false;
    for token in tokens.iter() {
        let place = ORDER.iter().position(|word| is_keyword(&token.token, *word));
        let begins = is_keyword(&token.token, Keyword::NO) || place.is_some() && !is_negated;
        match (options.last_mut(), begins) {
            (_, true) => options.push((place.unwrap_or_default(), vec![token.clone()])),
            (Some((known, option)), false) => {
                *known = place.unwrap_or(*known);
                option.push(token.clone());
            }
            (None, false) if is_blank(&token.token) => options.push((0, vec![token.clone()])),
            (None, false) => return,
        }
        is_negated = is_keyword(&token.token, Keyword::NO) || is_negated && is_blank(&token.token);
    }
    options.sort_by_key(|(place, _)| *place);
    for (slot, token) in tokens.iter_mut().zip(options.into_iter().flat_map(|(_, option)| option)) {
        *slot = token;
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn options_are_put_in_order() {
        let column = |options: &str| format!("CREATE TABLE t (a INT GENERATED ALWAYS AS IDENTITY {options})");
        let ordered = column("( INCREMENT BY -5 NO MINVALUE MAXVALUE 9 START WITH 3 CACHE 2 NO CYCLE )");
        let any = column("(start with 3 no cycle maxvalue 9 cache 2 increment by -5 no minvalue)");
        assert_eq!(read(&any), read(&ordered));
        assert!(read(&any).is_ok());
        assert_eq!(read("SELECT identity (a, b) FROM t").as_deref(), Ok("SELECT identity(a, b) FROM t"));
        assert!(read(&column("(start 1 nonsense)")).is_err());
    }
}
