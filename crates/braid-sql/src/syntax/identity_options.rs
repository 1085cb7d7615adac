//! `AS IDENTITY (…)`: options of a sequence, which PostgreSQL takes in any order, and sqlparser in one.
//!
//! The option SEQUENCE NAME, which sqlparser does not read, goes into the value of CACHE ([`cache_and_name`]).

use sqlparser::ast::{Expr, Ident, ObjectName, Value, ValueWithSpan};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::MARK;
use super::words::is_keyword;

/// Between the names of a sequence: no name has it.
const SEPARATOR: char = '\0';

/// Before a name that was quoted.
const QUOTED: char = '"';

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
        name_into_cache(&mut tokens[options.clone()]);
        sort(&mut tokens[options]);
    }
    tokens
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// Puts the name of SEQUENCE NAME into the value of CACHE, which is added if it is not there.
fn name_into_cache(tokens: &mut [TokenWithSpan]) {
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !is_blank(&tokens[*at].token)).collect();
    let is = |at: usize, keyword| solid.get(at).is_some_and(|at| is_keyword(&tokens[*at].token, keyword));
    let Some(begin) = (0..solid.len()).find(|at| is(*at, Keyword::SEQUENCE) && is(at + 1, Keyword::NAME)) else {
        return;
    };
    let (mut names, mut end) = (Vec::new(), begin + 2);
    while let Some(Token::Word(word)) = solid.get(end).map(|at| &tokens[*at].token) {
        let quote = if word.quote_style.is_some() { QUOTED.to_string() } else { String::new() };
        names.push(quote + &word.value);
        end += 1;
        match solid.get(end).map(|at| &tokens[*at].token) {
            Some(Token::Period) => end += 1,
            _ => break,
        }
    }
    if names.is_empty() {
        return;
    }
    let names = names.join(&SEPARATOR.to_string());
    let cache = (0..solid.len()).find(|at| is(*at, Keyword::CACHE)).and_then(|at| solid.get(at + 1).copied());
    let number = match cache.map(|at| &tokens[at].token) {
        Some(Token::Number(number, _)) => number.clone(),
        Some(_) => return,
        None => String::new(),
    };
    for at in &solid[begin..end] {
        tokens[*at].token = Token::Whitespace(Whitespace::Space);
    }
    let value = Token::Placeholder(format!("{MARK}{number}{SEPARATOR}{names}"));
    match cache {
        Some(at) => tokens[at].token = value,
        None => {
            tokens[solid[begin]].token = Token::make_keyword("CACHE");
            tokens[solid[begin + 1]].token = value;
        }
    }
}

/// The number of a CACHE that has a name beside it, if it was written, and the name of SEQUENCE NAME; `None` for a plain number.
pub fn cache_and_name(cache: &Expr) -> Option<(Option<&str>, ObjectName)> {
    let Expr::Value(ValueWithSpan { value: Value::Placeholder(text), .. }) = cache else { return None };
    let mut parts = text.strip_prefix(MARK)?.split(SEPARATOR);
    let number = parts.next().filter(|number| !number.is_empty());
    let ident = |name: &str| match name.strip_prefix(QUOTED) {
        Some(name) => Ident::with_quote('"', name),
        None => Ident::new(name),
    };
    Some((number, ObjectName::from(parts.map(ident).collect::<Vec<_>>())))
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
    use sqlparser::ast::{AlterColumnOperation, AlterTable, AlterTableOperation, SequenceOptions, Statement};

    use super::*;
    use crate::syntax::{SqlDialect, parser_of, read_again as read};

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

    #[test]
    fn the_name_of_a_sequence_is_beside_its_cache() {
        for (options, number, name) in [
            ("(SEQUENCE NAME s.a START WITH 3)", None, "s.a"),
            ("(START 3 CACHE 5 SEQUENCE NAME \"A b\" NO CYCLE)", Some("5"), "\"A b\""),
        ] {
            let text = format!("ALTER TABLE t ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY {options}");
            let dialect = SqlDialect::for_text(&text);
            let parsed = parser_of(&dialect, &text).and_then(|mut parser| parser.parse_statement()).unwrap();
            let Statement::AlterTable(AlterTable { operations, .. }) = parsed else { panic!("{text}") };
            let [AlterTableOperation::AlterColumn { op, .. }] = &operations[..] else { panic!("{text}") };
            let AlterColumnOperation::AddGenerated { sequence_options: Some(options), .. } = op else {
                panic!("{text}")
            };
            let cache = options.iter().find_map(|option| match option {
                SequenceOptions::Cache(cache) => cache_and_name(cache),
                _ => None,
            });
            let cache = cache.map(|(number, name)| (number.map(str::to_owned), name.to_string()));
            assert_eq!(cache, Some((number.map(str::to_owned), name.to_owned())), "{text}");
        }
    }
}
