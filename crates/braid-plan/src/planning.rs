//! A bound query as a plan of operators: rewritten, then lowered.

use braid_sql::SqlError;
use braid_sql::functions::SessionFacts;
use braid_sql::relation::{ColumnId, Columns, Query};

use crate::lowering::{Environment, LoweredQuery, NoPlan, lower};
use crate::rewriting::rewritten_with_error;

/// The plan of a query.
///
/// # Errors
/// As unsupported (0A000) what operators do not compute; errors of constant expressions; a parameter of the query whose value a
/// plan for many statements would depend on.
pub fn plan(query: Query, mut columns: Columns, environment: Environment<'_>) -> Result<LoweredQuery, NoPlan> {
    let query = rewritten(query, &mut columns, &**environment.session)?;
    lower(&query, &columns, environment)
}

/// The query as it is lowered.
///
/// # Errors
/// Those of constant expressions, whether rows need them or not, as in PostgreSQL.
pub fn rewritten(query: Query, columns: &mut Columns, session: &dyn SessionFacts) -> Result<Query, SqlError> {
    let outputs: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    match rewritten_with_error(query.relation, &outputs, columns, session) {
        (_, Some(error)) => Err(error),
        (relation, None) => Ok(Query { relation, ..query }),
    }
}
