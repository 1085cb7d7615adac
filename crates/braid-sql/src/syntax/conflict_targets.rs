//! `ON CONFLICT (lower(a), b) WHERE c`: targets with expressions and conditions.
//!
//! sqlparser reads only columns there. Another target becomes a mark in the place of a column, with its text ([`conflict_target`]).

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;

/// The tokens with a mark for each such target. In linear time.
pub(super) fn as_marks(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::CONFLICT)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut at = 0;
    while at + 2 < solid.len() {
        let is = |place: usize, keyword| is_keyword(&tokens[solid[place]].token, keyword);
        if !(is(at, Keyword::ON) && is(at + 1, Keyword::CONFLICT) && tokens[solid[at + 2]].token == Token::LParen) {
            at += 1;
            continue;
        }
        let Some(end) = end_of_target(&tokens, &solid, at + 2) else { return tokens };
        let (first, last) = (solid[at + 3], solid[end - 1]);
        if !is_list_of_columns(&tokens, &solid[at + 3..end]) {
            let text: String = tokens[solid[at + 2]..=last].iter().map(|token| token.token.to_string()).collect();
            let mark = Word { value: format!("{MARK}{text}"), quote_style: None, keyword: Keyword::NoKeyword };
            tokens[first].token = Token::Word(mark);
            for token in &mut tokens[first + 1..last] {
                token.token = Token::Whitespace(Whitespace::Space);
            }
            if first < last {
                tokens[last].token = Token::RParen;
            }
        }
        at = end;
    }
    tokens
}

/// The place of DO, which ends a target, among the tokens that are no whitespace.
fn end_of_target(tokens: &[TokenWithSpan], solid: &[usize], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (place, at) in solid.iter().enumerate().skip(from) {
        match &tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::SemiColon => return None,
            token if depth == 0 && is_keyword(token, Keyword::DO) => return (place > from + 2).then_some(place),
            _ => {}
        }
    }
    None
}

/// Whether a target is as sqlparser reads it, behind its parenthesis.
fn is_list_of_columns(tokens: &[TokenWithSpan], target: &[usize]) -> bool {
    let Some((last, names)) = target.split_last() else { return true };
    let is_name = |at: &usize| matches!(tokens[*at].token, Token::Word(_));
    let is_comma = |at: &usize| tokens[*at].token == Token::Comma;
    let alternate = names.iter().enumerate().all(|(place, at)| if place % 2 == 0 { is_name(at) } else { is_comma(at) });
    tokens[*last].token == Token::RParen && names.len() % 2 == 1 && alternate
}

/// The text of a target that is not a list of columns, by what stands in place of its columns.
pub fn conflict_target(columns: &[Ident]) -> Option<&str> {
    match columns {
        [only] => only.value.strip_prefix(MARK),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{ConflictTarget, Insert, OnConflict, OnInsert, Statement};

    use super::*;
    use crate::syntax::{SqlDialect, parser_of};

    /// The text of a target, or the names of its columns.
    fn target(text: &str) -> Result<String, Vec<String>> {
        let text = format!("INSERT INTO t VALUES (1) ON CONFLICT {text}");
        let dialect = SqlDialect::for_text(&text);
        let parsed = parser_of(&dialect, &text).and_then(|mut parser| parser.parse_statement());
        let Ok(Statement::Insert(Insert { on: Some(OnInsert::OnConflict(on)), .. })) = parsed else { panic!("{text}") };
        let OnConflict { conflict_target: Some(ConflictTarget::Columns(columns)), .. } = on else { panic!("{text}") };
        let text = conflict_target(&columns).map(str::to_owned);
        text.ok_or_else(|| columns.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn other_targets_than_columns_are_texts() {
        assert_eq!(target("(a, \"B c\") DO NOTHING"), Err(vec!["a".to_owned(), "\"B c\"".to_owned()]));
        for (written, text) in [
            ("(lower(a), b) DO UPDATE SET a = 1", "(lower(a), b)"),
            ("(a) WHERE b > 0 AND c = 'do' DO NOTHING", "(a) WHERE b > 0 AND c = 'do'"),
            ("((a || b)) DO NOTHING", "((a || b))"),
            ("( a  text_pattern_ops ) DO NOTHING", "( a  text_pattern_ops )"),
        ] {
            assert_eq!(target(written).as_deref(), Ok(text));
        }
    }
}
