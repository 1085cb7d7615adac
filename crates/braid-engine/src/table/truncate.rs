//! TRUNCATE.

use std::collections::BTreeSet;

use sqlparser::ast::Truncate;

use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{EngineError, Outcome};

/// `TRUNCATE [TABLE] a, b`: removes all rows. Those that others commit before the transaction does are removed as well: it is as if it
/// had waited for them. No table has sequences or is referred to by others, so that the words about them change nothing.
///
/// # Errors
/// For tables that do not exist, and clauses that are not PostgreSQL's.
pub(crate) async fn truncate(context: &StatementContext, truncate: &Truncate) -> Result<Outcome, EngineError> {
    let Truncate { table_names, partitions, if_exists, on_cluster, .. } = truncate;
    if partitions.is_some() || *if_exists || on_cluster.is_some() {
        return Err(EngineError::unsupported("this form of TRUNCATE is not supported"));
    }
    let snapshot = context.snapshot();
    let mut tables = BTreeSet::new();
    for target in table_names {
        tables.insert(named_table(context, &snapshot, &target.name)?.into_truncated()?);
    }
    context.change(|writes, view| tables.iter().try_for_each(|table| writes.truncate_table(view, table))).await?;
    Ok(Outcome::done("TRUNCATE TABLE"))
}
