//! DEFAULT: the value of a column that a statement does not give.
//!
//! A default is stored as SQL text. Each statement binds it as an expression without columns, and evaluates it for each
//! batch. `now()` is therefore the statement's time, and `random()` differs from row to row.

use braid_storage::ColumnDef;
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;

use crate::EngineError;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{Assigned, AssignedExpression};
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;

/// The default of a column, bound; `None` if it has none.
pub(crate) fn bound_default(
    context: &StatementContext,
    column: &ColumnDef,
) -> Result<Option<AssignedExpression>, EngineError> {
    let Some(syntax) = default_syntax(column)? else { return Ok(None) };
    let text = column.default.as_deref().unwrap_or_default();
    let (budget, none) = (context.value_budget(), BoundParameters::none());
    AssignedExpression::bind(context, &budget, text, &syntax, &none, column, Assigned::Default).map(Some)
}

/// The syntax of a column's default; `None` if it has none.
pub(crate) fn default_syntax(column: &ColumnDef) -> Result<Option<Expr>, EngineError> {
    let Some(text) = &column.default else { return Ok(None) };
    let parsed = Parser::new(&SqlDialect::for_text(text)).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map(Some).map_err(|error| {
        EngineError::internal(format!("the default of column \"{}\" does not parse: {error}", column.name))
    })
}

/// Returns an error for the first invalid default.
pub(crate) fn check_defaults(context: &StatementContext, columns: &[ColumnDef]) -> Result<(), EngineError> {
    columns.iter().try_for_each(|column| bound_default(context, column).map(|_| ()))
}
