//! Joins whose conditions come later than sqlparser reads them, and names of joins.
//!
//! | syntax | read as |
//! |---|---|
//! | `a JOIN b JOIN c ON x ON y` | `a JOIN (b JOIN c ON x) ON y` |
//! | `a JOIN b CROSS JOIN c ON x` | `a JOIN (b CROSS JOIN c) ON x` |
//! | `a JOIN b USING (x) AS j` | `a JOIN b USING (x, j)`, with a mark before the name ([`join_name`]) |
//!
//! A join that has no condition yet when the next one begins holds that one on its right side. CROSS and NATURAL joins need no condition.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::MARK;
use super::words::is_keyword;

/// Words between which and JOIN no other words stand.
const KINDS: &[Keyword] = &[Keyword::INNER, Keyword::LEFT, Keyword::RIGHT, Keyword::FULL, Keyword::OUTER];

/// A join without its condition.
struct Pending {
    /// Where its right side begins.
    right_side: usize,
    /// Whether another join begins behind it.
    has_join: bool,
}

/// The tokens with parentheses around joins on the right side of others, and with the names of joins in USING. In linear time.
pub(super) fn in_parentheses(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::JOIN)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let word = |at: usize, keyword: Keyword| solid.get(at).is_some_and(|at| is_keyword(&tokens[*at].token, keyword));
    let before = |at: usize, keyword: Keyword| at > 0 && word(at - 1, keyword);
    // The joins without conditions within each parenthesis that is open.
    let mut levels: Vec<Vec<Pending>> = vec![Vec::new()];
    let mut changes = Changes::default();
    for at in 0..solid.len() {
        let is_outermost = levels.len() == 1;
        let Some(level) = levels.last_mut() else { break };
        match &tokens[solid[at]].token {
            Token::LParen => levels.push(Vec::new()),
            Token::RParen if !is_outermost => drop(levels.pop()),
            Token::Comma | Token::SemiColon => level.clear(),
            Token::Word(_) if before(at, Keyword::AS) || (at > 0 && tokens[solid[at - 1]].token == Token::Period) => {}
            Token::Word(_) if word(at, Keyword::FROM) && !before(at, Keyword::DISTINCT) => level.clear(),
            Token::Word(_) if word(at, Keyword::JOIN) => {
                if let Some(last) = level.last_mut() {
                    last.has_join = true;
                }
                let mut first = at;
                while first > 0 && KINDS.iter().any(|kind| word(first - 1, *kind)) {
                    first -= 1;
                }
                let needs_condition = !before(first, Keyword::CROSS) && !before(first, Keyword::NATURAL);
                if let (true, Some(right_side)) = (needs_condition, solid.get(at + 1)) {
                    level.push(Pending { right_side: *right_side, has_join: false });
                }
            }
            Token::Word(_) if word(at, Keyword::ON) || word(at, Keyword::USING) => {
                let Some(join) = level.pop() else { continue };
                if join.has_join {
                    changes.before.push((join.right_side, Token::LParen));
                    changes.before.push((solid[at], Token::RParen));
                }
                if word(at, Keyword::USING) {
                    changes.name_join(&tokens, &solid[at..]);
                }
            }
            _ => {}
        }
    }
    changes.applied(tokens)
}

/// What becomes of the tokens.
#[derive(Default)]
struct Changes {
    /// Further tokens, each before one that is there.
    before: Vec<(usize, Token)>,
    /// Tokens that go.
    without: Vec<usize>,
}

impl Changes {
    /// Puts the name behind a list of columns, of which the tokens begin with USING, into the list.
    fn name_join(&mut self, tokens: &[TokenWithSpan], solid: &[usize]) {
        let token = |at: usize| solid.get(at).map(|at| &tokens[*at].token);
        let Some(end) = (0..solid.len()).find(|at| token(*at) == Some(&Token::RParen)) else { return };
        let is_list = (1..end).all(|at| matches!(token(at), Some(Token::LParen | Token::Comma | Token::Word(_))));
        let (Some(as_word), Some(Token::Word(name))) = (token(end + 1), token(end + 2)) else { return };
        if !is_list || !is_keyword(as_word, Keyword::AS) {
            return;
        }
        let value = format!("{MARK}{}", name.value);
        let marked = Word { value, quote_style: name.quote_style, keyword: Keyword::NoKeyword };
        self.before.extend([(solid[end], Token::Comma), (solid[end], Token::Word(marked))]);
        self.without.extend([solid[end + 1], solid[end + 2]]);
    }

    fn applied(mut self, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
        if self.before.is_empty() {
            return tokens;
        }
        self.before.sort_by_key(|(at, _)| *at);
        let mut further = self.before.into_iter().peekable();
        let mut without = self.without.into_iter().peekable();
        let mut read = Vec::with_capacity(tokens.len() + further.len());
        for (at, token) in tokens.into_iter().enumerate() {
            while let Some((_, next)) = further.next_if(|(place, _)| *place == at) {
                read.push(TokenWithSpan::new(next, token.span));
            }
            if without.next_if(|place| *place == at).is_none() {
                read.push(token);
            }
        }
        read
    }
}

/// The name of a join, if what stands in its USING is one.
pub fn join_name(listed: &ObjectName) -> Option<Ident> {
    let [ObjectNamePart::Identifier(name)] = &listed.0[..] else { return None };
    let value = name.value.strip_prefix(MARK)?.to_owned();
    Some(Ident { value, ..name.clone() })
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn joins_without_a_condition_hold_the_next_ones() {
        for (joins, expected) in [
            ("a JOIN b JOIN c ON x ON y", "a JOIN (b JOIN c ON x) ON y"),
            ("a JOIN b LEFT JOIN c FULL JOIN d ON x ON y ON z", "a JOIN (b LEFT JOIN (c FULL JOIN d ON x) ON y) ON z"),
            ("a JOIN b JOIN c ON x JOIN d USING (e) ON y", "a JOIN (b JOIN c ON x JOIN d USING(e)) ON y"),
            ("a JOIN b CROSS JOIN c ON x", "a JOIN (b CROSS JOIN c) ON x"),
            ("a JOIN b NATURAL LEFT OUTER JOIN c ON x", "a JOIN (b NATURAL LEFT OUTER JOIN c) ON x"),
            ("a NATURAL JOIN b JOIN c ON x", "a NATURAL JOIN b JOIN c ON x"),
            ("a CROSS JOIN b JOIN c ON x", "a CROSS JOIN b JOIN c ON x"),
            ("a JOIN b ON x JOIN c ON y", "a JOIN b ON x JOIN c ON y"),
            ("a JOIN b JOIN c ON x IS DISTINCT FROM z ON y", "a JOIN (b JOIN c ON x IS DISTINCT FROM z) ON y"),
            ("a JOIN (b JOIN c ON x) ON y, d", "a JOIN (b JOIN c ON x) ON y, d"),
            ("a JOIN LATERAL (SELECT 1) AS b JOIN c ON x ON y", "a JOIN (LATERAL (SELECT 1) AS b JOIN c ON x) ON y"),
        ] {
            let statement = |joins: &str| format!("SELECT DISTINCT ON (e) e FROM {joins} WHERE f");
            assert_eq!(read(&statement(joins)), Ok(statement(expected)));
        }
        assert!(read("SELECT 1 FROM a JOIN b, c JOIN d ON x ON y").is_err());
    }

    #[test]
    fn names_of_joins_stand_in_using() {
        for (joins, expected) in [
            ("a JOIN b USING (x) AS j", "a JOIN b USING(x, \u{f8ff}j)"),
            ("a JOIN b USING (x, y) AS \"J\" JOIN c ON z", "a JOIN b USING(x, y, \"\u{f8ff}J\") JOIN c ON z"),
        ] {
            assert_eq!(read(&format!("SELECT 1 FROM {joins}")), Ok(format!("SELECT 1 FROM {expected}")));
        }
        assert!(read("SELECT 1 FROM a JOIN b USING (x) j").is_err());
    }
}
