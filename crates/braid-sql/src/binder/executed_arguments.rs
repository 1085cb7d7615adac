//! Arguments of EXECUTE: expressions outside of queries, each cast to the type of its parameter as on assignment.

use sqlparser::ast::Expr;

use super::Binder;
use super::clause::Clause;
use super::places::Place;
use crate::pg_catalog::CastContext;
use crate::types::type_names::format_type;
use crate::{Expression, SqlError, SqlState, SqlType};

impl Binder<'_> {
    /// The argument at this position, from 1, as a value of its parameter's type.
    ///
    /// # Errors
    /// Those of the expression; 42804 for a type that cannot be cast.
    pub fn executed_argument(&self, syntax: &Expr, position: usize, target: SqlType) -> Result<Expression, SqlError> {
        let binder = self.within(Clause::ExecuteArgument);
        let place = Place::Start(syntax);
        let coerced = binder.coerced(binder.expression(syntax)?, place, target, CastContext::Assignment)?;
        coerced.map_err(|refused| {
            let message = format!(
                "parameter ${position} of type {} cannot be coerced to the expected type {}",
                format_type(SqlType::of(refused.sql_type.id)),
                format_type(target)
            );
            let error = SqlError::new(SqlState::DatatypeMismatch, message);
            self.places.mark(error.with_hint("You will need to rewrite or cast the expression."), place)
        })
    }
}
