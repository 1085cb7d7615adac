//! `FETCH FIRST (a + 1) ROWS WITH TIES`: numbers of rows that are computed.
//!
//! sqlparser reads a literal there. The rest becomes a LIMIT, whose expression has a mark before it that says which form it was
//! ([`fetch_count`]).

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;

/// The mark of `ROWS ONLY`, behind [`MARK`].
const ONLY: &str = "rows only";

/// The mark of `ROWS WITH TIES`.
const WITH_TIES: &str = "rows with ties";

/// Words that may follow the clause.
const NEXT: &[Keyword] = &[Keyword::OFFSET, Keyword::FOR, Keyword::FETCH];

/// The tokens with a LIMIT for each such FETCH. In linear time.
pub(super) fn as_limits(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::FETCH)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut at = 0;
    while at < solid.len() {
        let found = count_of(&tokens, &solid[at..]);
        let Some((end, mark)) = found else {
            at += 1;
            continue;
        };
        tokens[solid[at]].token = Token::make_keyword("LIMIT");
        let marked = Word { value: format!("{MARK}{mark}"), quote_style: None, keyword: Keyword::NoKeyword };
        tokens[solid[at + 1]].token = Token::Word(marked);
        let words = if mark == ONLY { 2 } else { 3 };
        for gone in &solid[at + end..at + end + words] {
            tokens[*gone].token = Token::Whitespace(Whitespace::Space);
        }
        at += end + words;
    }
    tokens
}

/// Where ROWS stands behind a FETCH with which the tokens begin, and the mark of its form.
fn count_of(tokens: &[TokenWithSpan], solid: &[usize]) -> Option<(usize, &'static str)> {
    let token = |at: usize| solid.get(at).map(|at| &tokens[*at].token);
    let word = |at: usize, keywords: &[Keyword]| {
        token(at).is_some_and(|token| keywords.iter().any(|keyword| is_keyword(token, *keyword)))
    };
    let rows = &[Keyword::ROW, Keyword::ROWS];
    if !word(0, &[Keyword::FETCH]) || !word(1, &[Keyword::FIRST, Keyword::NEXT]) || word(2, rows) || word(3, rows) {
        return None;
    }
    let mut depth = 0_usize;
    for at in 2..solid.len() {
        match token(at)? {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::SemiColon => return None,
            _ if depth == 0 && at > 2 && word(at, rows) => {
                let is_only = word(at + 1, &[Keyword::ONLY]);
                let has_ties = word(at + 1, &[Keyword::WITH]) && word(at + 2, &[Keyword::TIES]);
                return if is_only { Some((at, ONLY)) } else { has_ties.then_some((at, WITH_TIES)) };
            }
            _ => {}
        }
    }
    None
}

/// Reads a marked number of rows: one operand.
pub(super) fn operand(parser: &mut Parser<'_>, word: &Word) -> Option<Result<Expr, ParserError>> {
    let mark = word.value.strip_prefix(MARK).filter(|mark| [ONLY, WITH_TIES].contains(mark))?;
    let prefix = Ident::with_span(parser.peek_token_ref().span, mark);
    parser.advance_token();
    Some(parser.parse_subexpr(u8::MAX).and_then(|value| {
        let next = parser.peek_token_ref();
        let is_end = matches!(next.token, Token::EOF | Token::SemiColon | Token::RParen)
            || NEXT.iter().any(|word| is_keyword(&next.token, *word));
        match is_end {
            true => Ok(Expr::Prefixed { prefix, value: Box::new(value) }),
            false => parser.expected_ref("ROWS", next),
        }
    }))
}

/// The number of rows of such a FETCH, and whether it is WITH TIES; `None` for that of a LIMIT.
pub fn fetch_count(limit: &Expr) -> Option<(&Expr, bool)> {
    match limit {
        Expr::Prefixed { prefix, value } if prefix.value == ONLY => Some((value, false)),
        Expr::Prefixed { prefix, value } if prefix.value == WITH_TIES => Some((value, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn computed_counts_are_limits() {
        for (fetch, expected) in [
            ("FETCH FIRST (1 + 1) ROWS ONLY", "LIMIT rows only (1 + 1)"),
            ("OFFSET 1 FETCH NEXT (f(2)) ROW WITH TIES", "LIMIT rows with ties (f(2)) OFFSET 1"),
            ("FETCH FIRST f(2) ROWS ONLY OFFSET 1", "LIMIT rows only f(2) OFFSET 1"),
            ("FETCH FIRST -1 ROWS ONLY", "LIMIT rows only -1"),
            ("FETCH FIRST ROW ONLY", "FETCH FIRST ROWS ONLY"),
            ("FETCH FIRST 2 ROWS WITH TIES", "FETCH FIRST 2 ROWS WITH TIES"),
        ] {
            assert_eq!(read(&format!("SELECT 1 {fetch}")), Ok(format!("SELECT 1 {expected}")), "{fetch}");
        }
        for text in ["SELECT 1 FETCH FIRST 1 + 1 ROWS ONLY", "SELECT 1 FETCH FIRST (1) ROWS", "SELECT 1 FETCH FIRST (1"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
