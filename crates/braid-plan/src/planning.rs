//! A bound query as a plan of operators: rewritten, then lowered.

use braid_sql::functions::SessionFacts;
use braid_sql::relation::{ColumnId, Columns, Query};

use crate::lowering::{Environment, LoweredQuery, NoPlan, lower};
use crate::rewriting::rewrite;

/// The plan of a query.
///
/// # Errors
/// As unsupported (0A000) what operators do not compute; errors of constant expressions of LIMIT and VALUES; a parameter of the query whose value a
/// plan for many statements would depend on.
pub fn plan(query: Query, mut columns: Columns, environment: Environment<'_>) -> Result<LoweredQuery, NoPlan> {
    let query = rewritten(query, &mut columns, &**environment.session);
    lower(&query, &columns, environment)
}

/// The query as it is lowered.
pub fn rewritten(query: Query, columns: &mut Columns, session: &dyn SessionFacts) -> Query {
    let outputs: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    Query { relation: rewrite(query.relation, &outputs, columns, session), ..query }
}
