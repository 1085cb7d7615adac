//! Reads paths (`jsonpath_gram.y`): what computes values and what is true or false are told apart here.

use std::sync::Arc;

use super::invalid_input;
use super::json_path_tokens::{PathToken, PathTokens, syntax_error};
use crate::values::json_path::{Chain, JsonPath, PathFlags, PathItem, PathOperator};
use crate::{SqlError, SqlState};

/// The most items within each other and after each other. Running a path recurses as deeply.
const DEPTH_MAX: usize = 200;

/// A path from its text.
pub fn parse_json_path(text: &str) -> Result<JsonPath, SqlError> {
    let mut parser = Parser {
        tokens: PathTokens::new(text),
        token: PathToken::End,
        token_text: "",
        depth: 0,
        filters: 0,
        subscripts: 0,
    };
    parser.advance()?;
    if parser.token == PathToken::End {
        return Err(invalid_input("jsonpath", text));
    }
    let is_lax = !parser.take_word("strict")?;
    if is_lax {
        parser.take_word("lax")?;
    }
    let read = parser.alternatives()?;
    match parser.token {
        PathToken::End => Ok(JsonPath { is_lax, chain: read.chain }),
        _ => Err(parser.unexpected()),
    }
}

/// What a part of a path is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Values.
    Values,
    /// A predicate.
    Predicate,
    /// A predicate in parentheses.
    Enclosed,
}

/// A part of a path.
pub(super) struct Read {
    pub(super) chain: Chain,
    pub(super) kind: Kind,
}

impl Read {
    pub(super) fn values(item: PathItem) -> Self {
        Self { chain: vec![item], kind: Kind::Values }
    }

    pub(super) fn predicate(item: PathItem) -> Self {
        Self { chain: vec![item], kind: Kind::Predicate }
    }
}

/// Reads a path.
pub(super) struct Parser<'a> {
    tokens: PathTokens<'a>,
    pub(super) token: PathToken,
    token_text: &'a str,
    /// Items around the token and before it.
    pub(super) depth: usize,
    /// Filters and subscripts around the token.
    pub(super) filters: usize,
    pub(super) subscripts: usize,
}

impl Parser<'_> {
    pub(super) fn advance(&mut self) -> Result<(), SqlError> {
        (self.token, self.token_text) = self.tokens.next()?;
        Ok(())
    }

    pub(super) fn unexpected(&self) -> SqlError {
        syntax_error("syntax error", self.token_text)
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(&self.token, PathToken::Sign(own) if *own == sign)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> Result<bool, SqlError> {
        let is_there = self.is_sign(sign);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Result<(), SqlError> {
        if self.take_sign(sign)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A keyword. Only `true`, `false` and `null` must be in small letters.
    pub(super) fn take_word(&mut self, word: &str) -> Result<bool, SqlError> {
        let is_there = matches!(&self.token, PathToken::Word(own) if own.eq_ignore_ascii_case(word));
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn expect_word(&mut self, word: &str) -> Result<(), SqlError> {
        if self.take_word(word)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Enters one level of nesting. Levels are left where the one around them is.
    pub(super) fn enter(&mut self) -> Result<(), SqlError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let hint =
                format!("A value of type jsonpath may have {DEPTH_MAX} items after each other and within each other.");
            return Err(SqlError::new(SqlState::StatementTooComplex, "stack depth limit exceeded").with_hint(hint));
        }
        Ok(())
    }

    pub(super) fn require(&self, read: Read, is_predicate: bool) -> Result<Chain, SqlError> {
        if (read.kind != Kind::Values) == is_predicate { Ok(read.chain) } else { Err(self.unexpected()) }
    }

    /// `a || b`
    pub(super) fn alternatives(&mut self) -> Result<Read, SqlError> {
        let depth = self.depth;
        let mut left = self.conjunction()?;
        while self.is_sign("||") {
            let operand = self.require(left, true)?;
            self.advance()?;
            self.enter()?;
            let right = self.conjunction()?;
            let right = self.require(right, true)?;
            left = Read::predicate(PathItem::Binary(PathOperator::Or, Box::new([operand, right])));
        }
        self.depth = depth;
        Ok(left)
    }

    /// `a && b`
    fn conjunction(&mut self) -> Result<Read, SqlError> {
        let mut left = self.comparison()?;
        while self.is_sign("&&") {
            let operand = self.require(left, true)?;
            self.advance()?;
            self.enter()?;
            let right = self.comparison()?;
            let right = self.require(right, true)?;
            left = Read::predicate(PathItem::Binary(PathOperator::And, Box::new([operand, right])));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Read, SqlError> {
        let left = self.sum()?;
        if left.kind != Kind::Values {
            return Ok(left);
        }
        if self.take_word("starts")? {
            self.expect_word("with")?;
            let initial = match &self.token {
                PathToken::String(string) => PathItem::String(Arc::clone(string)),
                PathToken::Variable(name) => PathItem::Variable(Arc::clone(name)),
                _ => return Err(self.unexpected()),
            };
            self.advance()?;
            let operands = Box::new([left.chain, vec![initial]]);
            return Ok(Read::predicate(PathItem::Binary(PathOperator::StartsWith, operands)));
        }
        if self.take_word("like_regex")? {
            let pattern = self.expect_string()?;
            let flags = if self.take_word("flag")? { flags(&self.expect_string()?)? } else { PathFlags::default() };
            return Ok(Read::predicate(PathItem::LikeRegex(left.chain, pattern, flags)));
        }
        let operator = match &self.token {
            PathToken::Sign("==") => PathOperator::Equal,
            PathToken::Sign("!=" | "<>") => PathOperator::NotEqual,
            PathToken::Sign("<") => PathOperator::Less,
            PathToken::Sign("<=") => PathOperator::LessOrEqual,
            PathToken::Sign(">") => PathOperator::Greater,
            PathToken::Sign(">=") => PathOperator::GreaterOrEqual,
            _ => return Ok(left),
        };
        self.advance()?;
        self.enter()?;
        let right = self.sum()?;
        let right = self.require(right, false)?;
        Ok(Read::predicate(PathItem::Binary(operator, Box::new([left.chain, right]))))
    }

    pub(super) fn expect_string(&mut self) -> Result<Arc<str>, SqlError> {
        let PathToken::String(string) = &self.token else { return Err(self.unexpected()) };
        let string = Arc::clone(string);
        self.advance()?;
        Ok(string)
    }

    /// `a + b`
    pub(super) fn sum(&mut self) -> Result<Read, SqlError> {
        let operators = [("+", PathOperator::Add), ("-", PathOperator::Subtract)];
        self.operations(&operators, Self::product)
    }

    /// `a * b`
    fn product(&mut self) -> Result<Read, SqlError> {
        let operators = [("*", PathOperator::Multiply), ("/", PathOperator::Divide), ("%", PathOperator::Remainder)];
        self.operations(&operators, Self::signed)
    }

    fn operations(
        &mut self,
        operators: &[(&str, PathOperator)],
        operand: fn(&mut Self) -> Result<Read, SqlError>,
    ) -> Result<Read, SqlError> {
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.is_sign(sign)) {
            let one = self.require(left, false)?;
            self.advance()?;
            self.enter()?;
            let right = operand(self)?;
            let right = self.require(right, false)?;
            left = Read::values(PathItem::Binary(*operator, Box::new([one, right])));
        }
        Ok(left)
    }

    /// `-a`. The sign of a number belongs to it.
    fn signed(&mut self) -> Result<Read, SqlError> {
        let is_minus = self.is_sign("-");
        if !is_minus && !self.is_sign("+") {
            return self.accessed();
        }
        self.advance()?;
        self.enter()?;
        let operand = self.signed()?;
        let operand = self.require(operand, false)?;
        Ok(match &operand[..] {
            [PathItem::Number(number)] if is_minus => Read::values(PathItem::Number(number.negated())),
            [PathItem::Number(_)] => Read { chain: operand, kind: Kind::Values },
            _ => Read::values(PathItem::Sign(is_minus, operand)),
        })
    }

    /// A first item with what is applied to it.
    fn accessed(&mut self) -> Result<Read, SqlError> {
        let mut read = self.primary()?;
        if read.kind == Kind::Enclosed && self.take_word("is")? {
            self.expect_word("unknown")?;
            return Ok(Read::predicate(PathItem::IsUnknown(read.chain)));
        }
        while read.kind != Kind::Predicate {
            let Some(item) = self.accessor()? else { break };
            read.chain.push(item);
            read.kind = Kind::Values;
        }
        Ok(read)
    }
}

/// The flags of `like_regex`.
fn flags(letters: &str) -> Result<PathFlags, SqlError> {
    let mut flags = PathFlags::default();
    for letter in letters.chars() {
        match letter {
            'i' => flags.ignores_case = true,
            's' => flags.dot_matches_newline = true,
            'm' => flags.anchors_at_newline = true,
            'x' => flags.is_expanded = true,
            'q' => flags.is_literal = true,
            letter => {
                let detail = format!("Unrecognized flag character \"{letter}\" in LIKE_REGEX predicate.");
                let message = "invalid input syntax for type jsonpath";
                return Err(SqlError::new(SqlState::SyntaxError, message).with_detail(detail));
            }
        }
    }
    Ok(flags)
}
