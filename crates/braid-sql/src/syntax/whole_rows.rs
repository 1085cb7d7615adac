//! `t.*` where an expression stands: the row as a value, or its columns among the members of a row.
//!
//! sqlparser reads it only as an item of a select list or as an argument. The star becomes a name behind a character that no name has, so that
//! `t.*` is a column of this name ([`WHOLE_ROW`]). It stays a star where it is an item of a select list, of RETURNING, or of anything else
//! that is not within the parentheses of an expression, and no operator stands beside it. In `(a).*` it is a name everywhere.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The column that stands for a relation's row.
pub const WHOLE_ROW: &str = "\u{f8ff}*";

/// Words before and after which an operand stands.
const OPERATOR_WORDS: &[Keyword] = &[Keyword::IS, Keyword::IN, Keyword::BETWEEN, Keyword::NOT, Keyword::COLLATE];

/// The words before the right operand of IS DISTINCT FROM.
const DISTINCT_FROM: [Keyword; 2] = [Keyword::DISTINCT, Keyword::FROM];

/// Words behind an opening parenthesis with which a query begins.
const QUERY_WORDS: &[Keyword] = &[Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::TABLE];

/// The tokens with names for the stars of rows. In linear time.
pub(super) fn as_columns(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| token.token == Token::Period) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let token =
        |at: Option<usize>| at.and_then(|at| solid.get(at)).map_or(&Token::EOF, |at: &usize| &tokens[*at].token);
    let mut rows = Vec::new();
    // Whether each open parenthesis is one of an expression.
    let mut is_expression = Vec::new();
    for at in 0..solid.len() {
        match &tokens[solid[at]].token {
            Token::LParen | Token::LBracket => {
                let begins_query =
                    matches!(token(Some(at + 1)), Token::Word(word) if QUERY_WORDS.contains(&word.keyword));
                // The name of an operator is no star: `OPERATOR(pg_catalog.*)`.
                let is_name =
                    at > 0 && matches!(token(Some(at - 1)), Token::Word(word) if word.keyword == Keyword::OPERATOR);
                is_expression.push(!begins_query && !is_name);
            }
            Token::RParen | Token::RBracket => drop(is_expression.pop()),
            Token::Mul if at >= 2 && *token(Some(at - 1)) == Token::Period => {
                let mut first = at - 2;
                while first >= 2 && *token(Some(first - 1)) == Token::Period {
                    first -= 2;
                }
                let is_operand = matches!(token(Some(at - 2)), Token::RParen | Token::RBracket)
                    || is_expression.last() == Some(&true)
                    || is_operator(token(Some(at + 1)))
                    || is_operator(token(first.checked_sub(1)))
                    || DISTINCT_FROM.iter().zip([2, 1]).all(|(word, before)| {
                        matches!(token(first.checked_sub(before)), Token::Word(own) if own.keyword == *word)
                    });
                if is_operand {
                    rows.push(solid[at]);
                }
            }
            _ => {}
        }
    }
    for row in rows {
        let name = Word { value: WHOLE_ROW.to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
        tokens[row].token = Token::Word(name);
    }
    tokens
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::DoubleColon
        | Token::StringConcat => true,
        Token::Word(word) => word.quote_style.is_none() && OPERATOR_WORDS.contains(&word.keyword),
        _ => false,
    }
}
