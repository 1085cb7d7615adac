//! `(a, b) OVERLAPS (c, d)`, which is a call of the function `overlaps`.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::places::Place;
use super::{Binder, Placed, fold};
use crate::expression::Expression;
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
            arguments
                .extend(values.into_iter().map(|value| self.placed(value)).collect::<Result<Vec<Placed<'_>>, _>>()?);
        }
        self.call_on("overlaps", arguments)
    }
}

/// The values of `(a, b)` or `ROW(a, b)`.
fn row_values(syntax: &Expr) -> Option<Vec<&Expr>> {
    match syntax {
        Expr::Tuple(values) => Some(values.iter().collect()),
        Expr::Function(function) => {
            let is_row = function.name.0.len() == 1
                && function.name.0[0].as_ident().is_some_and(|name| name.quote_style.is_none() && fold(name) == "row");
            let FunctionArguments::List(list) = &function.args else { return None };
            let value = |argument| match argument {
                &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref value)) => Some(value),
                _ => None,
            };
            is_row.then(|| list.args.iter().map(value).collect())?
        }
        _ => None,
    }
}
