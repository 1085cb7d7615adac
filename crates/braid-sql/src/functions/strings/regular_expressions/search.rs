//! What functions other than those of texts ask: whether an expression is found in a text.

use super::pattern::Pattern;
use super::syntax::Flags;
use crate::SqlError;

/// An advanced regular expression with its flags.
#[derive(Clone, Copy, Debug)]
pub struct RegularExpression<'a> {
    /// Its text.
    pub pattern: &'a str,
    /// Small and capital letters are the same.
    pub ignores_case: bool,
    /// A dot and what excludes characters do not match a newline.
    pub stops_at_newline: bool,
    /// Caret and dollar match at newlines, too.
    pub anchors_at_newline: bool,
    /// All characters mean themselves.
    pub is_literal: bool,
}

impl RegularExpression<'_> {
    fn flags(&self) -> Flags {
        Flags {
            ignores_case: self.ignores_case,
            stops_at_newline: self.stops_at_newline,
            anchors_at_newline: self.anchors_at_newline,
            is_expanded: false,
            is_literal: self.is_literal,
        }
    }
}

/// Whether an expression is found in a text.
pub fn is_found(expression: &RegularExpression<'_>, text: &str) -> Result<bool, SqlError> {
    Pattern::of(expression.pattern, expression.flags())?.is_match(text)
}

/// Refuses an expression that does not parse.
pub fn check(expression: &RegularExpression<'_>) -> Result<(), SqlError> {
    Pattern::of(expression.pattern, expression.flags()).map(|_| ())
}
