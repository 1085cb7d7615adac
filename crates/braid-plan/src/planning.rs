//! A bound query as a plan of operators: rewritten, then lowered.

use std::sync::Arc;

use braid_sql::SqlError;
use braid_sql::relation::{Columns, Query};

use crate::lowering::{LoweredQuery, Session, lower};
use crate::rewriting::unnest;

/// The plan of a query.
///
/// # Errors
/// As unsupported (0A000) what operators do not compute; errors of constant expressions of LIMIT and VALUES.
pub fn plan(query: Query, mut columns: Columns, session: &Arc<dyn Session>) -> Result<LoweredQuery, SqlError> {
    let relation = unnest(query.relation, &mut columns);
    lower(&Query { relation, ..query }, &columns, session)
}
