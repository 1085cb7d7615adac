//! TABLESAMPLE with any method and any arguments.
//!
//! sqlparser reads one expression behind TABLESAMPLE, and a number as a seed. So `TABLESAMPLE m (a, b) REPEATABLE (c)` is read as
//! `TABLESAMPLE (m (a, b, seed (c)))`, with a mark before the name of the seed.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::MARK;
use super::words::is_keyword;

/// The name behind [`MARK`].
const SEED: &str = "seed";

/// The tokens with samples as calls. In linear time.
pub(super) fn as_calls(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::TABLESAMPLE)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut further: Vec<(usize, Token)> = Vec::new();
    // For each parenthesis that is open, what it encloses.
    let mut open = Vec::new();
    let mut starts = None;
    for at in 0..solid.len() {
        let next = |ahead: usize| solid.get(at + ahead).map(|at| &tokens[*at].token);
        match next(0) {
            _ if starts_sample(at, &solid, &tokens) => starts = solid.get(at + 1).copied(),
            Some(Token::LParen) => match starts.take() {
                Some(name) => {
                    further.push((name, Token::LParen));
                    open.push(Within::Arguments);
                }
                None => open.push(if is_seed(at, &solid, &tokens) { Within::Seed } else { Within::Other }),
            },
            Some(Token::RParen) => match open.pop() {
                Some(Within::Arguments)
                    if next(1).is_some_and(|token| is_keyword(token, Keyword::REPEATABLE))
                        && next(2) == Some(&Token::LParen) =>
                {
                    let word = Word { value: format!("{MARK}{SEED}"), quote_style: None, keyword: Keyword::NoKeyword };
                    tokens[solid[at]].token = Token::Comma;
                    tokens[solid[at + 1]].token = Token::Word(word);
                }
                Some(Within::Arguments) => further.push((solid[at], Token::RParen)),
                Some(Within::Seed) => further.extend([(solid[at], Token::RParen), (solid[at], Token::RParen)]),
                Some(Within::Other) | None => {}
            },
            _ => {}
        }
    }
    with_further(tokens, further)
}

/// What a parenthesis encloses.
enum Within {
    /// The arguments of a sample's method.
    Arguments,
    /// Its seed.
    Seed,
    Other,
}

/// Whether TABLESAMPLE stands here, with the name of a method and a parenthesis behind it.
fn starts_sample(at: usize, solid: &[usize], tokens: &[TokenWithSpan]) -> bool {
    let token = |at: usize| solid.get(at).map(|at| &tokens[*at].token);
    let is_name = at > 0 && (matches!(token(at - 1), Some(Token::Period)) || is_word(token(at - 1), Keyword::AS));
    if !is_word(token(at), Keyword::TABLESAMPLE) || is_name {
        return false;
    }
    let mut end = at + 1;
    while let (Some(Token::Word(_)), Some(Token::Period)) = (token(end), token(end + 1)) {
        end += 2;
    }
    matches!(token(end), Some(Token::Word(_))) && token(end + 1) == Some(&Token::LParen)
}

fn is_word(token: Option<&Token>, keyword: Keyword) -> bool {
    token.is_some_and(|token| is_keyword(token, keyword))
}

/// Whether a parenthesis opens behind the mark of a seed.
fn is_seed(at: usize, solid: &[usize], tokens: &[TokenWithSpan]) -> bool {
    let before = at.checked_sub(1).map(|at| &tokens[solid[at]].token);
    matches!(before, Some(Token::Word(word)) if word.value.strip_prefix(MARK) == Some(SEED))
}

/// The tokens with further ones: an opening parenthesis before a token, a closing one behind it.
fn with_further(tokens: Vec<TokenWithSpan>, further: Vec<(usize, Token)>) -> Vec<TokenWithSpan> {
    let mut read = Vec::with_capacity(tokens.len() + further.len());
    let mut further = further.into_iter().peekable();
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        if let Some((_, open)) = further.next_if(|(place, further)| *place == at && *further == Token::LParen) {
            read.push(TokenWithSpan::new(open, span));
        }
        read.push(token);
        while let Some((_, close)) = further.next_if(|(place, _)| *place == at) {
            read.push(TokenWithSpan::new(close, span));
        }
    }
    read
}

/// What a sample says: its method, the method's arguments, and its seed.
#[derive(Clone, Copy, Debug)]
pub struct SampleSyntax<'a> {
    /// The name of the method.
    pub method: &'a [ObjectNamePart],
    /// Its arguments.
    pub arguments: &'a [FunctionArg],
    /// The expression in REPEATABLE.
    pub seed: Option<&'a Expr>,
}

/// The sample that an expression behind TABLESAMPLE stands for; `None` if it is none.
pub fn sample_of(expression: &Expr) -> Option<SampleSyntax<'_>> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, filter: None, .. }) =
        expression
    else {
        return None;
    };
    if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return None;
    }
    let (seed, arguments) = match list.args.split_last() {
        Some((last, arguments)) if seed_of(last).is_some() => (seed_of(last), arguments),
        _ => (None, &list.args[..]),
    };
    Some(SampleSyntax { method: &name.0, arguments, seed })
}

fn seed_of(argument: &FunctionArg) -> Option<&Expr> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))) = argument else { return None };
    let [ObjectNamePart::Identifier(Ident { value, .. })] = &call.name.0[..] else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    match &list.args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(seed))] if value.strip_prefix(MARK) == Some(SEED) => Some(seed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn samples_are_calls_of_their_methods() {
        for (from, expected) in [
            ("t TABLESAMPLE bernoulli (10)", "t TABLESAMPLE (bernoulli(10))"),
            (
                "t AS a TABLESAMPLE SYSTEM (1 + 2) REPEATABLE (f(3))",
                "t AS a TABLESAMPLE (SYSTEM(1 + 2, \u{f8ff}seed(f(3))))",
            ),
            ("t TABLESAMPLE p.m (1, (2)), u", "t TABLESAMPLE (p.m(1, (2))), u"),
            (
                "t TABLESAMPLE m ((SELECT 1 FROM u TABLESAMPLE n (2) REPEATABLE (3))) REPEATABLE (4)",
                "t TABLESAMPLE (m((SELECT 1 FROM u TABLESAMPLE (n(2, \u{f8ff}seed(3)))), \u{f8ff}seed(4)))",
            ),
        ] {
            let read = read(&format!("SELECT 1 FROM {from} WHERE f"));
            assert_eq!(read, Ok(format!("SELECT 1 FROM {expected} WHERE f")), "{from}");
        }
        assert_eq!(read("SELECT 1 AS tablesample"), Ok("SELECT 1 AS tablesample".to_owned()));
    }
}
