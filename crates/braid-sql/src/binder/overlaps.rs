//! `(a, b) OVERLAPS (c, d)`, which is a call of the function `overlaps`.

use sqlparser::ast::Expr;

use super::places::Place;
use super::{Binder, Placed};
use crate::expression::Expression;
use crate::syntax::ROW;
use crate::{SqlError, SqlState};

impl Binder<'_> {
    /// Both sides are rows of two values, a row being no value here.
    pub(super) fn overlaps(&self, left: &Expr, right: &Expr) -> Result<Expression, SqlError> {
        let mut arguments = Vec::new();
        for (side, syntax) in [("left", left), ("right", right)] {
            let Some(values) = row_values(syntax) else {
                let error = SqlError::new(SqlState::SyntaxError, "OVERLAPS compares two rows of two values");
                return Err(self.places.mark(error, Place::Start(syntax)));
            };
            if values.len() != 2 {
                let message = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), Place::Start(syntax)));
            }
            arguments.extend(values.iter().map(|value| self.placed(value)).collect::<Result<Vec<Placed<'_>>, _>>()?);
        }
        self.call_on("overlaps", arguments)
    }
}

/// The values of `(a, b)` or `ROW(a, b)`.
fn row_values(syntax: &Expr) -> Option<&[Expr]> {
    match syntax {
        Expr::Tuple(values) => Some(values),
        Expr::Prefixed { prefix, value } if prefix.value == ROW => row_values(value),
        _ => None,
    }
}
