//! `CREATE TABLE t (a, b) AS …`: names of columns without types. sqlparser wants types: each name gets a mark for one.

use sqlparser::ast::{ColumnDef, DataType};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::table_likes::Solid;
use super::words::is_keyword;

/// The type behind [`MARK`].
const NAME: &str = "named";

/// Words behind the list of names.
const NEXT: &[Keyword] =
    &[Keyword::AS, Keyword::WITH, Keyword::WITHOUT, Keyword::ON, Keyword::USING, Keyword::TABLESPACE];

/// The tokens with such types. In linear time.
pub(super) fn with_types(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |word| tokens.iter().any(|token| is_keyword(&token.token, word));
    if !has(Keyword::CREATE) || !has(Keyword::AS) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let (mut named, mut at) = (Vec::new(), 0);
    while at < solid.len() {
        named.extend(names(Solid { tokens: &tokens, places: &solid }, at).into_iter().map(|name| solid[name]));
        at += 1 + solid[at..].iter().take_while(|place| tokens[**place].token != Token::SemiColon).count();
    }
    if named.is_empty() {
        return tokens;
    }
    let mut named = named.into_iter().peekable();
    let mut read = Vec::with_capacity(tokens.len() + 2 * named.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        read.push(token);
        if named.next_if_eq(&at).is_some() {
            let mark = Word { value: format!("{MARK}{NAME}"), quote_style: None, keyword: Keyword::NoKeyword };
            let added = [Token::Whitespace(Whitespace::Space), Token::Word(mark)];
            read.extend(added.map(|token| TokenWithSpan::new(token, span)));
        }
    }
    read
}

/// The places of the names in the statement that begins at `at`; none if it has no such list.
fn names(solid: Solid<'_>, at: usize) -> Vec<usize> {
    let Some(open) = solid.list_of_columns(at) else { return Vec::new() };
    let (mut names, mut at) = (Vec::new(), open + 1);
    loop {
        match (solid.token(at), solid.token(at + 1)) {
            (Token::Word(_), Token::Comma) => {
                names.push(at);
                at += 2;
            }
            (Token::Word(_), Token::RParen) if NEXT.iter().any(|word| solid.is(at + 2, *word)) => {
                names.push(at);
                return names;
            }
            _ => return Vec::new(),
        }
    }
}

/// Whether a column has a name alone.
pub fn is_named_only(column: &ColumnDef) -> bool {
    match &column.data_type {
        DataType::Custom(name, _) => name.to_string().strip_prefix(MARK) == Some(NAME),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn names_without_types_are_columns() {
        for (text, expected) in [
            (
                "CREATE TABLE t (a, \"B\") AS SELECT 1, 2",
                "CREATE TABLE t (a \u{f8ff}named, \"B\" \u{f8ff}named) AS SELECT 1, 2",
            ),
            (
                "SELECT 1; create temp table if not exists s.t(a) on commit drop as values (1)",
                "SELECT 1; CREATE TEMPORARY TABLE IF NOT EXISTS s.t (a \u{f8ff}named) ON COMMIT DROP AS VALUES (1)",
            ),
            ("CREATE TABLE t (a INT) AS SELECT 1", "CREATE TABLE t (a INT) AS SELECT 1"),
            ("CREATE TABLE t AS SELECT 1", "CREATE TABLE t AS SELECT 1"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(read("CREATE TABLE t (a, b)").is_err());
        assert!(read("CREATE TABLE t (a, b INT) AS SELECT 1, 2").is_err());
    }
}
