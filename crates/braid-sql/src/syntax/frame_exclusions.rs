//! `EXCLUDE` at the end of a frame, which sqlparser's grammar lacks.
//!
//! The syntax tree has no place for it. It goes into the name of the window that is extended, behind a character that no name has, or is a
//! name of its own: the tokens of `(w ROWS 1 PRECEDING EXCLUDE TIES)` become those of `(w… ROWS 1 PRECEDING)`. The binder
//! takes it out again ([`excluded`]). For a planner that does not, there is no window of such a name.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::MARK;

/// The words after which EXCLUDE ends a frame.
const BEFORE: &[&str] = &["row", "preceding", "following"];

/// The exclusions, by their words.
const EXCLUSIONS: &[&[&str]] = &[&["current", "row"], &["group"], &["ties"], &["no", "others"]];

/// The tokens with exclusions in names. In linear time but for names that are put into short windows.
pub(super) fn in_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(&token.token, "exclude")) {
        return tokens;
    }
    let mut read: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let found = open.last().zip(exclusion_at(&tokens[at..], &read));
        if let Some((open, (exclusion, count))) = found {
            put_into_name(&mut read, *open, exclusion);
            at += count;
            continue;
        }
        match token.token {
            Token::LParen => open.push(read.len()),
            Token::RParen => drop(open.pop()),
            _ => {}
        }
        read.push(token.clone());
        at += 1;
    }
    read
}

/// The words of an exclusion that begins here and ends the parentheses, and the number of its tokens.
fn exclusion_at(tokens: &[TokenWithSpan], before: &[TokenWithSpan]) -> Option<(&'static [&'static str], usize)> {
    tokens.first().filter(|token| is_word(&token.token, "exclude"))?;
    let last = before.iter().rev().find(|token| is_solid(token))?;
    if !BEFORE.iter().any(|word| is_word(&last.token, word)) {
        return None;
    }
    let rest = || tokens.iter().enumerate().skip(1).filter(|(_, token)| is_solid(token));
    EXCLUSIONS.iter().find_map(|words| {
        let are_there = rest().zip(words.iter()).filter(|((_, token), word)| is_word(&token.token, word)).count();
        let (end, closing) = rest().nth(words.len())?;
        (are_there == words.len() && closing.token == Token::RParen).then_some((*words, end))
    })
}

/// Puts an exclusion into the name behind a parenthesis.
fn put_into_name(read: &mut Vec<TokenWithSpan>, open: usize, exclusion: &[&str]) {
    let text = format!("{MARK}{}", exclusion.join(" "));
    let first = read.iter_mut().skip(open + 1).find(|token| is_solid(token));
    if let Some(Token::Word(name)) = first.map(|token| &mut token.token)
        && name.keyword == Keyword::NoKeyword
    {
        name.value.push_str(&text);
        return;
    }
    let name = Word { value: text, quote_style: None, keyword: Keyword::NoKeyword };
    let span = read[open].span;
    read.insert(open + 1, TokenWithSpan { token: Token::Word(name), span });
}

fn is_solid(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_))
}

fn is_word(token: &Token, text: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

/// The words of the exclusion in the name of a window, and the name without it, if there is one besides.
pub fn excluded(name: &Ident) -> Option<(Option<Ident>, &str)> {
    let (own, exclusion) = name.value.split_once(MARK)?;
    let own = (!own.is_empty()).then(|| Ident { value: own.to_owned(), ..name.clone() });
    Some((own, exclusion))
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{Expr, SelectItem, SetExpr, WindowType};

    use super::*;
    use crate::syntax::{SqlDialect, parser_of};

    /// The name of the only window, and what it excludes.
    fn read(window: &str) -> Result<(Option<String>, Option<String>), String> {
        let sql = format!("SELECT count(*) OVER ({window}) FROM t");
        let dialect = SqlDialect::for_text(&sql);
        let query = parser_of(&dialect, &sql).and_then(|mut parser| parser.parse_query()).map_err(|e| e.to_string())?;
        let SetExpr::Select(select) = *query.body else { panic!("{sql}") };
        let SelectItem::UnnamedExpr(Expr::Function(call)) = &select.projection[0] else { panic!("{sql}") };
        let Some(WindowType::WindowSpec(spec)) = &call.over else { panic!("{sql}") };
        Ok(match spec.window_name.as_ref().map(|name| (name, excluded(name))) {
            None => (None, None),
            Some((name, None)) => (Some(name.value.clone()), None),
            Some((_, Some((own, words)))) => (own.map(|own| own.value), Some(words.to_owned())),
        })
    }

    #[test]
    fn exclusions_are_read_at_the_end_of_frames() {
        for (window, name, words) in [
            ("ORDER BY a ROWS 1 PRECEDING EXCLUDE CURRENT ROW", None, Some("current row")),
            ("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW exclude /* so */ ties ", None, Some("ties")),
            ("w GROUPS BETWEEN (1) PRECEDING AND (1) FOLLOWING EXCLUDE GROUP", Some("w"), Some("group")),
            ("ORDER BY a ROWS 1 PRECEDING EXCLUDE NO OTHERS", None, Some("no others")),
            ("w ROWS 1 PRECEDING", Some("w"), None),
        ] {
            assert_eq!(read(window), Ok((name.map(str::to_owned), words.map(str::to_owned))), "{window}");
        }
        for window in ["ORDER BY a EXCLUDE TIES", "ROWS 1 PRECEDING EXCLUDE", "ROWS 1 PRECEDING EXCLUDE CURRENT"] {
            assert!(read(window).is_err(), "{window}");
        }
    }
}
