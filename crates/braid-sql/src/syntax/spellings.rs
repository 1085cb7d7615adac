//! Short forms that sqlparser does not know, spelt out.
//!
//! | syntax | read as |
//! |---|---|
//! | `TABLE t` where a query begins | `SELECT * FROM t` |
//! | `FROM ONLY t`, where no table inherits from another | `FROM t` |
//! | `ORDER BY a USING <`, `USING >` | `ORDER BY a ASC`, `DESC` |
//!
//! A query begins at the start of a statement, behind a parenthesis, behind the first AS of a statement that begins with CREATE, and behind
//! UNION, INTERSECT, EXCEPT and their ALL or DISTINCT. TABLE is
//! reserved, so that it is no name there; in REINDEX it follows options in parentheses. USING before one of these operators stands in ORDER BY only.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::is_keyword;

/// Words behind which a query begins.
const SET_WORDS: &[Keyword] = &[Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT, Keyword::ALL, Keyword::DISTINCT];

/// Words without which there is no such form.
const FORMS: &[Keyword] = &[Keyword::TABLE, Keyword::USING, Keyword::ONLY];

/// The tokens with these forms spelt out. In linear time.
pub(super) fn spelt_out(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let begins_form = |token: &TokenWithSpan| FORMS.iter().any(|word| is_keyword(&token.token, *word));
    if !tokens.iter().any(begins_form) {
        return tokens;
    }
    let mut read: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    let mut last: Option<usize> = None;
    let mut is_reindex = false;
    // Behind the first AS of CREATE TABLE and CREATE VIEW a query begins; behind others a name stands.
    let mut awaits_query = false;
    let mut is_behind_as = false;
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            read.push(token);
            continue;
        }
        let before = last.map(|at| &read[at].token);
        if before.is_none_or(|before| *before == Token::SemiColon) {
            is_reindex = matches!(&token.token, Token::Word(word) if word.value.eq_ignore_ascii_case("reindex"));
            awaits_query = is_keyword(&token.token, Keyword::CREATE);
        }
        if is_keyword(&token.token, Keyword::ONLY) && before.is_some_and(begins_item) {
            continue;
        }
        let begins_created = std::mem::take(&mut is_behind_as);
        if is_keyword(&token.token, Keyword::TABLE)
            && !is_reindex
            && (begins_created || before.is_none_or(begins_query))
        {
            let words = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
            read.extend(words.map(|word| TokenWithSpan::new(word, token.span)));
            last = Some(read.len() - 1);
            continue;
        }
        let direction = match token.token {
            Token::Lt => Some("ASC"),
            Token::Gt => Some("DESC"),
            _ => None,
        };
        if let Some((at, direction)) = last.zip(direction)
            && is_keyword(&read[at].token, Keyword::USING)
        {
            read[at].token = Token::make_keyword(direction);
            continue;
        }
        is_behind_as = is_keyword(&token.token, Keyword::AS) && std::mem::take(&mut awaits_query);
        last = Some(read.len());
        read.push(token);
    }
    read
}

/// Whether an item of FROM may begin behind a token. ONLY is reserved, so that it is nothing else behind a comma.
fn begins_item(before: &Token) -> bool {
    *before == Token::Comma || is_keyword(before, Keyword::FROM) || is_keyword(before, Keyword::JOIN)
}

/// Whether a query may begin behind a token.
fn begins_query(before: &Token) -> bool {
    match before {
        Token::SemiColon | Token::LParen | Token::RParen => true,
        Token::Word(word) => word.quote_style.is_none() && SET_WORDS.contains(&word.keyword),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn table_is_a_query_where_one_begins() {
        for (text, expected) in [
            ("TABLE t", "SELECT * FROM t"),
            ("TABLE t ORDER BY 1; TABLE s.u", "SELECT * FROM t ORDER BY 1; SELECT * FROM s.u"),
            ("SELECT (TABLE t LIMIT 1)", "SELECT (SELECT * FROM t LIMIT 1)"),
            ("SELECT 1 UNION ALL TABLE t", "SELECT 1 UNION ALL SELECT * FROM t"),
            ("WITH a AS (TABLE t) TABLE a", "WITH a AS (SELECT * FROM t) SELECT * FROM a"),
            ("SELECT 1 AS table", "SELECT 1 AS table"),
            ("SELECT 1 AS \"table\"", "SELECT 1 AS \"table\""),
            ("DROP TABLE t", "DROP TABLE t"),
            ("CREATE TABLE t AS TABLE u", "CREATE TABLE t AS SELECT * FROM u"),
            ("CREATE VIEW v AS SELECT 1 AS table", "CREATE VIEW v AS SELECT 1 AS table"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn only_says_nothing() {
        for (text, expected) in [
            ("SELECT * FROM ONLY t, ONLY s.u JOIN ONLY v ON true", "SELECT * FROM t, s.u JOIN v ON true"),
            ("SELECT a FROM t FETCH FIRST 2 ROWS ONLY", "SELECT a FROM t FETCH FIRST 2 ROWS ONLY"),
            ("SELECT a AS only FROM t", "SELECT a AS only FROM t"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn orders_are_named_by_their_operators() {
        for (text, expected) in [
            ("SELECT a FROM t ORDER BY a USING >", "SELECT a FROM t ORDER BY a DESC"),
            (
                "SELECT a FROM t ORDER BY a USING < NULLS FIRST, b USING >",
                "SELECT a FROM t ORDER BY a ASC NULLS FIRST, b DESC",
            ),
            ("SELECT * FROM t JOIN u USING (a)", "SELECT * FROM t JOIN u USING(a)"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(read("SELECT a FROM t ORDER BY a USING <=").is_err());
    }
}
