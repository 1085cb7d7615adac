//! `FOREIGN KEY (a, b) … ON DELETE SET NULL (b)`: the columns that the action sets.
//!
//! sqlparser reads no columns there. They become a mark in the place where it reads the name of an index, which PostgreSQL does not have
//! ([`set_columns`]).

use sqlparser::ast::{ForeignKeyConstraint, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;

/// Between the names of columns: no name has it.
const SEPARATOR: char = '\0';

/// Before a name that was quoted.
const QUOTED: char = '"';

/// The tokens with a mark for the columns of each such action. In linear time.
pub(super) fn as_marks(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::FOREIGN)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    // Where the name of an index would be: in place of the blank before the columns of the last key.
    let mut open = None;
    let mut marks: Vec<(usize, TokenWithSpan)> = Vec::new();
    for at in 0..solid.len() {
        let words = |keywords: &[Keyword]| {
            let is_word = |(place, keyword): (usize, &Keyword)| {
                solid.get(at + place).is_some_and(|at| is_keyword(&tokens[*at].token, *keyword))
            };
            keywords.iter().enumerate().all(is_word)
        };
        if words(&[Keyword::FOREIGN, Keyword::KEY]) {
            open = solid.get(at + 2).copied();
        }
        let sets = words(&[Keyword::ON, Keyword::DELETE, Keyword::SET, Keyword::NULL])
            || words(&[Keyword::ON, Keyword::DELETE, Keyword::SET, Keyword::DEFAULT]);
        if let Some(place) = open
            && sets
            && let Some((names, end)) = columns_of(&tokens, &solid, at + 4)
        {
            let mark = Word { value: format!("{MARK}{names}"), quote_style: None, keyword: Keyword::NoKeyword };
            marks.push((place, TokenWithSpan { token: Token::Word(mark), span: tokens[place].span }));
            for gone in &solid[at + 4..=end] {
                tokens[*gone].token = Token::Whitespace(Whitespace::Space);
            }
            open = None;
        }
    }
    if marks.is_empty() {
        return tokens;
    }
    let mut marked = Vec::with_capacity(tokens.len() + marks.len());
    let mut marks = marks.into_iter().peekable();
    for (at, token) in tokens.into_iter().enumerate() {
        while let Some((_, mark)) = marks.next_if(|(place, _)| *place == at) {
            marked.push(mark);
        }
        marked.push(token);
    }
    marked
}

/// The names in parentheses at a place, and where they end.
fn columns_of(tokens: &[TokenWithSpan], solid: &[usize], at: usize) -> Option<(String, usize)> {
    let token = |at: usize| solid.get(at).map(|at| &tokens[*at].token);
    if token(at)? != &Token::LParen {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut next = at + 1;
    loop {
        let Token::Word(word) = token(next)? else { return None };
        let prefix = if word.quote_style.is_some() { QUOTED.to_string() } else { String::new() };
        names.push(prefix + &word.value);
        match token(next + 1)? {
            Token::Comma => next += 2,
            Token::RParen => return Some((names.join(&SEPARATOR.to_string()), next + 1)),
            _ => return None,
        }
    }
}

/// The columns that ON DELETE SET NULL or SET DEFAULT of a foreign key sets; `None` if it names none.
pub fn set_columns(key: &ForeignKeyConstraint) -> Option<Vec<Ident>> {
    let names = key.index_name.as_ref()?.value.strip_prefix(MARK)?;
    let ident = |name: &str| match name.strip_prefix(QUOTED) {
        Some(name) => Ident::with_quote('"', name),
        None => Ident::new(name),
    };
    Some(names.split(SEPARATOR).map(ident).collect())
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{Statement, TableConstraint};

    use super::*;
    use crate::syntax::{SqlDialect, parser_of};

    fn columns(key: &str) -> Option<Vec<String>> {
        let text = format!("CREATE TABLE t (a int, {key})");
        let dialect = SqlDialect::for_text(&text);
        let parsed = parser_of(&dialect, &text).and_then(|mut parser| parser.parse_statement());
        let Statement::CreateTable(create) = parsed.ok()? else { return None };
        let [TableConstraint::ForeignKey(key)] = &create.constraints[..] else { return None };
        Some(set_columns(key)?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_columns_of_an_action_are_read() {
        for (key, expected) in [
            ("FOREIGN KEY (a, b) REFERENCES u ON DELETE SET NULL (b)", vec!["b"]),
            (
                "FOREIGN KEY(a,b) REFERENCES u (x, y) ON UPDATE CASCADE ON DELETE SET DEFAULT (a , \"B\")",
                vec!["a", "\"B\""],
            ),
        ] {
            assert_eq!(columns(key).unwrap(), expected, "{key}");
        }
        assert_eq!(columns("FOREIGN KEY (a) REFERENCES u ON DELETE SET NULL"), None);
        assert_eq!(columns("FOREIGN KEY (a) REFERENCES u ON DELETE SET NULL (a + 1)"), None);
    }
}
