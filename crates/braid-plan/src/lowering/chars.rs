//! `char(n)` without the blanks at its end, which mean nothing where values are compared.
//!
//! Tables store such values without them. Operators compare, group and join them so; where a value is shown or handed to a function, the
//! blanks are there again.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewBuilder};
use braid_exec::Expression as Lowered;
use braid_exec::expression::ForeignExpression;
use braid_sql::SqlError;
use braid_sql::expression::{Expression, Node};
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::ColumnId;

use super::expressions::position;
use super::query::Lowering;
use crate::values::Form;

impl Lowering<'_> {
    /// The values of an expression without the blanks at their ends, and their form; `None` if they are there, or the type is another one.
    pub(super) fn unpadded(
        &self,
        expression: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<(Lowered, Form)>, SqlError> {
        match (&expression.node, expression.sql_type.id) {
            (Node::Column(column, _), TypeId::BPCHAR) => match self.form(*column) {
                form @ Form::Unpadded { .. } => Ok(Some((Lowered::Column(position(*column, input)?), form))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// Texts with blanks up to a length.
pub(super) fn padded(value: Lowered, length: u32) -> Lowered {
    let own = Form::Unpadded { length };
    Lowered::Foreign { function: Arc::new(Padded { length }), arguments: vec![(value, own.data_type())] }
}

/// Texts with blanks up to a length.
#[derive(Debug)]
struct Padded {
    /// In characters.
    length: u32,
}

impl ForeignExpression for Padded {
    fn evaluate(&self, arguments: &[ArrayRef], _: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        Ok(pad(&arguments[0], self.length))
    }
}

impl fmt::Display for Padded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "char({})", self.length)
    }
}

/// An array of texts with blanks up to a length in characters.
pub fn pad(texts: &ArrayRef, length: u32) -> ArrayRef {
    let mut padded = StringViewBuilder::with_capacity(texts.len());
    let mut buffer = String::new();
    for text in texts.as_string_view() {
        match text {
            None => padded.append_null(),
            Some(text) => {
                buffer.clear();
                buffer.push_str(text);
                let missing = (length as usize).saturating_sub(text.chars().count());
                buffer.extend(std::iter::repeat_n(' ', missing));
                padded.append_value(&buffer);
            }
        }
    }
    Arc::new(padded.finish())
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn blanks_are_counted_in_characters() {
        let texts: ArrayRef =
            Arc::new(StringViewArray::from(vec![Some("ab"), Some("äöü"), None, Some("abcd"), Some("")]));
        let expected: ArrayRef =
            Arc::new(StringViewArray::from(vec![Some("ab "), Some("äöü"), None, Some("abcd"), Some("   ")]));
        assert_eq!(&pad(&texts, 3), &expected);
    }
}
