//! `INSERT … OVERRIDING SYSTEM VALUE`, which sqlparser does not read: its words are taken out of the tokens, and their places kept.

use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Whose values an INSERT stores in identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// OVERRIDING SYSTEM VALUE: its own, also in columns whose values are always generated.
    System,
    /// OVERRIDING USER VALUE: those that are generated.
    User,
}

/// Such words, and where they stood.
pub(super) type Overridings = Vec<(Location, Overriding)>;

/// Takes `OVERRIDING … VALUE` out where a query follows. In linear time.
pub(super) fn taken_out(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Overridings) {
    if !tokens.iter().any(|token| is_word(token, "overriding")) {
        return (tokens, Vec::new());
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let (mut found, mut removed) = (Vec::new(), Vec::new());
    for places in solid.windows(4) {
        let [overriding, whose, value, next] = places else { continue };
        let whose_values = match &tokens[*whose] {
            token if is_word(token, "system") => Overriding::System,
            token if is_word(token, "user") => Overriding::User,
            _ => continue,
        };
        let is_it = is_word(&tokens[*overriding], "overriding") && is_word(&tokens[*value], "value");
        if is_it && begins_query(&tokens[*next]) {
            found.push((tokens[*overriding].span.start, whose_values));
            removed.extend([*overriding, *whose, *value]);
        }
    }
    let mut removed = removed.into_iter().peekable();
    let kept = tokens.into_iter().enumerate().filter(|(at, _)| removed.next_if_eq(at).is_none());
    (kept.map(|(_, token)| token).collect(), found)
}

fn begins_query(token: &TokenWithSpan) -> bool {
    token.token == Token::LParen || ["select", "values", "with", "table"].iter().any(|word| is_word(token, word))
}

fn is_word(token: &TokenWithSpan, expected: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

#[cfg(test)]
mod tests {
    use super::super::Statement;
    use super::*;

    #[test]
    fn an_insert_says_whose_values_it_stores() {
        let of = |sql: &str| Statement::parse(sql).map(|mut statements| statements.remove(0).overriding());
        for (sql, expected) in [
            ("insert into t (a) overriding system value values (1)", Some(Overriding::System)),
            ("insert into t overriding user value select 1", Some(Overriding::User)),
            ("insert into t (overriding) values (1)", None),
        ] {
            assert_eq!(of(sql).unwrap(), expected, "{sql}");
        }
        for sql in ["insert into t overriding system values (1)", "select 1 overriding user value values (1)"] {
            assert_eq!(of(sql).unwrap_err().sqlstate(), "42601", "{sql}");
        }
        let both = "insert into t values (1); insert into t overriding user value values (2)";
        let both: Vec<_> = Statement::parse(both).unwrap().iter().map(Statement::overriding).collect();
        assert_eq!(both, [None, Some(Overriding::User)]);
    }
}
