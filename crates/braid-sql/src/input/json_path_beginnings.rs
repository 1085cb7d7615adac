//! What a path begins with: `$`, `@`, literals, variables, parentheses, and predicates that begin with a word or a sign.

use std::sync::Arc;

use super::json_path::{Kind, Parser, Read};
use super::json_path_tokens::PathToken;
use crate::values::json_path::PathItem;
use crate::{SqlError, SqlState};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Read, SqlError> {
        let item = match &self.token {
            PathToken::String(string) => PathItem::String(Arc::clone(string)),
            PathToken::Variable(name) => PathItem::Variable(Arc::clone(name)),
            PathToken::Integer(_, number) | PathToken::Number(number) => PathItem::Number(number.clone()),
            PathToken::Sign("$") => PathItem::Root,
            PathToken::Sign("@") if self.filters > 0 => PathItem::Current,
            PathToken::Sign("@") => {
                return Err(SqlError::new(SqlState::SyntaxError, "@ is not allowed in root expressions"));
            }
            PathToken::Sign("(") => return self.enclosed(),
            PathToken::Sign("!") => return self.negated(),
            PathToken::Word(word) => match &*word.to_ascii_lowercase() {
                "null" if &**word == "null" => PathItem::Null,
                "true" if &**word == "true" => PathItem::Bool(true),
                "false" if &**word == "false" => PathItem::Bool(false),
                "last" if self.subscripts > 0 => PathItem::Last,
                "last" => {
                    let message = "LAST is allowed only in array subscripts";
                    return Err(SqlError::new(SqlState::SyntaxError, message));
                }
                "exists" => return self.exists(),
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(Read::values(item))
    }

    /// Something in parentheses.
    fn enclosed(&mut self) -> Result<Read, SqlError> {
        self.expect_sign("(")?;
        self.enter()?;
        let inner = self.alternatives()?;
        self.expect_sign(")")?;
        let kind = if inner.kind == Kind::Values { Kind::Values } else { Kind::Enclosed };
        Ok(Read { chain: inner.chain, kind })
    }

    fn exists(&mut self) -> Result<Read, SqlError> {
        self.advance()?;
        let inner = self.enclosed()?;
        let inner = self.require(inner, false)?;
        Ok(Read::predicate(PathItem::Exists(inner)))
    }

    /// `!(predicate)`, `!exists(path)`
    fn negated(&mut self) -> Result<Read, SqlError> {
        self.advance()?;
        self.enter()?;
        let operand = match &self.token {
            PathToken::Sign("(") => self.enclosed()?,
            PathToken::Word(word) if word.eq_ignore_ascii_case("exists") => self.exists()?,
            _ => return Err(self.unexpected()),
        };
        let operand = self.require(operand, true)?;
        Ok(Read::predicate(PathItem::Not(operand)))
    }
}
