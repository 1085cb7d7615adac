//! What is applied to the values of a path: keys, subscripts, filters, methods.

use std::sync::Arc;

use super::json_path::Parser;
use super::json_path_tokens::PathToken;
use super::numbers::parse_integer;
use crate::SqlError;
use crate::values::json_path::{LEAVES, PathItem, PathMethod};

impl Parser<'_> {
    /// What is applied to values; `None` if there is no more.
    pub(super) fn accessor(&mut self) -> Result<Option<PathItem>, SqlError> {
        let item = match &self.token {
            PathToken::Sign(".") => {
                self.advance()?;
                self.member()?
            }
            PathToken::Sign("[") => {
                self.advance()?;
                self.subscripted()?
            }
            PathToken::Sign("?") => {
                self.advance()?;
                self.expect_sign("(")?;
                self.filters += 1;
                let depth = self.depth;
                self.enter()?;
                let predicate = self.alternatives()?;
                let predicate = self.require(predicate, true)?;
                self.filters -= 1;
                self.depth = depth;
                self.expect_sign(")")?;
                PathItem::Filter(predicate)
            }
            _ => return Ok(None),
        };
        self.enter()?;
        Ok(Some(item))
    }

    /// What follows a dot.
    fn member(&mut self) -> Result<PathItem, SqlError> {
        let key = match &self.token {
            PathToken::Sign("*") => {
                self.advance()?;
                return Ok(PathItem::AnyKey);
            }
            PathToken::Sign("**") => {
                self.advance()?;
                return self.descendants();
            }
            PathToken::String(string) => {
                let key = PathItem::Key(Arc::clone(string));
                self.advance()?;
                return Ok(key);
            }
            PathToken::Word(word) => Arc::clone(word),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        let is_call = self.is_sign("(");
        let method = match &*key.to_ascii_lowercase() {
            _ if !is_call => return Ok(PathItem::Key(key)),
            "abs" => PathMethod::Abs,
            "ceiling" => PathMethod::Ceiling,
            "double" => PathMethod::Double,
            "floor" => PathMethod::Floor,
            "keyvalue" => PathMethod::KeyValue,
            "size" => PathMethod::Size,
            "type" => PathMethod::Type,
            "datetime" => {
                self.advance()?;
                let template = if self.is_sign(")") { None } else { Some(self.expect_string()?) };
                self.expect_sign(")")?;
                return Ok(PathItem::Datetime(template));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        self.expect_sign(")")?;
        Ok(PathItem::Method(method))
    }

    /// `{first to last}` after `**`
    fn descendants(&mut self) -> Result<PathItem, SqlError> {
        if !self.take_sign("{")? {
            return Ok(PathItem::Descendants(0, LEAVES));
        }
        let first = self.level()?;
        let last = if self.take_word("to")? { self.level()? } else { first };
        self.expect_sign("}")?;
        Ok(PathItem::Descendants(first, last))
    }

    fn level(&mut self) -> Result<u32, SqlError> {
        let level = match &self.token {
            PathToken::Integer(text, _) => parse_integer::<i32>(text, "integer")?.unsigned_abs(),
            PathToken::Word(word) if word.eq_ignore_ascii_case("last") => LEAVES,
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(level)
    }

    /// `*]`, or subscripts.
    fn subscripted(&mut self) -> Result<PathItem, SqlError> {
        if self.take_sign("*")? {
            self.expect_sign("]")?;
            return Ok(PathItem::AnyElement);
        }
        self.subscripts += 1;
        let depth = self.depth;
        self.enter()?;
        let mut elements = Vec::new();
        loop {
            let first = self.sum()?;
            let first = self.require(first, false)?;
            let mut last = None;
            if self.take_word("to")? {
                let read = self.sum()?;
                last = Some(self.require(read, false)?);
            }
            elements.push((first, last));
            self.depth = depth + 1;
            if !self.take_sign(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        self.depth = depth;
        self.expect_sign("]")?;
        Ok(PathItem::Elements(elements))
    }
}
