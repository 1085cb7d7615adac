//! The values of `jsonpath`: chains of a first value and what is applied to it.
//!
//! `$.a[1] + 2` is a chain of one sum, whose left operand is the chain of the root, a key and a subscript.

use std::sync::Arc;

use super::numeric::Numeric;

/// A value of `jsonpath`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// Whether structural errors are ignored, and arrays are wrapped and unwrapped.
    pub is_lax: bool,
    /// What it computes.
    pub chain: Chain,
}

/// A first item, and those that are applied to its values. It is not empty.
pub type Chain = Vec<PathItem>;

/// A part of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathItem {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number.
    Number(Numeric),
    /// A string.
    String(Arc<str>),
    /// `$name`
    Variable(Arc<str>),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `.key`
    Key(Arc<str>),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[1, 2 to last]`
    Elements(Vec<(Chain, Option<Chain>)>),
    /// `.**{first to last}`; [`LEAVES`] for `last`.
    Descendants(u32, u32),
    /// `?(predicate)`
    Filter(Chain),
    /// `.size()` and its like.
    Method(PathMethod),
    /// `.datetime(template)`
    Datetime(Option<Arc<str>>),
    /// An operator between its operands.
    Binary(PathOperator, Box<[Chain; 2]>),
    /// A sign; whether it is a minus.
    Sign(bool, Chain),
    /// `!(predicate)`
    Not(Chain),
    /// `(predicate) is unknown`
    IsUnknown(Chain),
    /// `exists (path)`
    Exists(Chain),
    /// `path like_regex "pattern" flag "flags"`
    LikeRegex(Chain, Arc<str>, PathFlags),
}

/// The level of descendants that stands for all levels.
pub const LEAVES: u32 = u32::MAX;

/// A method without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are PostgreSQL's")]
pub enum PathMethod {
    Abs,
    Ceiling,
    Double,
    Floor,
    KeyValue,
    Size,
    Type,
}

impl PathMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abs => "abs",
            Self::Ceiling => "ceiling",
            Self::Double => "double",
            Self::Floor => "floor",
            Self::KeyValue => "keyvalue",
            Self::Size => "size",
            Self::Type => "type",
        }
    }
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names are PostgreSQL's")]
pub enum PathOperator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    StartsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl PathOperator {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::StartsWith => "starts with",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// The flags of `like_regex`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFlags {
    /// `i`: small and capital letters are the same.
    pub ignores_case: bool,
    /// `s`: a dot matches a newline.
    pub dot_matches_newline: bool,
    /// `m`: caret and dollar match at newlines.
    pub anchors_at_newline: bool,
    /// `x`: white space means nothing.
    pub is_expanded: bool,
    /// `q`: all characters mean themselves.
    pub is_literal: bool,
}
