//! `SELECT` without a select list: `SELECT`, `EXISTS (SELECT WHERE a)`. sqlparser leaves the list out before FROM only: elsewhere a mark
//! stands for it, which is no column.

use sqlparser::ast::SelectItem;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;

/// The name behind [`MARK`].
const NO_COLUMNS: &str = "no columns";

/// What comes behind a select list. All of these words are reserved.
const NEXT: &[Keyword] = &[
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
    Keyword::INTO,
];

/// The tokens with the mark behind each SELECT, or SELECT ALL, that has no list and no FROM behind it. In linear time.
pub(super) fn as_marks(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let word = |at: usize, keyword| solid.get(at).is_some_and(|at| is_keyword(&tokens[*at].token, keyword));
    let ends = |at: usize| match solid.get(at).map(|at| &tokens[*at].token) {
        None | Some(Token::EOF | Token::SemiColon | Token::RParen) => true,
        Some(token) => NEXT.iter().any(|keyword| is_keyword(token, *keyword)),
    };
    // Behind these it may be a name: a list in CREATE TABLE AS is written.
    let is_name = |at: usize| at > 0 && (word(at - 1, Keyword::AS) || tokens[solid[at - 1]].token == Token::Period);
    let mut marked: Vec<usize> = Vec::new();
    for at in (0..solid.len()).filter(|at| word(*at, Keyword::SELECT)) {
        let last = if word(at + 1, Keyword::ALL) { at + 1 } else { at };
        if ends(last + 1) && !is_name(at) {
            marked.push(solid[last]);
        }
    }
    if marked.is_empty() {
        return tokens;
    }
    let mut marked = marked.into_iter().peekable();
    let mut read = Vec::with_capacity(tokens.len() + 2);
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        read.push(token);
        if marked.next_if_eq(&at).is_some() {
            let mark = Word { value: format!("{MARK}{NO_COLUMNS}"), quote_style: None, keyword: Keyword::NoKeyword };
            let added = [Token::Whitespace(Whitespace::Space), Token::Word(mark)];
            read.extend(added.map(|token| TokenWithSpan::new(token, span)));
        }
    }
    read
}

/// Whether an item of a select list stands for an empty list.
pub fn is_no_columns(item: &SelectItem) -> bool {
    let SelectItem::UnnamedExpr(sqlparser::ast::Expr::Identifier(name)) = item else { return false };
    name.value.strip_prefix(MARK) == Some(NO_COLUMNS)
}

#[cfg(test)]
mod tests {
    use crate::syntax::{MARK, read_again as read};

    #[test]
    fn empty_lists_have_a_mark() {
        let mark = format!("{MARK}no columns");
        for (text, expected) in [
            ("SELECT", format!("SELECT {mark}")),
            ("SELECT ALL WHERE a", format!("SELECT ALL {mark} WHERE a")),
            ("SELECT EXISTS (SELECT)", format!("SELECT EXISTS (SELECT {mark})")),
            ("SELECT UNION SELECT LIMIT 1", format!("SELECT {mark} UNION SELECT {mark} LIMIT 1")),
            ("SELECT FROM t", "SELECT FROM t".to_owned()),
            ("SELECT a AS \"select\" FROM t", "SELECT a AS \"select\" FROM t".to_owned()),
            ("CREATE TABLE t AS SELECT 1", "CREATE TABLE t AS SELECT 1".to_owned()),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        assert!(read("VALUES ()").is_err());
    }
}
