//! How deep the tree of a text could become, as far as its tokens tell.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{DEPTH_MAX, TOKENS_IN_A_ROW_MAX, within};
use crate::EngineError;

/// Fails where the tree of these tokens could be too deep to be parsed and dropped again.
pub(crate) fn check_tokens(tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    let mut nesting = Nesting { levels: vec![Level::default()], depth: 0 };
    for TokenWithSpan { token, .. } in tokens {
        if !matches!(token, Token::Whitespace(_)) {
            nesting.read(token)?;
        }
    }
    Ok(())
}

/// How deep the tree is that the parser is about to make, as far as tokens tell.
struct Nesting {
    /// Open parentheses, and the text around them.
    levels: Vec<Level>,
    /// Of all levels together.
    depth: usize,
}

#[derive(Default)]
struct Level {
    /// Tokens since the last comma.
    in_a_row: usize,
    /// CASEs without their END.
    open_cases: usize,
    /// Signs and NOTs right before this place.
    prefixes: usize,
}

impl Nesting {
    fn read(&mut self, token: &Token) -> Result<(), EngineError> {
        let keyword = match token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match token {
            Token::LParen | Token::LBracket => {
                self.levels.push(Level::default());
                self.depth += 1;
                return within("levels of expressions and subqueries", self.depth, DEPTH_MAX);
            }
            Token::RParen | Token::RBracket if self.levels.len() > 1 => {
                let closed = self.levels.pop().unwrap_or_default();
                self.depth -= 1 + closed.open_cases + closed.prefixes;
                return Ok(());
            }
            _ => {}
        }
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        match token {
            Token::Minus | Token::Plus | Token::Tilde => level.prefix(&mut self.depth),
            _ if keyword == Keyword::NOT => level.prefix(&mut self.depth),
            Token::Comma | Token::SemiColon => {
                level.end_of_prefixes(&mut self.depth);
                level.in_a_row = 0;
            }
            _ => {
                level.end_of_prefixes(&mut self.depth);
                level.in_a_row += 1;
                match keyword {
                    Keyword::CASE => {
                        level.open_cases += 1;
                        self.depth += 1;
                    }
                    Keyword::END if level.open_cases > 0 => {
                        level.open_cases -= 1;
                        self.depth -= 1;
                    }
                    _ => {}
                }
            }
        }
        within("words and operators in a row", level.in_a_row, TOKENS_IN_A_ROW_MAX)?;
        within("levels of expressions and subqueries", self.depth, DEPTH_MAX)
    }
}

impl Level {
    fn prefix(&mut self, depth: &mut usize) {
        self.in_a_row += 1;
        self.prefixes += 1;
        *depth += 1;
    }

    fn end_of_prefixes(&mut self, depth: &mut usize) {
        *depth -= std::mem::take(&mut self.prefixes);
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn check_text(sql: &str) -> Result<(), EngineError> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        check_tokens(&tokens)
    }

    #[test]
    fn tokens_count_from_the_last_comma_of_their_parentheses() {
        let sum = |terms: usize| vec!["1"; terms].join("+");
        assert!(check_text(&format!("select {}", sum(TOKENS_IN_A_ROW_MAX / 2 - 1))).is_ok());
        let error = check_text(&format!("select {}", sum(TOKENS_IN_A_ROW_MAX / 2 + 1))).unwrap_err();
        assert_eq!(error.sqlstate(), "54001");
        let half = sum(TOKENS_IN_A_ROW_MAX / 4);
        assert!(check_text(&format!("select {half}, {half}, ({half}), ({half}); select {half}")).is_ok());
        assert!(check_text("select 1)))), 1 end end").is_ok(), "what is wrong otherwise is the parser's to say");
    }

    #[test]
    fn tokens_tell_the_depth() {
        for (open, close) in
            [("(", ")"), ("array[", "]"), ("- ", ""), ("not not ", ""), ("case when a then 1 else ", " end")]
        {
            let nested = |levels: usize| format!("select {}1{} - 1", open.repeat(levels), close.repeat(levels));
            let per_level = if open.contains("not") { 2 } else { 1 };
            assert!(check_text(&nested(DEPTH_MAX / per_level)).is_ok(), "{open}");
            assert!(check_text(&nested(DEPTH_MAX / per_level + 1)).is_err(), "{open}");
            let again = vec![nested(DEPTH_MAX / per_level); 3].join("; ");
            assert!(check_text(&again).is_ok(), "{open}");
        }
    }
}
